# SPDX-License-Identifier: BSD-2-Clause
# No call, no switch, or neither: said in words.
. "$INGERO_TOP/tests/cli/lib.sh"
export TZ=UTC
ing-synth -o calls.ing --calls=0 --switches=1000
ing-synth -o both.ing --calls=0 --switches=0
ingero-report calls.ing | grep -A 1 'No CUDA'
ingero-report both.ing | grep -A 1 'No CUDA'
ingero-report --info calls.ing | grep -c 'none was called: '
ingero-report --per-process --info both.ing >/dev/null
ingero-report --json both.ing | python3 -m json.tool >/dev/null
