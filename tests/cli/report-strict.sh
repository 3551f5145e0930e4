# SPDX-License-Identifier: BSD-2-Clause
# What is missing is said first, and --strict turns it into an exit status.
. "$INGERO_TOP/tests/cli/lib.sh"
first() {
	tried=0
	"$@" >out 2>&1 || tried=$?
	printf '$ %s\n' "$*"
	head -n 4 out
	printf '[%d]\n' "$tried"
}
ing-synth -o whole.ing --switches=2000 --calls=200
ing-synth -o lossy.ing --switches=2000 --calls=200 --lost=50
ing-synth -o killed.ing --switches=2000 --calls=200 --unclosed --open=1
export TZ=UTC
first ingero-report --strict=all whole.ing
first ingero-report lossy.ing
first ingero-report --strict lossy.ing
first ingero-report --strict=all lossy.ing
first ingero-report --strict killed.ing
first ingero-report --json --strict killed.ing
grep -c '~' out || true
ingero-report lossy.ing | grep -c '~'
ingero-report killed.ing | grep '^still open'
