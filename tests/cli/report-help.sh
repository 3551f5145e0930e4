# SPDX-License-Identifier: BSD-2-Clause
# --help and --version.
. "$INGERO_TOP/tests/cli/lib.sh"
try ingero-report --help
try ingero-report -V
