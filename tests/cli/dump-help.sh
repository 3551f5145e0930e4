# SPDX-License-Identifier: BSD-2-Clause
. "$INGERO_TOP/tests/cli/lib.sh"
try ing-dump --help
