# SPDX-License-Identifier: BSD-2-Clause
# Chains, or one sentence in their place; one call taken apart; and calls that are not there.
. "$INGERO_TOP/tests/cli/lib.sh"
export TZ=UTC
ing-synth -o whole.ing --switches=20000 --calls=3000
ing-synth -o few.ing --switches=1000 --calls=5
ing-synth -o calls.ing --switches=0 --calls=3000
ing-synth -o lossy.ing --switches=20000 --calls=3000 --lost=15000
ing-synth -o nothing.ing --switches=1000 --calls=0

ingero-report whole.ing | grep -o '^\[HIGH\]\|^  \[[A-Z]* *\]\|^  lost:\|^  cause:\|^  fix:'
ingero-report --chains whole.ing >chains
test "$(wc -L <chains)" -le 80
grep -o '^  [a-z]*:' chains | sort -u
ingero-report --chains --json whole.ing 2>&1 | tail -n 1
for file in few calls lossy nothing; do
	echo "$file:"
	ingero-report "$file.ing" | grep -A 2 '^Chains: \|^Nothing is wrong\|^Nothing wrong was found\|^\[' | grep . >said || true
	sed 's/[0-9.]* ms ([0-9.]* %/N ms (N %/' said
	ingero-report --chains "$file.ing" | tail -n "$(wc -l <said)" | cmp - said
done

ingero-report --explain cudaMalloc whole.ing >longest
test "$(wc -L <longest)" -le 80
grep '^cudaMalloc' longest
at=$(sed -n 's/^cudaMalloc.*(@\([0-9.]*\)).*/\1/p' longest)
ingero-report --explain="cudaMalloc@$at" whole.ing | cmp - longest
ingero-report --explain cudaMalloc@0.1 whole.ing | grep -c '^cudaMalloc: .* at 22:13:20.099 '
try ingero-report --explain cudaMaloc whole.ing
try ingero-report --explain cudaMalloc@soon whole.ing
try ingero-report --explain cudaMalloc@12:00:00.000 whole.ing
try ingero-report --explain cudaMalloc nothing.ing
try ingero-report --json --explain cudaMalloc whole.ing
