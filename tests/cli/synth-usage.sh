# SPDX-License-Identifier: BSD-2-Clause
# Command lines that ing-synth cannot take, and files it must not overwrite.
. "$INGERO_TOP/tests/cli/lib.sh"
echo precious >kept
try ing-synth
try ing-synth -o x.ing more
try ing-synth --switches=many -o x.ing
try ing-synth --cpus=0 -o x.ing
try ing-synth --shape=round -o x.ing
try ing-synth -o kept
try ing-synth -o no/such/x.ing
try ing-synth --version
cat kept
test ! -e x.ing
