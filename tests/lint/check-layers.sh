#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/check-layers refuses each kind of violation in a copy of the checkout, with place and reason, and accepts the
# checkout itself.
. "$(dirname "$0")/../lib/lib.sh"

mkdir "$T/copy"
cp -r "$ROOT/src" "$ROOT/include" "$ROOT/ARCHITECTURE.md" "$T/copy/"
cd "$T/copy"
nothing "the checkout" "$ROOT/scripts/check-layers" .
echo '#pragma once' >src/tree/new_impl.h # a header that other folders must not include

said() { # PLACE REASON: checks the last change
	local out rc=0
	out=$("$ROOT/scripts/check-layers" . 2>&1) || rc=$?
	is "$1: $2" "$out" "the message"
	is 1 "$rc" "exit status of check-layers ($out)"
}
refused() { # FILE LINE REASON: a new file with this second line is refused
	mkdir -p "${1%/*}"
	printf '%s\n' '/* new */' "$2" >"$1"
	said "$1:2" "$3"
	rm "$1"
}
misplaced() { # FILE REASON: a new, empty file is refused
	mkdir -p "${1%/*}"
	: >"$1"
	said "$1:1" "$2"
	rm "$1"
}
row() { # FOLDER NAME REASON: adding NAME to the folder's row is refused
	sed -i -E "/^\| [0-9]+ \| \`$1\` \|/s/^(([^|]*\|){3}[^|]*)\|/\1$2 |/" ARCHITECTURE.md
	said "ARCHITECTURE.md:$(grep -nF "| \`$1\` |" ARCHITECTURE.md | cut -d: -f1)" "$3"
	cp "$ROOT/ARCHITECTURE.md" .
}

# A layer above, one on the same level, and one below that the row does not name.
refused src/base/new.c '#include "sessionfs/tree/tree.h"' 'base may not include sessionfs/tree/tree.h'
refused include/sessionfs/session/new.h '#include "sessionfs/catalog/catalog.h"' 'session may not include sessionfs/catalog/catalog.h'
refused src/json/new.c '#include "sessionfs/file/resolver.h"' 'json may not include sessionfs/file/resolver.h'
refused src/render/new.c '  #  include  "sessionfs/catalog/catalog.h" // "x"' 'render may not include sessionfs/catalog/catalog.h'
refused src/fuse/new.c '#include "sessionfs/render/render.h"' 'fuse may not include sessionfs/render/render.h'
refused src/base/new.c '#include "sessionfs/nowhere/x.h"' 'unknown folder: sessionfs/nowhere/x.h'

# Only one module reads the bytes of session files.
for call in pread sys_pread; do
	refused src/session/new.c "	ssize_t n = $call(fd, p, n, off);" 'pread(2) is called by file_pread alone'
done

refused src/find/new.c '#ifdef __linux__' 'only base may depend on the system'

# Another folder's private header, by each way to write the include.
for path in ../tree/new_impl.h new_impl.h tree/new_impl.h src/tree/new_impl.h ./../tree/new_impl.h \
	sessionfs/../../src/tree/new_impl.h sessionfs/tree/../../../src/tree/new_impl.h "$T/copy/src/tree/new_impl.h"; do
	refused src/fuse/new.c "#include \"$path\"" "$path is no header of src/fuse"
done
for path in ../src/tree/new_impl.h "$T/copy/src/tree/new_impl.h" /usr/include/fuse3/fuse.h sessionfs/tree/tree.h; do
	refused src/tree/new.c "#include <$path>" \
		"$path: headers of the project are included with quotes, those of the system by name"
done
refused src/fuse/new.c '#include "sessionfs/tree/new_impl.h"' 'sessionfs/tree/new_impl.h: *_impl.h belongs under src/'
refused include/sessionfs/tree/new.h '#include "new_impl.h"' 'new_impl.h is no header of include/'
for line in '#include HEADER' '#include/**/"../tree/new_impl.h"' '/**/ #include "../tree/new_impl.h"' \
	'%:include "../tree/new_impl.h"' '#import "../tree/new_impl.h"' '#include_next "new_impl.h"'; do
	refused src/fuse/new.c "$line" 'an include is #include "..." or #include <...>, at the start of its line'
done

# libfuse, which only fuse and cmd may include.
for header in fuse_lowlevel.h fuse3/fuse.h cuse_lowlevel.h; do
	refused src/tree/new.c "#include <$header>" 'tree may not use libfuse'
done
refused include/sessionfs/catalog/new.h '#include <fuse_lowlevel.h>' 'catalog may not use libfuse'

# Files in folders without code.
for file in src/new.c src/nowhere/new.c src/tree/deep/new.c include/new.h include/sessionfs/new.h include/other/tree/new.h; do
	misplaced "$file" 'no folder of ARCHITECTURE.md'
done
misplaced include/sessionfs/tree/wrong_impl.h '*_impl.h and *.c belong under src/'
misplaced src/fuse/tree.inc 'neither a .c, a .h nor a README.md'
ln -s ../tree/new_impl.h src/fuse/new_impl.h
said src/fuse/new_impl.h:1 'neither a .c, a .h nor a README.md'
rm src/fuse/new_impl.h

# A row that uses a layer that is not below: folders in a cycle.
row session catalog 'session (layer 2) may not use catalog: it is not in a lower layer'
row render catalog 'render (layer 3) may not use catalog: it is not in a lower layer'
row base base 'base (layer 0) may not use base: it is not in a lower layer'
row cmd nowhere 'cmd (layer 7) may not use nowhere: it is not in a lower layer'
echo "| 9 | \`tree\` | | once more |" >>ARCHITECTURE.md
said "ARCHITECTURE.md:$(wc -l <ARCHITECTURE.md)" 'a second row of tree'
rm ARCHITECTURE.md
"$ROOT/scripts/check-layers" . >/dev/null 2>&1 && die "without its table it refuses nothing"
true
