# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Figures of comparisons equal those of an independent program, and so does what is called a change.
compare() {
	python3 "$INGERO_TOP/tests/report/diff_truth.py" "$@"
}
ing-synth -o several.ing --switches=40000 --calls=15000 --cpus=5 --processes=2 --workers=3 --threads=3 --failed=4 --open=1
ing-synth -o other.ing --switches=60000 --calls=20000 --seed=2 --cpus=3 --workers=2
ing-synth -o lossy.ing --lost=800 --switches=20000 --unclosed
ing-synth -o nothing.ing --calls=0 --switches=3000
ing-synth -o few.ing --calls=3 --switches=30
compare several.ing other.ing
compare other.ing,several.ing several.ing other.ing
compare other.ing lossy.ing
compare nothing.ing other.ing
compare nothing.ing few.ing
compare few.ing few.ing
for mode in block spin; do
	cp "$INGERO_TOP/tests/data/story/$mode"/*.ing .
	compare direct.ing loader.ing
	compare loader.ing workers.ing
done
