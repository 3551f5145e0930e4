# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Operations, one of them in detail, failed and open calls: each figure is what an independent
# program finds in ing-dump's CSV; and how they look.
. "$INGERO_TOP/tests/cli/lib.sh"
export TZ=UTC LC_ALL=C.UTF-8
compare() {
	ing-synth -f -o "$1.ing" $2
	python3 "$INGERO_TOP/tests/report/views_calls.py" "$1.ing"
}
few="--switches=500 --operations=1 --nested=0 --processes=1 --threads=1"
for n in 0 1 2 99 100 101 102; do
	compare "calls-$n" "--calls=$n $few"
done
compare nested "--calls=3000 --nested=100 --switches=2000"
compare ties "--shape=ties --calls=4000 --switches=2000"
compare extremes "--shape=extremes --calls=4000 --switches=2000"
compare failures "--failed=30 --calls=8000 --processes=3 --switches=5000"
compare open "--open=3 --calls=3000 --switches=5000"
compare killed "--unclosed --switches=10000 --open=2 --calls=4000"
compare many "--cpus=7 --processes=4 --workers=3 --threads=4 --switches=20000 --calls=8000 --failed=5"
# Recorded for real: nothing printed but what differs.
find "$INGERO_TOP/tests/data/story" -name '*.ing' | sort | while read -r file; do
	python3 "$INGERO_TOP/tests/report/views_calls.py" "$file" >said || cat said
done

ing-synth -o ingero.ing --switches=20000 --calls=3000 --failed=3 --open=1
ingero-report --ops
ingero-report --op-detail cudamemcpyasync
ingero-report --op-detail cudaMemcpyAsync --top 2 | tail -n 12
ingero-report --errors --open
test "$(ingero-report --ops --op-detail cudaMemcpyAsync --errors --open | wc -L)" -le 80
try ingero-report --op-detail memcpi
try ingero-report --op-detail launch
ing-synth -o none.ing --calls=0 --switches=100
ingero-report none.ing --ops --errors --open
try ingero-report none.ing --op-detail cudaFree
