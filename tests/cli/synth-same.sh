# SPDX-License-Identifier: BSD-2-Clause
# The same options give the same file; it is sound; -f overwrites; a closed one says so.
. "$INGERO_TOP/tests/cli/lib.sh"
try ing-synth --switches=5000 --calls=1000 --seed=7 -o one.ing
try ing-synth --switches=5000 --calls=1000 --seed=7 -o two.ing
try cmp one.ing two.ing
try ing-synth -f --switches=5000 --calls=1000 --seed=8 -o two.ing
if cmp -s one.ing two.ing; then echo "another seed, the same file"; fi
try ing-dump --verify one.ing
try ing-synth --switches=5000 --calls=1000 --unclosed -o open.ing
try ing-dump --verify open.ing
