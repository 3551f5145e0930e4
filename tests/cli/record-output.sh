# SPDX-License-Identifier: BSD-2-Clause
# What cannot be written is found before the command is started; nothing is overwritten.
. "$INGERO_TOP/tests/cli/lib.sh"
if [ "$(id -u)" != 0 ]; then
	echo "recording needs root"
	exit 77
fi
mkdir folder
echo precious >kept
ln -s kept link
ln -s nowhere dangling
mkfifo fifo
try ingero-record -o no/such/folder/x.ing touch ran
try ingero-record -o folder touch ran
try ingero-record -f -o folder touch ran
try ingero-record -o kept touch ran
try ingero-record -o link touch ran
try ingero-record -o dangling touch ran
try ingero-record -o fifo touch ran
try ingero-record -f -o fifo touch ran
try ingero-record -f -o /dev/null touch ran
try cat kept
test ! -e ran
test ! -e nowhere
test -c /dev/null
