# SPDX-License-Identifier: BSD-2-Clause
# --help and --version win over everything after them and go to stdout.
. "$INGERO_TOP/tests/cli/lib.sh"
try ingero-record --help
try ingero-record -qh true
try ingero-record --version
try ingero-record -V
