# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Every figure equals what an independent program finds in ing-dump's CSV, and what ing-synth knows:
# awkward numbers of calls, ties, extremes, failures, open calls, losses, many CPUs.
compare() {
	ing-synth -f -o "$1.ing" --truth="$1.csv" $2
	python3 "$INGERO_TOP/tests/report/independent.py" "$1.ing"
	python3 "$INGERO_TOP/tests/report/answers.py" "$1.ing" "$1.csv"
}
few="--switches=500 --operations=1 --nested=0 --processes=1 --threads=1"
for n in 0 1 2 99 100 101 102; do
	compare "calls-$n" "--calls=$n $few"
done
compare ties "--shape=ties --calls=5000 --switches=2000"
compare extremes "--shape=extremes --calls=5000 --switches=2000"
compare failures "--failed=30 --calls=20000 --processes=3 --switches=5000"
compare open "--open=3 --calls=3000 --switches=5000"
compare lossy "--lost=500 --switches=20000"
compare killed "--unclosed --switches=20000 --open=2"
compare many "--cpus=7 --processes=4 --workers=3 --threads=4 --switches=60000 --calls=20000 --failed=5"
compare million "--calls=1000000 --switches=1000 --failed=1"
