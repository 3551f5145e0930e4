# SPDX-License-Identifier: BSD-2-Clause
# Command lines that cannot be meant: one line, a hint where there is one, 125.
. "$INGERO_TOP/tests/cli/lib.sh"
try ingero-record
try ingero-record --
try ingero-record -o x.ing
try ingero-record -- ''
try ingero-record --nonsense true
try ingero-record --outptu=x true
try ingero-record -x true
try ingero-record --output
try ingero-record --force=yes true
try ingero-record --buffer=1 true
try ingero-record --buffer=4095 true
try ingero-record --buffer=abc true
try ingero-record --buffer= true
try ingero-record --buffer=-4096 true
try ingero-record --buffer=99999999999999999999 true
try ingero-record --buffer 2G true
try ingero-record --ops nope true
try ingero-record --ops '' true
try ingero-record --without nope true
try ingero-record --without interrupts, true
try ingero-record --without '' true
try ingero-record -q -v true
try ingero-record -o '' true
test ! -e ingero.ing
