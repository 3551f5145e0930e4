# SPDX-License-Identifier: BSD-2-Clause
# Pager, colour, width and locale on a terminal and in a pipe; writes that fail.
ing-synth -o whole.ing --switches=20000 --calls=3000 --failed=3 --open=1
python3 "$INGERO_TOP/tests/report/terminal.py" whole.ing
