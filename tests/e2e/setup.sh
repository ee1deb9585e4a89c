#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/setup waits while another program holds the package locks, and for nothing else.
. "$(dirname "$0")/../lib/lib.sh"

# A machine without packages, whose apt-get fails while $T/says has a line that it prints.
mkdir "$T/bin"
for c in bash env id sort mktemp cat rm grep sed; do ln -s "$(command -v $c)" "$T/bin/$c"; done
cat >"$T/bin/apt-get" <<'EOF'
#!/bin/bash
case " $* " in *" update "*) what=update ;; *) what=install ;; esac
echo "$what" >>"$T/asked"
[[ " $* " == *" -o DPkg::Lock::Timeout="* ]] || exit 1
said=$(grep -m1 "^$what: " "$T/says") || exit 0
sed -i "0,/^$what: /{/^$what: /d}" "$T/says"
echo "${said#*: }" >&2
exit 100
EOF
printf '#!/bin/bash\nexec "$@"\n' >"$T/bin/sudo"
printf '#!/bin/bash\n' >"$T/bin/sleep"
chmod +x "$T"/bin/{apt-get,sudo,sleep}
export T
setup=(env PATH="$T/bin" "$ROOT/scripts/setup" build)

# The wording of apt-get 2.6, which never waits for these two locks.
cat >"$T/says" <<'EOF'
update: E: Could not get lock /var/lib/apt/lists/lock. It is held by process 612 (apt-get)
update: E: Unable to lock directory /var/lib/apt/lists/
install: E: Could not get lock /var/cache/apt/archives/lock. It is held by process 612 (apt-get)
EOF
"${setup[@]}" >/dev/null || die "setup gave up where it had to wait"
is "update update update install install" "$(paste -sd ' ' "$T/asked")" "the commands of apt-get"

rm "$T/asked"
echo "install: E: Unable to locate package gcc" >"$T/says"
fails 1 "Unable to locate package gcc.*apt-get install .* failed" "${setup[@]}"
is "update install" "$(paste -sd ' ' "$T/asked")" "the commands of an apt-get that fails"

# A package for some tests only can be missing: setup reports it and succeeds.
cat >"$T/bin/apt-get" <<'EOF'
#!/bin/bash
[[ " $* " != *" chromium "* ]] || { echo "E: Unable to locate package chromium" >&2 && exit 100; }
EOF
out=$(env PATH="$T/bin" "$ROOT/scripts/setup" check 2>&1) || die "setup failed for want of chromium: $out"
matches "Unable to locate package chromium.*without chromium, what needs it" "$out" "what is said of it"

# Without the rights to install, it says the command: of what is required as an error.
printf '#!/bin/bash\necho 1000\n' >"$T/id"
chmod +x "$T/id"
mv "$T/id" "$T/bin/id"
rm "$T/bin/sudo"
fails 1 "^[^ ]*scripts/setup: neither root nor sudo; as root: apt-get install .*gcc.*libfuse3-dev" "${setup[@]}"
fails 1 "as root: apt-get install .*file fuse3|as root: apt-get install .*fuse3 rsync file" env PATH="$T/bin" "$ROOT/scripts/setup" demo
rm "$T/bin/apt-get"
fails 1 "there is no apt-get here; please install, as Debian names them: .*gcc" "${setup[@]}"

# dpkg-buildpackage needs build-essential, which a Debian with a compiler can lack.
packages=$(env PATH="$T/bin" "$ROOT/scripts/setup" deb 2>&1) || :
matches "build-essential" "$packages" "what is installed for make deb"
is "" "$(grep -oE ' (reuse|git|python3?)( |$)' <<<"$packages" | xargs)" "what make deb does not need"
