#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sshfs: two machines have mounted the directory of a third. By default (SSHFS_OPTIONS= MOST=30000) another machine's
# lines show once sshfs's cache of 20 seconds has expired; with -o dir_cache=no they show at once. Two machines that
# write to one session do not see each other's lines in time. COUNTING=1 counts requests to the server, which makes it
# slow.
. "$(dirname "$0")/common.sh"
wanted sshfs sshfs
[ -x /usr/sbin/sshd ] || skip "openssh-server cannot be had here"
SERVED=$T/served
mkdir -p "$SERVED" /run/sshd "$T/etc"
ssh-keygen -q -t ed25519 -N '' -f "$T/key"
ssh-keygen -q -t ed25519 -N '' -f "$T/host"
cp "$T/key.pub" "$T/authorized"
chmod 600 "$T/authorized"
server=/usr/lib/openssh/sftp-server
[ -z "${COUNTING:-}" ] || server=$T/etc/server
cat >"$T/etc/server" <<END
#!/bin/sh
exec strace -qq -o $T/strace.\$\$ -e trace=open,openat,lstat,stat,newfstatat,fstat,lseek /usr/lib/openssh/sftp-server
END
chmod +x "$T/etc/server"
cat >"$T/etc/sshd" <<END
Port 2222
ListenAddress 10.213.0.1
HostKey $T/host
AuthorizedKeysFile $T/authorized
StrictModes no
PermitRootLogin yes
UsePAM no
PidFile none
Subsystem sftp $server
END
/usr/sbin/sshd -D -e -f "$T/etc/sshd" 2>"$T/sshd" &
await "sshd" bash -c '(exec 3<>/dev/tcp/far/2222) 2>/dev/null'
connect() { # DIRECTORY [OPTION...]
	local dir=$1
	shift
	sshfs -p 2222 -o "IdentityFile=$T/key,UserKnownHostsFile=$T/known,StrictHostKeyChecking=no" "$@" "root@far:$SERVED" "$dir" 2>"$T/err" || die "sshfs: $(cat "$T/err" "$T/sshd")"
}
requests() { # each read begins with a seek
	[ -z "${COUNTING:-}" ] || cat "$T"/strace.* | awk '/^(l?stat|newfstatat|fstat)\(/ { g++ } /\.jsonl.*O_RDONLY/ { o++ } /^lseek/ { r++ } /^open.*O_DIRECTORY/ { d++ }
		END { print "getattr", g; print "open", o; print "read", r; print "directory", d }'
}
read -ra more <<<"${SSHFS_OPTIONS--o dir_cache=no}"
connect "$A" "${more[@]}"
connect "$B" "${more[@]}"
machines "${MOST:-8000}" one
