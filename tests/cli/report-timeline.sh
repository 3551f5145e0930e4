# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Figures over time, memory, waits and losses: each is what an independent program finds in
# ing-dump's CSV, sums over steps and waiters are the whole's; and how they look.
. "$INGERO_TOP/tests/cli/lib.sh"
export TZ=UTC LC_ALL=C.UTF-8
compare() {
	ing-synth -f -o "$1.ing" $2
	python3 "$INGERO_TOP/tests/report/views_time.py" "$1.ing"
}
compare neighbour "--neighbour=20 --switches=4000 --calls=3000 --threads=1"
compare many "--cpus=7 --processes=3 --workers=3 --threads=3 --switches=8000 --calls=4000 --failed=5"
compare killed "--unclosed --switches=4000 --calls=2000 --open=2"
compare lossy "--lost=20 --switches=4000 --calls=2000"
compare ties "--shape=ties --calls=3000 --switches=1000"
compare extremes "--shape=extremes --calls=1000 --switches=1000"
compare nothing "--calls=0 --switches=100"
# Recorded for real: nothing printed but what differs.
find "$INGERO_TOP/tests/data/story/block" "$INGERO_TOP/tests/data/story/spin/loader.ing" -name '*.ing' |
	sort | while read -r file; do
		python3 "$INGERO_TOP/tests/report/views_time.py" "$file" >said || cat said
	done

story=$INGERO_TOP/tests/data/story/block
# A phase change is plain to see: the imports, then the work.
ingero-report --timeline "$story/direct.ing"
ingero-report --timeline=3s --op cuLaunchKernel "$story/workers.ing"
ingero-report --waits "$story/workers.ing"
ingero-report --waits --pid 17939 --tree-only "$story/workers.ing"
ingero-report --memory "$story/workers.ing"
ingero-report --losses lossy.ing
ingero-report --losses nothing.ing
test "$(ingero-report --timeline --waits --memory --losses "$story/workers.ing" | wc -L)" -le 80
ingero-report --timeline=5s --csv "$story/workers.ing" | cut -d, -f1,5,11
cp "$story/workers.ing" ingero.ing
try ingero-report --timeline=1ms
try ingero-report --memory=soon
