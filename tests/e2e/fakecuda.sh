# SPDX-License-Identifier: BSD-2-Clause
# Every exported CUDA function of the stand-in libraries begins with "push %rbp", as in the real
# library; another instruction would make a probe on it ten times as costly.
if [ "$(uname -m)" != x86_64 ]; then
	echo "only x86-64 has the instruction"
	exit 77
fi
functions=0
for library in libcudart.so.13 libcuda.so.1; do
	file=$INGERO_BUILD/tests/fakecuda/$library
	objdump -d --no-show-raw-insn "$file" | awk -v library="$library" '
		/^[0-9a-f]+ <(__)?cu[a-zA-Z0-9_]*>:$/ { name = $2; n++; next }
		name != "" {
			if ($2 != "push" || $3 != "%rbp") {
				printf "%s: %s begins with %s %s\n", library, name, $2, $3
				bad = 1
			}
			name = ""
		}
		END { printf "%s: %d functions\n", library, n; exit bad || n < 50 }'
done
