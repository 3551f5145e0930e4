# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Both shells complete options, their words, columns and recordings; and the programs take each word
# that is offered.
for program in ingero-record ingero-report; do
	mkdir -p bash zsh
	"$INGERO_TOP/tools/make-completion" bash "$(command -v $program)" >bash/$program
	"$INGERO_TOP/tools/make-completion" zsh "$(command -v $program)" >zsh/_$program
done
mkdir here
cd here || exit 1
ing-synth -o whole.ing --switches=1000 --calls=100
: >other.txt

# In a terminal, with the tabulator key.
typed() {
	command -v "$1" >/dev/null || { echo "$1 is not installed" >&2; return 0; }
	python3 "$INGERO_TOP/tests/cli/typed.py" "$1" "$PWD/../$1" >../typed "ingero-report --per-p" \
		"ingero-report --color=al" "ingero-report --role=helper,wo" "ingero-report --sort=switches_v" \
		"ingero-report --sort switches_v" "ingero-report --strict=" "ingero-report --json wh" \
		"ingero-report --diff wh" "ingero-record --outp" "ingero-record --without=faults,th" \
		"ingero-record -o oth" "ingero-record -- ingero-repo"
	sed 's/ --output=$/ --output/' ../typed | diff -u - ../want >&2 || echo "$1 completes otherwise"
}
cat >../want <<'END'
ingero-report --per-process
ingero-report --color=always
ingero-report --role=helper,worker
ingero-report --sort=switches_voluntary
ingero-report --sort switches_voluntary
ingero-report --strict=all
ingero-report --json whole.ing
ingero-report --diff whole.ing
ingero-record --output
ingero-record --without=faults,throttling
ingero-record -o other.txt
ingero-record -- ingero-report
END
typed bash
typed zsh

# Every option is offered.
offered() {
	bash -c 'compopt() { :; }; . "../bash/$1"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '"_$(echo "$1" | tr - _)"'
		printf "%s\n" "${COMPREPLY[@]}"' - "$@" | sort -u
}
for program in ingero-record ingero-report; do
	"$program" --list-options | cut -f 1 | sort >../options
	offered $program -- | sed -n 's/^--\([a-z-]*\)=\{0,1\}$/\1/p' | sort -u | diff ../options - ||
		echo "$program: not all options"
	"$program" --list-options | while IFS="$(printf '\t')" read -r name rest; do
		grep -q -- "--${name}[]=[}']" ../zsh/_$program || echo "zsh: no --$name"
	done
done

# Every word is one that the program takes.
for word in $(offered ingero-report --color = ''); do
	ingero-report --color="$word" whole.ing >/dev/null || echo "--color=$word"
done
for word in $(offered ingero-report --strict = ''); do
	ingero-report --strict="$word" whole.ing >/dev/null || echo "--strict=$word"
done
for word in $(offered ingero-report --role = ''); do
	ingero-report --role="$word" whole.ing >../out 2>&1 || grep -q "there is no" ../out ||
		echo "--role=$word: $(cat ../out)"
done
for column in $(offered ingero-report --sort ''); do
	for view in ops per-process threads tree errors open waits timeline memory losses; do
		! ingero-report --$view --csv --sort="$column" whole.ing >/dev/null 2>&1 || continue 2
	done
	ingero-report --op-detail='*' --csv --sort="$column" whole.ing >/dev/null 2>&1 || echo "--sort=$column"
done
offered ingero-report --sort '' | grep -q p99_ns || echo "no columns are offered"
ingero-record --without=nothing -- true 2>&1 | grep -o 'interrupts.*' | tr -cs 'a-z\n' ' ' | tr ' ' '\n' |
	sed '/^and$\|^or$\|^$/d' | sort >../sources
offered ingero-record --without = '' | diff - ../sources || echo "--without: other words"
