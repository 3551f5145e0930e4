# SPDX-License-Identifier: BSD-2-Clause
# Files of released versions are read for ever as they were then: beside each stand its tables.
. "$INGERO_TOP/tests/cli/lib.sh"
for file in "$INGERO_TOP"/tests/data/good/*.ing; do
	ing-dump --verify "$file"
	ing-dump --tables "$file" | sed -n 's/^[0-9][0-9]* \([a-z]*\).*/\1/p' >tables
	while read -r table; do
		echo "# $table"
		ing-dump --csv --table "$table" "$file"
	done <tables >rows
	cmp rows "${file%.ing}.csv"
done
