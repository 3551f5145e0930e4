# SPDX-License-Identifier: BSD-2-Clause
# Command lines and files that no report can be made of: one line, a hint, a status of its own, and
# nothing on standard output.
. "$INGERO_TOP/tests/cli/lib.sh"
ing-synth -o whole.ing --switches=1000 --calls=100
try ingero-report --per-proces whole.ing
try ingero-report --strict=most whole.ing
try ingero-report --color=sometimes whole.ing
try ingero-report --top=0 whole.ing
try ingero-report --top=some whole.ing
try ingero-report --min-share=half --ops whole.ing
try ingero-report --sort=p98 --ops whole.ing
try ingero-report --op-detail whole.ing
try ingero-report --timeline=0 whole.ing
try ingero-report --memory=soon whole.ing
try ingero-report --explain=cudaMemcpyAsync@noon whole.ing
try ingero-report --ops=all whole.ing
# Formats and what they go with.
try ingero-report --json --csv --ops whole.ing
try ingero-report --json --info --ops whole.ing
try ingero-report --csv whole.ing
try ingero-report --csv --chains whole.ing
try ingero-report --json --explain=cudaMemcpyAsync whole.ing
# Comparisons.
try ingero-report --diff whole.ing
try ingero-report --diff , whole.ing
try ingero-report --ops whole.ing whole.ing
try ingero-report --csv whole.ing whole.ing
try ingero-report --sort=calls whole.ing whole.ing
try ingero-report --top=3 whole.ing whole.ing
try ingero-report --min-share=5 whole.ing whole.ing
try ingero-report --no-group whole.ing whole.ing
try ingero-report --raw whole.ing whole.ing
try ingero-report --all whole.ing whole.ing
try ingero-report --tree-only whole.ing whole.ing
try ingero-report --strict=all whole.ing whole.ing
try ingero-report whole.ing missing.ing
# Files.
try ingero-report
try ingero-report missing.ing
try ingero-report .
: >empty.ing
try ingero-report empty.ing
echo "this is no recording, only a line of text" >text.ing
try ingero-report text.ing
try ingero-report whole.ing text.ing
head -c 100 whole.ing >begun.ing
try ingero-report begun.ing
# The major version stands at offset 8.
cp whole.ing newer.ing
printf '\177' | dd of=newer.ing bs=1 seek=8 conv=notrunc 2>/dev/null
try ingero-report newer.ing
try ingero-report --json newer.ing whole.ing
tried=0
ingero-report whole.ing >/dev/full 2>err || tried=$?
cat err
echo "[$tried]"
