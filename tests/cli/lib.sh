# SPDX-License-Identifier: BSD-2-Clause
# Shows a command, what it prints on both streams, and its exit status.
try() {
	printf '$ %s\n' "$*"
	tried=0
	"$@" </dev/null 2>&1 || tried=$?
	printf '[%d]\n' "$tried"
}
