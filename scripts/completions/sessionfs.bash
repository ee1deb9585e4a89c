# SPDX-License-Identifier: MIT
# Completion for bash. The words are those in --help, for --cat, --ls and --tree the names in the source, for -u the mounts, for
# --pick titles, and for --search values of filters.
# shellcheck shell=bash

# Prints the word without its quoting, as the program will get it.
_sessionfs_plain() {
	local i c quote='' plain=''
	for ((i = 0; i < ${#1}; i++)); do
		c=${1:i:1}
		if [[ $c == "$quote" ]]; then
			quote=''
		elif [[ $c == \\ && $quote != \' ]]; then
			plain+=${1:$((++i)):1}
		elif [[ ! $quote && $c == [\'\"] ]]; then
			quote=$c
		else
			plain+=$c
		fi
	done
	printf %s "${plain/#\~\//$HOME/}"
}

_sessionfs() {
	local cur prev words cword
	_init_completion -n := || return
	local program=${words[0]/#\~/$HOME} raw=$cur help line='' argument option='' before='' source='' i typed path names=''
	help=$("$program" --help 2>/dev/null) || return

	# The option that the word belongs to; `before` precedes its value.
	if [[ $cur == --*=* ]]; then
		option=${cur%%=*} before=${cur%%=*}=
	elif [[ $cur == -o?* ]]; then
		option=-o before=-o
	elif [[ $prev == -[oS] ]] || grep -qE -- "^  (.*, )?$prev(=| [A-Z])" <<<"$help"; then
		option=$prev
	fi
	cur=${cur#"$before"}
	if [[ $option == -o ]]; then # the last item of a list
		[[ $cur != *,* ]] || before+=${cur%,*},
		cur=${cur##*,}
		[[ $cur != *=* ]] || option="-o ${cur%%=*}" before+=${cur%%=*}= cur=${cur#*=}
	fi
	[[ ! $option || $option == -o ]] || line=$(grep -E -- "^  (.*, )?${option}[=[, ]" <<<"$help")
	argument=$(sed -nE 's/^.*[ =]([A-Z]+).*/\1/p' <<<"${line:0:42}")
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		-S | --source) source=${words[i + 1]} ;;
		--source=*) source=${words[i]#*=} ;;
		-S?*) source=${words[i]#-S} ;;
		esac
	done
	source=$(_sessionfs_plain "$source")
	typed=$(_sessionfs_plain "$cur")

	compopt -o nospace
	case $option:$argument in
	:)
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(sed -nE 's/^  (-.{38}).*/\1/p' <<<"$help" | sed 's/\[=/=/g' | grep -oE -- '(^|, )-[-A-Za-z]+=?' |
				sed -E 's/^, //; s/[^=]$/& /' | sort -u | grep -- "^$cur")
		else
			case " ${words[*]:1:cword-1} " in
			*' -u '* | *' --unmount '*)
				while IFS= read -r path; do
					[[ $path != "$typed"* ]] || COMPREPLY+=("$path")
				done < <(findmnt -lno TARGET -t fuse.sessionfs 2>/dev/null)
				compopt +o nospace
				;;
			*' --pick '*) # a title as a query; a phrase cannot have a quote
				while IFS= read -r path; do
					[[ $path != *[\"\\]* && (title:\"$path\" == "$typed"* || $path == "$typed"*) ]] && COMPREPLY+=("title:\"$path\"")
				done < <("$program" ${source:+-S "$source"} --cat=sessions.tsv 2>/dev/null | sed 1d | cut -f14 | sort -u)
				compopt +o nospace
				;;
			*) mapfile -t COMPREPLY < <(compgen -d -- "$typed" | sed 's|$|/|') ;;
			esac
			names=1
		fi
		;;
	-o:) mapfile -t COMPREPLY < <(grep '^  -' <<<"$help" | grep -oE -- '-o [a-z_]+\[?=?' | sed 's/^-o //; s/\[//' | grep "^$cur") ;;
	*:LEVEL | *:WHEN)
		mapfile -t COMPREPLY < <(compgen -W "$(sed -E 's/.{42}//; s/.*: //; s/ \(.*//; s/ or /, /; s/,//g' <<<"$line")" -- "$cur")
		;;
	*:SOURCE | *:DIR)
		mapfile -t COMPREPLY < <(compgen -d -- "$typed" | sed 's|$|/|')
		names=1
		;;
	*:FILE)
		while IFS= read -r path; do
			[[ ! -d $path ]] || path+=/
			COMPREPLY+=("$path")
		done < <(compgen -f -- "$typed")
		[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} == */ ]] || compopt +o nospace
		names=1
		;;
	*:QUERY)
		mapfile -t COMPREPLY < <(compgen -W "role:user role:assistant role:toolResult role:bashExecution type:message type:compaction type:branch_summary type:label \
			state:working state:done state:failed state:stopped what:said what:output what:thinking what:call what:error what:label what:name is:error is:secret in:session after:today after:yesterday" -- "$cur")
		;;
	*:PATH)
		line=${typed%"${typed##*/}"}
		while IFS= read -r path; do
			[[ $line$path != "$typed"* ]] || COMPREPLY+=("$line$path")
		done < <("$program" ${source:+-S "$source"} --names --ls="/$line" 2>/dev/null)
		[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} == */ ]] || compopt +o nospace
		names=1
		;;
	esac

	# bash replaces only the text after the last `=` or `:` that is neither quoted nor escaped.
	cur=$(sed -E "s/\\\\.//g; s/'[^']*'|\"[^\"]*\"//g; s/[^'\"]*//" <<<"$cur")
	[[ ! $cur || ! $names ]] || names=${cur:0:1} # the quote that is still open
	raw=$(sed -E "s/\\\\./__/g; s/[\"'].*//" <<<"$raw")
	typed=${raw##*[=:]}
	i=$((${#raw} - ${#typed}))
	for line in "${!COMPREPLY[@]}"; do
		path=$before${COMPREPLY[line]}
		path=${path#"$(_sessionfs_plain "${words[cword]:0:i}")"}
		case $names in
		1) printf -v path %q "$path" ;;
		\') [[ $path != *\'* ]] || { unset 'COMPREPLY[line]' && continue; } ;; # cannot be quoted there
		\") path=$(sed -E 's/["\\$`]/\\&/g' <<<"$path") ;;
		esac
		COMPREPLY[line]=$path
	done
}
complete -F _sessionfs sessionfs
