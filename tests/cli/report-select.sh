# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# What --pid, --tid, --comm, --role and --op leave is what an independent program finds in the
# tables; and one line says how the report is narrowed.
export TZ=UTC
only() {
	printf '$ %s\n' "$*"
	ingero-report --no-pager "$@" | awk '/^only:/ { on = 1; print; next } on && /^  / { print; next } { on = 0 }'
}
story="$INGERO_TOP/tests/data/story"
ing-synth -o threads.ing --cpus=5 --processes=3 --workers=2 --threads=4 --switches=8000 --calls=6000 --failed=40 --open=3
ing-synth -o killed.ing --unclosed --switches=6000 --calls=2000 --open=2 --threads=2 --lost=50
python3 "$INGERO_TOP/tests/report/select_truth.py" threads.ing killed.ing "$story/spin/workers.ing" \
	"$story/block/direct.ing"
only threads.ing
only --all threads.ing
only --from=0 --to=100% --cpu=0-4 threads.ing
only --from=10% --to=50ms threads.ing
only --last=20ms --role=worker threads.ing
only --cpu=0,3 threads.ing
only --comm='pt_autograd_*' threads.ing
only --role='worker 1' --comm='*data*' --op=launch threads.ing
only --role=other,main --tid=20,1001 threads.ing
only --op='cu[dm]*,cuLaunchKernel' threads.ing
