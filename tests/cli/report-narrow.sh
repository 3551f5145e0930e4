# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# A part of a recording says what the whole says of that part: recorded, and with awkward edges.
narrow() {
	python3 "$INGERO_TOP/tests/report/narrow_truth.py" "$@"
}
make() {
	ing-synth -f -o "$1.ing" --switches=6000 --calls=2000 $2
}
story="$INGERO_TOP/tests/data/story"
make few "--processes=1 --threads=1 --operations=1 --nested=0"
make open "--open=3 --failed=5"
make many "--cpus=7 --processes=4 --workers=3 --threads=4"
make killed "--unclosed --open=2"
make lossy "--lost=200"
narrow --windows=8 "$story"/block/loader.ing "$story"/*/workers.ing "$story"/spin/direct.ing
narrow --windows=6 few.ing open.ing many.ing killed.ing
narrow --windows=6 --lossy lossy.ing
