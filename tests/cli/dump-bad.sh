# SPDX-License-Identifier: BSD-2-Clause
# Every file of tests/data/bad is refused, or read as far as it goes, and the fault is named.
. "$INGERO_TOP/tests/cli/lib.sh"
cd "$INGERO_TOP/tests/data/bad"
for file in *.ing; do
	try ing-dump --verify "$file"
done
