#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# GlusterFS: three bricks with a copy each, one of which is killed while both machines write, and brought back.
# AS_IT_IS=1 omits the options that it needs for that.
. "$(dirname "$0")/common.sh"
wanted glusterfs-server glusterd
wanted glusterfs-client glusterfs
options=()
SERVED= # only the server may write to a brick
mkdir -p "$T"/{brick1,brick2,brick3,lib,log,run} /var/lib/glusterd /var/log/glusterfs /run/gluster
cp -a /var/lib/glusterd/. "$T/lib/"
rm -rf "$T/lib/glusterd.info" "$T/lib"/{peers,vols}/*
mount --bind "$T/lib" /var/lib/glusterd
mount --bind "$T/log" /var/log/glusterfs
mount --bind "$T/run" /run/gluster
log() { tail -n 5 "$T/log"/*.log; }
glusterd -N >"$T/glusterd" 2>&1 &
clean_first() { pkill -KILL -x "gluster(d|fs|fsd)"; } # the processes of this test: there are no others here
volume() { gluster --mode=script volume "$@" >"$T/gluster" 2>&1; }
await "glusterd" volume list
volume create far replica 3 far:"$T"/brick{1,2,3} force || skip "no volume can be made here: $(cat "$T/gluster")"
volume start far || die "the volume: $(cat "$T/gluster" "$T"/log/*.log)"
volume profile far start
# By default a client caches a file's attributes for a second, so that a label gets an outdated last line as its parent.
if [ -z "${AS_IT_IS:-}" ]; then
	volume set far performance.stat-prefetch off || die "$(cat "$T/gluster")"
	options=(-o 'attribute-timeout=0,direct-io-mode=enable')
fi
for m in "$A" "$B"; do
	mount -t glusterfs "${options[@]}" far:/far "$m" || die "the mount: $(log)"
done
brick() { pgrep -f "glusterfsd .*brick$1"; }
meanwhile() {
	sleep 1 # they are writing
	kill -KILL "$(brick 2)"
	sleep 1 # they continue without it
	volume start far force
}
healed() { gluster volume heal far info 2>/dev/null | awk '/^Number of entries/ && $4 != 0 { bad = 1 } END { exit bad }'; }
settle() { await "what the brick had missed" healed; }
requests() {
	gluster volume profile far info cumulative 2>/dev/null | awk 'NF > 1 { n[$NF] += $(NF - 1) }
		END { print "getattr", n["STAT"] + n["LOOKUP"] + n["FSTAT"]; print "open", n["OPEN"]; print "read", n["READ"]; print "directory", n["READDIR"] + n["READDIRP"] }'
}
SECONDS_EACH=${SECONDS_EACH:-6} machines "${MOST:-8000}" "$([ -n "${AS_IT_IS:-}" ] && echo none || echo kept)"
