# SPDX-License-Identifier: BSD-2-Clause
# A damaged block is named by its offset and is left out; the others are printed.
. "$INGERO_TOP/tests/cli/lib.sh"
ing-synth --switches=200000 --calls=1000 -o sound.ing
cp sound.ing damaged.ing
size=$(stat -c %s sound.ing)
printf 'damage' | dd of=damaged.ing bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
try ing-dump --verify damaged.ing
whole=$(ing-dump --csv --table switch sound.ing | wc -l)
left=$(ing-dump --csv --table switch damaged.ing 2>/dev/null | wc -l) || :
if [ "$left" -gt 0 ] && [ "$left" -lt "$whole" ]; then echo "some rows are left"; fi
