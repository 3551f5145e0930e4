# SPDX-License-Identifier: BSD-2-Clause
# --fail-if: what holds is printed on standard error with the figure, and the status says so; what does
# not parse is refused before the file is looked at, and what cannot be judged lets nothing through.
. "$INGERO_TOP/tests/cli/lib.sh"
ing-synth -o whole.ing --switches=1000 --calls=400 --failed=5
ing-synth -o lossy.ing --switches=1000 --calls=400 --lost=20
guard() {	# FILE CONDITION...
	file=$1
	shift
	for condition; do
		set -- "$@" --fail-if "$condition"
		shift
	done
	tried=0
	ingero-report "$@" "$file" >out 2>err || tried=$?
	cat err
	printf '[%d]\n' "$tried"
}

# The report is printed all the same, and the figures are the ones it prints.
guard whole.ing "calls(*) > 1000000" "lost_events > 0"
ingero-report whole.ing >plain
cmp out plain
guard whole.ing "lost_events == 0" "p99(cudaMemcpyAsync) < 1s" "complete != 1" "failed(*) > 0"
python3 - <<'END'
import json, re, subprocess
run = subprocess.run(["ingero-report", "--json", "--fail-if", "p50(cudaMemcpyAsync) > 0", "whole.ing"],
                     capture_output=True, text=True)
row = [o for o in json.loads(run.stdout)["operations"]
       if o["name"] == "cudaMemcpyAsync" and o["process"] is None][0]
print(run.returncode, f"({row['p50_ns']:,} ns)" in run.stderr)
END

# With another status: incomplete under --strict comes second, what cannot be judged first.
guard lossy.ing "lost_events >= 20"
try ingero-report --strict --fail-if "lost_events > 1000" lossy.ing >out; tail -n 1 out
guard lossy.ing "lost_events > 0" "p99(cudaEventQuery) > 1ms"
guard whole.ing "calls(cudaMemcpyAsink) > 0"
guard whole.ing "switches(nobody) > 0"

# Narrowed, the condition is on what is left.
try ingero-report --ops --op=cudaMalloc --fail-if "p99(cudaMemcpyAsync) > 1ns" whole.ing | tail -n 3

# Before the file is read.
guard missing.ing "p99(cudaMemcpyAsync) > 10"
guard missing.ing "lost_event > 0"
guard missing.ing "p99 > 10ms"
guard missing.ing "p99(cudaMemcpyAsync) => 10ms"
guard missing.ing "diff.p99(cudaMemcpyAsync) > 1.2"

# Comparisons.
for name in direct workers; do
	cp "$INGERO_TOP/tests/data/story/spin/$name.ing" .
done
try ingero-report --fail-if "diff.pace < 90%" direct.ing workers.ing >out
grep -v '^\$' out | grep -c "\"diff.pace < 90%\" holds: diff.pace(.*) is 0\.[0-9]*: .*/s before, .*/s after; a significant change"
tail -n 1 out
try ingero-report --fail-if "diff.changes > 0" direct.ing direct.ing >out
tail -n 1 out
try ingero-report --fail-if "p99(cudaMalloc) > 1ms" direct.ing workers.ing
try ingero-report --fail-if "diff.p99(cudaMallocArray) > 1" direct.ing direct.ing >out
tail -n 2 out
