# SPDX-License-Identifier: BSD-2-Clause
# timeout: 600
# Every view goes with every option that narrows, orders and formats; a filter that matches nothing is
# an error that prints nothing else and says what there is to choose from.
. "$INGERO_TOP/tests/cli/lib.sh"
export TZ=UTC
ing-synth -o ingero.ing --switches=20000 --calls=3000 --failed=3 --open=1 --workers=3 \
	--generations=3 --cpus=3 --lost=10
tables="--per-process --threads --tree --ops --op-detail=cudaMemcpyAsync --errors --open --waits
	--timeline --timeline=100ms --memory --memory=100ms --losses"
views="$tables --chains --info"
main=$(ingero-report --threads --role=main --csv | sed -n 2p | cut -d, -f 1)
thread=$(ingero-report --threads --role=main --csv | sed -n 2p | cut -d, -f 2)

number=0
with() {	# OPTION... : with each view, as text, JSON and, of tables, CSV
	for view in "" $chosen; do
		number=$((number + 1))
		ingero-report $view "$@" >text/$number 2>err || echo "$view $*: $(cat err)"
		ingero-report --json $view "$@" >json/$number 2>err || echo "--json $view $*: $(cat err)"
		case $view in
		''|--chains|--info) continue ;;
		esac
		ingero-report --csv $view "$@" >csv/$number 2>err || echo "--csv $view $*: $(cat err)"
	done
}
mkdir text json csv
chosen=$views
with --pid="$main"
with --tid="$thread"
with --comm='python*'
with --role=main
with --role="main,worker 1"
with --op='cuda*'
with --op=memcpy
with --cpu=0-1
with --from=10% --to=0.3
with --last=100ms
with --skip=100ms
with --tree-only
with --all
with --no-group
with --color=never --no-pager
chosen=$tables
with --top=2
with --min-share=5
with --raw
for view in --chains --info; do
	for option in --top=2 --min-share=5 --raw --sort=calls; do
		ingero-report $view $option 2>&1 | sed "s/^/$view $option: /"
	done
done
ingero-report --strict=all >/dev/null || echo "--strict=all: $?"

# Text has a line and fits the page; JSON is JSON; rows of CSV have one length.
find text -size 0
[ "$(cat text/* | wc -L)" -le 80 ] || echo "wider than 80 columns"
python3 - <<'END'
import csv, glob, json
for path in glob.glob("json/*"):
    json.load(open(path))
for path in glob.glob("csv/*"):
    if len({len(row) for row in csv.reader(open(path, newline=""))}) != 1:
        print(path, "has rows of different lengths")
END

# They narrow: never more calls, and less than all where something was left out.
calls() { ingero-report --ops --csv "$@" | awk -F, 'NR > 1 { n += $3 } END { print n + 0 }'; }
whole=$(calls)
for option in --tid="$thread" --op=memcpy --cpu=0 --from=50% --to=0.1 --last=100ms --skip=50%; do
	less=$(calls $option)
	[ "$less" -gt 0 ] && [ "$less" -lt "$whole" ] || echo "$option: $less of $whole calls"
done
[ $(($(calls --to=50%) + $(calls --from=50%))) -eq "$whole" ] || echo "two halves are not the whole"
ingero-report --threads --csv --comm='pt_data*' | cut -d, -f 3 | sort -u
ingero-report --tree --csv --tree-only --top=1 | wc -l
ingero-report --ops --raw | grep ' [mu]s\b\|[KMG]iB' || true
ingero-report --ops --csv --min-share=5 | wc -l
ingero-report --ops --csv --last=50% | head -n 1

# Nothing matches: tests/cli/report-select-errors.sh looks at what is said then.
nothing() {
	tried=0
	ingero-report "$@" >out 2>err || tried=$?
	[ "$tried" -eq 2 ] && [ ! -s out ] && grep -q "hint:" err || echo "$*: [$tried] $(cat out err)"
}
for view in "" $views; do
	nothing $view --pid=1
	nothing $view --op=nosuch --json
done
nothing --sort=colour --ops
nothing --sort=colour --ops --csv
nothing --sort=colour --ops --json
