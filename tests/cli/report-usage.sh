# SPDX-License-Identifier: BSD-2-Clause
# Command lines and files that no report can be made of: one line, a hint, a status of its own.
. "$INGERO_TOP/tests/cli/lib.sh"
ing-synth -o whole.ing --switches=1000 --calls=100
try ingero-report --per-proces whole.ing
try ingero-report --strict=most whole.ing
try ingero-report --json --info whole.ing
try ingero-report whole.ing whole.ing
try ingero-report
try ingero-report missing.ing
try ingero-report .
: >empty.ing
try ingero-report empty.ing
echo "this is no recording, only a line of text" >text.ing
try ingero-report text.ing
head -c 100 whole.ing >begun.ing
try ingero-report begun.ing
# The major version stands at offset 8.
cp whole.ing newer.ing
printf '\177' | dd of=newer.ing bs=1 seek=8 conv=notrunc 2>/dev/null
try ingero-report newer.ing
tried=0
ingero-report whole.ing >/dev/full 2>err || tried=$?
cat err
echo "[$tried]"
