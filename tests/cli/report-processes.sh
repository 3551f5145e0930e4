# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Processes, threads, the tree and groups of workers: every figure of these views is what an independent
# program finds in ing-dump's CSV, parts add up to the whole, and a thousand workers fit on a screen.
compare() {
	ing-synth -f -o "$1.ing" $2
	python3 "$INGERO_TOP/tests/report/views_processes.py" "$1.ing"
}
compare plain "--switches=20000"
compare generations "--workers=50 --generations=20 --switches=100000 --calls=2000 --cpus=4"
compare mains "--generations=5 --workers=4 --processes=3 --switches=30000 --lost=200 --cpus=3"
compare killed "--unclosed --switches=20000 --open=2 --workers=6 --generations=3"
compare neighbour "--neighbour=30 --switches=20000 --workers=2"
for file in "$INGERO_TOP"/tests/data/story/*/*.ing; do
	python3 "$INGERO_TOP/tests/report/views_processes.py" "$file"
done
for view in "" --threads --tree --per-process; do
	ingero-report $view generations.ing >screen
	test "$(wc -L <screen)" -le 80
	test "$(wc -l <screen)" -le 60
	# A row, and a line that says more.
	grep -c '1000 workers\|1,000 workers' screen
	sed -n 's/^.*\(1,000 workers pt_data_worker of main: 20 generations, 50 at a time\).*/\1/p' screen
done
ingero-report --tree --no-group --csv generations.ing | wc -l
ingero-report --threads --sort cuda --top 1 --csv generations.ing | cut -d, -f 4,5,11
ingero-report --tree --csv mains.ing | cut -d, -f 1,2,5,6
