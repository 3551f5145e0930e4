# SPDX-License-Identifier: BSD-2-Clause
# What narrows a report and means nothing is one line, and another that says what there is.
. "$INGERO_TOP/tests/cli/lib.sh"
export TZ=UTC
ing-synth -o few.ing --switches=5000 --calls=300 --workers=2 --processes=2
one() {
	try ingero-report --no-pager "$@" few.ing
}
one --from=abc
one --from=
one --from=10
one --from=09:00
one --from=25:00
one --from=80ms --to=50%
one --to=0
one --to=-100ms
one --from=90% --last=1s --to=10%
one --last=0
one --last=-5s
one --last=
one --skip=100%
one --skip=1h
one --skip=90% --to=5ms
one --cpu=99
one --cpu=
one --cpu=0,
one --cpu=1-0
one --cpu=a
one --cpu=2-1000000000000
one --pid=abc
one --pid=
one --pid=1000,,1001
one --pid=1000,1
one --pid=-1
one --pid=4194304
one --tid=1
one --comm=pt_data_wrker
one --comm='zz*'
one --comm=,
one --role=work
one --role='worker 30'
one --op=cudaLunchKernel
one --op='x*'
one --op=
one --role=worker --pid=1000
one --role=worker --tid=1000 --comm=python3
one --all --tree-only
one --op=launch --from=1ms --to=1001us
# Nothing is half-printed, whatever the format.
for format in --json --csv; do
	tried=0
	ingero-report $format --ops --role=nobody few.ing >out 2>err || tried=$?
	echo "$format: [$tried], $(wc -c <out) bytes"
done
