# SPDX-License-Identifier: BSD-2-Clause
# Command lines and files that ing-dump cannot take.
. "$INGERO_TOP/tests/cli/lib.sh"
: >empty
printf 'no recording at all, only some text that is long enough to be one\n' >text
mkdir folder
try ing-dump
try ing-dump one two
try ing-dump --nonsense text
try ing-dump --csv text
try ing-dump --verify --tables text
try ing-dump missing
try ing-dump empty
try ing-dump text
try ing-dump --verify text
try ing-dump folder
try ing-dump /dev/null
try ing-dump --version
