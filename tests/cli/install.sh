# SPDX-License-Identifier: BSD-2-Clause
# "make install" puts all in place, "make uninstall" takes that away again and nothing else; folders
# with spaces in their names too. Of what is built: nothing is compiled here.
root="$PWD/a root"
elsewhere=$([ "$INGERO_BIN" = "$INGERO_TOP" ] || echo "O=$INGERO_BIN")
put() {
	make -s -C "$INGERO_TOP" $elsewhere "$1" DESTDIR="$root" PREFIX="${2:-/usr}"
}
put install-files
(cd "$root" && find . -type f | sort | while read -r file; do
	printf '%s %s\n' "$(stat -c %A "$file")" "$file"
done)
find "$root" -type l -o -type f -size 0

# What was installed works, and finds nothing but itself.
for program in ingero-record ingero-report ing-dump ing-synth; do
	"$root/usr/bin/$program" --version | sed 's/ [0-9].*//'
	[ -f "$root/usr/share/man/man1/$program.1" ] || echo "no manual page for $program"
done
"$root/usr/bin/ingero-report" --json "$root/usr/share/doc/ingero/format-spec/example.ing" >example.json
cmp "$root/usr/share/doc/ingero/README.md" "$INGERO_TOP/README.md"
bash -n "$root/usr/share/bash-completion/completions/ingero-report"
grep -c "^complete" "$root/usr/share/bash-completion/completions/ingero-record"

# Twice is the same as once; what others put there stays.
put install-files
: >"$root/usr/bin/other"
: >"$root/usr/share/doc/ingero/mine"
put uninstall
echo "left:"
(cd "$root" && find . -type f | sort)
rm "$root/usr/share/doc/ingero/mine"
put uninstall
[ ! -e "$root/usr/share/doc/ingero" ] || echo "its own folder stays"

# Anywhere else, and where nothing is.
put install-files /opt/ingero
[ -x "$root/opt/ingero/bin/ingero-report" ] || echo "PREFIX is not looked at"
put uninstall /opt/ingero
put uninstall /nowhere
find "$root/opt" -type f
