# SPDX-License-Identifier: BSD-2-Clause
# The document of --json has the keys that format-spec/report.md explains, and no others.
ing-synth -o lossy.ing --switches=5000 --calls=500 --failed=5 --open=1 --lost=20
ing-synth -o killed.ing --switches=5000 --calls=500 --unclosed
for file in lossy.ing killed.ing "$INGERO_TOP"/tests/data/good/*.ing "$INGERO_TOP"/format-spec/example.ing; do
	ingero-report --json "$file" >"$(basename "$file" .ing).json"
done
python3 "$INGERO_TOP/tests/report/schema.py" *.json
