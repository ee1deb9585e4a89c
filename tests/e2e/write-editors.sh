#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Users edit the name, a label and the table of labels with their editor: each saves twice and quits, as at a terminal.
# Two lines for each, and nothing else: no line for locks, swap files, probes and backups, and no file left over.
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/../lib/write.sh"
need_mount
need tmux vim nano emacs micro ne mg joe busybox ed
write_mount
a=4726bdf3 first=6802b34d
mkdir -p "$T/home/micro"
export HOME=$T/home TMUX_TMPDIR=$T SHELL=/bin/sh EMACSNATIVELOADPATH=/dev/null
unset TMUX XDG_CONFIG_HOME VISUAL EDITOR
tmux() { command tmux -f /dev/null "$@"; }
clean_first() { command tmux kill-server 2>/dev/null; }

echo "see" >"$s/entries/$a/label"
wrote "a label to edit" "label $a see"

screen() { tmux capture-pane -p -t e; }
shows() { grep -qF -- "$1" < <(screen); }
value() { # PLACE: prints the changes of its edit
	if [ "$1" = labels.tsv ]; then sed -n "s/^$first	\([^	]*\).*/\1/p" "$s/$1"; else cat "$s/$1"; fi
}
holds() { [ "$(value "$1")" = "$2" ]; }

press() { # KEY...: named as in tmux; PAUSE where the editor must not take two keys for one
	local key
	for key; do
		if [ "$key" = PAUSE ]; then sleep 0.3; else tmux send-keys -t e "$key"; fi
	done
}

# Runs an editor on the three places. KEYS_* hold the keys sent by tmux: INSERT before and TYPED after the typed text,
# SAVE, QUIT. The cursor begins on the first byte; in the table the label begins nine bytes into the second row.
# BACKUP=yes: the editor leaves NAME~ with the old text by design; it must exist, and is removed.
edits() { # WHAT COMMAND...
	local what=$1 place old record backup=${BACKUP:-no}
	shift
	for place in name "entries/$a/label" labels.tsv; do
		[ "$place" != labels.tsv ] || [ "${TABLE-yes}" = yes ] || continue
		case $place in
		name) record="name" ;;
		labels.tsv) record="label $first" ;;
		*) record="label $a" ;;
		esac
		old=$(value "$place")
		cp "$s/$place" "$T/old"
		rm -f "$T/rc"
		# Wide: busybox vi waits for Return if a message with the path is wider than the screen.
		tmux new-session -d -s e -x 250 -y 40 "$(printf '%q ' "$@" "$s/$place") 2>$T/stderr; echo \$? >$T/rc"
		await "$what shows $place" shows "$(head -c 4 "$T/old")"
		[ "$place" = labels.tsv ] && tmux send-keys -t e Down Right Right Right Right Right Right Right Right Right
		# shellcheck disable=SC2086
		press $INSERT x $TYPED $SAVE
		await "$what saves $place" holds "$place" "x$old"
		# shellcheck disable=SC2086
		press $AGAIN y $TYPED $SAVE
		await "$what saves $place again" holds "$place" "xy$old"
		# shellcheck disable=SC2086
		press $QUIT
		await "$what quits" test -s "$T/rc"
		is 0 "$(cat "$T/rc")" "exit status of $what ($(cat "$T/stderr"))"
		if [ "$backup" = yes ]; then
			grep -qF -- "$(tail -n 1 "$T/old")" "$s/$place~" || die "$what: the backup $place~ is not the old text"
			rm "$s/$place~"
		fi
		wrote "$what: $place" "$record x$old" "$record xy$old"
	done
	echo "$what"
}

INSERT=i AGAIN=a TYPED=Escape SAVE=": w Enter" QUIT=": q Enter"
vi=(vim -N -u NONE -i NONE --cmd "set backupskip= updatecount=1")
edits vim "${vi[@]}"
edits "vim, backupcopy=yes" "${vi[@]}" --cmd "set backupcopy=yes"
edits "vim, nowritebackup" "${vi[@]}" --cmd "set nowritebackup"
INSERT="" AGAIN="" TYPED=""
SAVE="C-o Enter" QUIT="C-x"
edits nano nano -I
BACKUP=yes edits "nano -B, locking" nano -I -B -G
SAVE="C-x C-s" QUIT="C-x C-c"
em=(env TMPDIR="$T" emacs -nw -Q --eval "(setq backup-enable-predicate (lambda (f) t) inhibit-startup-screen t)")
BACKUP=yes edits emacs "${em[@]}"
BACKUP=yes edits "emacs, backup-by-copying" "${em[@]}" --eval "(setq backup-by-copying t)"
# It compares the text and asks, since the heading of the table changes with each save.
TABLE=no BACKUP=yes edits "emacs, file-precious-flag" "${em[@]}" --eval "(setq-default file-precious-flag t)"
SAVE="C-s" QUIT="C-q"
edits micro micro -config-dir "$T/home/micro"
SAVE="C-s" QUIT="C-q"
edits ne ne
SAVE="C-x C-s" QUIT="C-x C-c"
edits "mg -n" mg -n
BACKUP=yes edits mg mg
SAVE="C-k d Enter" QUIT="C-c"
BACKUP=yes edits joe joe
INSERT=i AGAIN=a TYPED="Escape PAUSE" SAVE=": w Enter" QUIT=": q Enter"
edits "busybox vi" busybox vi

# ed is made for scripts.
for place in name "entries/$a/label" labels.tsv; do
	old=$(value "$place") at="1s/^" to=""
	[ "$place" = labels.tsv ] && at="2s/	" to="	"
	case $place in
	name) record="name" ;;
	labels.tsv) record="label $first" ;;
	*) record="label $a" ;;
	esac
	printf '%s\nw\n%s\nw\nq\n' "$at/${to}x/" "$at/${to}y/" | ed -s "$s/$place" || die "ed ended with $?"
	wrote "ed: $place" "$record x$old" "$record yx$old"
done
echo ed
