#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# MooseFS: a master, two chunkservers. Nothing is lost, but a line that another machine wrote some milliseconds ago can
# be missing in a read, although the file is locked.
. "$(dirname "$0")/common.sh"
wanted moosefs-master mfsmaster
wanted moosefs-chunkserver mfschunkserver
wanted moosefs-client mfsmount
mkdir -p "$T"/{master,chunk1,chunk2,disk1,disk2}
chmod 700 "$T"/{master,chunk1,chunk2}
cp /var/lib/mfs/metadata.mfs.empty "$T/master/metadata.mfs"
echo '* / rw,alldirs,maproot=0' >"$T/exports"
: >"$T/topology"
cat >"$T/master.cfg" <<END
WORKING_USER = root
WORKING_GROUP = root
DATA_PATH = $T/master
EXPORTS_FILENAME = $T/exports
TOPOLOGY_FILENAME = $T/topology
END
servers=()
mfsmaster -c "$T/master.cfg" -f start >"$T/master.log" 2>&1 &
servers+=($!)
for n in 1 2; do
	echo "$T/disk$n" >"$T/hdd$n"
	cat >"$T/chunk$n.cfg" <<-END
		WORKING_USER = root
		WORKING_GROUP = root
		DATA_PATH = $T/chunk$n
		HDD_CONF_FILENAME = $T/hdd$n
		HDD_LEAVE_SPACE_DEFAULT = 256MiB
		MASTER_HOST = far
		CSSERV_LISTEN_PORT = 942$((n * 2))
	END
	mfschunkserver -c "$T/chunk$n.cfg" -f start >"$T/chunk$n.log" 2>&1 &
	servers+=($!)
done
clean_first() { umount -l "$M1" "$M2" "$A" "$B" && kill "${servers[@]}" && wait "${servers[@]}"; } 2>/dev/null
connect() { mfsmount "$1" -H far >"$T/client" 2>&1; }
await "the master: $(cat "$T/master.log")" connect "$A"
connect "$B" || die "$(cat "$T/client")"
can_write() { echo x >"$A/.try" && [ "$(cat "$B/.try")" = x ] && rm "$A/.try"; }
await "the chunkservers" can_write 2>"$T/try"
machines "${MOST:-8000}" kept
