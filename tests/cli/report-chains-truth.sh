# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Windows, lost time, accounts and culprits of the chains are what an independent program finds in
# ing-dump's CSV, and, where another process took the CPU, what ing-synth knows of it.
compare() {
	ing-synth -f -o "$1.ing" --truth="$1.csv" $2
	truth=
	# With several threads some of the time goes to groups too small to tell what is slow.
	case $2 in *--neighbour*--threads=1*) truth=$1.csv ;; esac
	python3 "$INGERO_TOP/tests/report/chains_truth.py" "$1.ing" $truth
}
compare plain "--switches=30000"
compare neighbour "--neighbour=20 --switches=20000 --threads=1"
compare threads "--neighbour=20 --switches=20000"
compare seldom "--neighbour=3 --switches=5000 --calls=30000 --threads=1 --seed=3"
compare often "--neighbour=150 --switches=5000 --processes=2 --threads=1 --operations=3 --calls=6000 --seed=4"
compare many "--cpus=7 --processes=3 --workers=3 --threads=3 --switches=30000 --calls=20000 --failed=5"
compare killed "--unclosed --switches=20000 --open=2"
compare lossy "--lost=20 --switches=20000"
compare ties "--shape=ties --calls=5000 --switches=20000"
# Recorded for real: nothing printed but what differs.
find "$INGERO_TOP/tests/data/story" -name '*.ing' | sort | while read -r file; do
	python3 "$INGERO_TOP/tests/report/chains_truth.py" "$file" >said || cat said
done
