# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
# Two real recordings compared as text, a recording with itself, several a side; what is not there.
. "$INGERO_TOP/tests/cli/lib.sh"
export TZ=UTC
cp "$INGERO_TOP"/tests/data/story/block/*.ing .

ingero-report direct.ing workers.ing >text
cat text
test "$(wc -L <text)" -le 80
ingero-report --diff direct.ing workers.ing | cmp - text
# Alike everywhere: any locale, any number of CPUs, any folder.
LC_ALL=C.UTF-8 ingero-report direct.ing workers.ing | cmp - text
taskset -c 0 ingero-report direct.ing workers.ing | cmp - text
# The other way round what is new is gone.
ingero-report workers.ing direct.ing | grep -o '^faster: [^;]*\|workers processes .* gone'

for file in direct loader workers; do
	ingero-report "$file.ing" "$file.ing" | grep '^no significant change'
done
cp direct.ing copy.ing
ingero-report direct.ing copy.ing | grep '^no significant change'
ingero-report --diff direct.ing,copy.ing direct.ing copy.ing | grep '^no significant change'
ingero-report --diff direct.ing,copy.ing workers.ing workers.ing | grep -o '^slower: [^;]*'
ingero-report --diff direct.ing,copy.ing workers.ing | grep -c 'between-run noise unknown' || true

try ingero-report direct.ing missing.ing
try ingero-report --diff direct.ing
try ingero-report --csv direct.ing workers.ing
