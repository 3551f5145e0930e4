# SPDX-License-Identifier: BSD-2-Clause
# timeout: 600
# Whatever is printed with --json is what format-spec/report.schema.json allows, by an independent
# validator: of synthetic and of real recordings, of each view, narrowed, grouped, compared. Every key
# of the schema occurs in one of them; and documents that were changed are refused.
story="$INGERO_TOP/tests/data/story"
ing-synth -o lossy.ing --switches=5000 --calls=500 --failed=5 --open=1 --lost=20
ing-synth -o killed.ing --switches=5000 --calls=500 --unclosed
ing-synth -o epochs.ing --switches=5000 --calls=500 --generations=3 --workers=3
views="per-process threads tree ops errors open chains waits timeline memory losses info"

number=0
all() {	# FILE [OPTION...]
	number=$((number + 1))
	ingero-report --json "$@" >document.$number.json
	for view in $views; do
		ingero-report --json --$view "$@" >$view.$number.json
	done
	operation=$(ingero-report --ops --csv --sort=bytes "$@" | sed -n 2p | cut -d, -f 1)
	[ -z "$operation" ] || ingero-report --json --op-detail="$operation" "$@" >op-detail.$number.json
}
all lossy.ing
all killed.ing --no-group
all epochs.ing
all "$INGERO_TOP/format-spec/example.ing"
for file in "$INGERO_TOP"/tests/data/good/*.ing "$story"/*/*.ing; do
	all "$file"
done
all "$story/spin/workers.ing" --from=20% --to=90% --cpu=0,1 --role=main --op='cuda*'
ingero-report --json --diff "$story/spin/direct.ing" "$story/spin/workers.ing" >diff.1.json
ingero-report --json --diff "$story/block/direct.ing,$story/block/direct.ing" \
	"$story/block/direct.ing" "$story/block/direct.ing" >diff.2.json

schema="$INGERO_TOP/tests/report/schema.py"
python3 "$schema" --all ./*.json && echo "valid"
python3 "$schema" --mutate ./*.1.json

# A name that goes away, or another version, is noticed.
sed 's/"span_ns"/"length_ns"/' document.1.json >document.wrong.json
! python3 "$schema" document.wrong.json || echo "a renamed key passes"
sed 's/"schema_version": 1/"schema_version": 2/' document.1.json >document.wrong.json
! python3 "$schema" document.wrong.json || echo "another version passes"
