# SPDX-License-Identifier: BSD-2-Clause
# One screen by default; more on demand; the same bytes each time.
. "$INGERO_TOP/tests/cli/lib.sh"
export TZ=UTC
ing-synth -o ingero.ing --switches=20000 --calls=3000 --failed=3 --open=1
ingero-report >screen
# The chains are looked at elsewhere.
sed '/^\[HIGH\]/,/^$/d' screen
test "$(wc -l <screen)" -le 60
test "$(wc -L <screen)" -le 80
test "$(ingero-report --per-process --info --chains | wc -L)" -le 80
ingero-report ingero.ing | cmp - screen
ingero-report --per-process | grep -c '^=='
ingero-report --info | grep -A 1 '^entries'
ingero-report --json | python3 -m json.tool >/dev/null
LC_ALL=de_DE.UTF-8 ingero-report --json | python3 -m json.tool >/dev/null
