# SPDX-License-Identifier: BSD-2-Clause
# The command lines that README.md and ingero-report(1) give for scripts do what they say.
for name in run before; do
	cp "$INGERO_TOP/tests/data/story/spin/workers.ing" $name.ing
done
cp "$INGERO_TOP/tests/data/story/spin/loader.ing" after.ing
cp before.ing good.ing
lines() {
	sed -n '/^## What changed/,/^## Exit statuses/s/^    \(ingero-report .*\)/\1/p' "$INGERO_TOP/README.md"
	sed -n '/^In scripts:/,/^.Ed/s/^\$ \(ingero-report .*\)/\1/p' "$INGERO_TOP/man/ingero-report.1"
}
lines | grep -v 'before1' >commands
while read -r line; do
	case $line in
	*jq*) command -v jq >/dev/null || continue ;;
	esac
	status=0
	sh -c "$line" >out 2>err </dev/null || status=$?
	case $line in
	*--fail-if*) echo "[$status] $line" ;;
	*) [ "$status" -eq 0 ] && [ -s out ] || echo "[$status] $line: $(cat err)" ;;
	esac
done <commands
[ "$(wc -l <commands)" -ge 9 ] || echo "there are fewer command lines than there were"
