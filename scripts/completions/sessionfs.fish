# SPDX-License-Identifier: MIT
# Completion for fish. The words are those in --help, for --cat, --ls and --tree the
# names in the source, for -u the mounts, for --pick titles, and for --search values of filters.

# The source that the command line names, as an option.
function __sessionfs_source
    set -l words (commandline -opc)
    set -l source
    for i in (seq 2 (count $words))
        switch $words[$i]
            case -S --source
                test $i -lt (count $words); and set source -S (string unescape -- $words[(math $i + 1)])
            case '--source=*'
                set source -S (string unescape -- (string replace -- --source= '' $words[$i]))
            case '-S?*'
                set source -S (string unescape -- (string sub -s 3 -- $words[$i]))
        end
    end
    string replace -r '^~/' "$HOME/" -- $source
end

# The names in a directory of the source.
function __sessionfs_paths
    set -l words (commandline -opc)
    set -l typed (string unescape -- (commandline -ct) | string replace -r '^--[a-z]+=' '')
    set -q typed[1]; or set typed ''
    set -l source (__sessionfs_source)
    set -l dir (string replace -r '[^/]*$' '' -- $typed)
    for name in (command $words[1] $source --names --ls=/$dir 2>/dev/null)
        test (string sub -l (string length -- $typed) -- $dir$name) = "$typed"; and printf '%s\n' $dir$name
    end
end

# Items of an -o list, each after the part of the word up to its last comma.
function __sessionfs_list
    set -l before (string match -r '^(?:-o)?(.*,)?' -- (commandline -ct))[2]
    for line in (command sessionfs --help 2>/dev/null | string match -r '^  -.*')
        for item in (string match -ra -- '-o ([a-z_]+(?:\[?=)?)' $line | string match -v -- '-o *' | string replace '[' '')
            printf '%s%s\t%s\n' "$before" $item (string sub -s 43 -- $line)
        end
    end
end

# Mountpoints to unmount, titles to pick (as queries, in which a phrase cannot have a quote), or directories.
function __sessionfs_operands
    if string match -qr -- '^(-u|--unmount)$' (commandline -opc)
        findmnt -lno TARGET -t fuse.sessionfs 2>/dev/null
    else if contains -- --pick (commandline -opc)
        set -l words (commandline -opc)
        for title in (command $words[1] (__sessionfs_source) --cat=sessions.tsv 2>/dev/null | sed 1d | cut -f14 | sed '/["\\\\]/d' | sort -u)
            printf 'title:"%s"\n' $title
        end
    else
        __fish_complete_directories (commandline -ct)
    end
end

complete -c sessionfs -f -n 'not string match -q -- "--*=*" (commandline -ct)' -a '(__sessionfs_operands)'
complete -c sessionfs -s o -x -d 'mount options' -a '(__sessionfs_list)'
for line in (command sessionfs --help 2>/dev/null | string match -r '^  -.*')
    set -l help (string sub -s 43 -- $line)
    set -l argument (string match -r '[= ]([A-Z]+)' -- (string sub -l 42 -- $line))[2]
    set -l value
    switch "$argument"
        case LEVEL WHEN
            set value -a (string replace -r '.*: ' '' -- $help | string replace -r ' \(.*' '' | string replace ' or ' ', ' | string replace -a , '')
        case SOURCE DIR
            set value -a '(__fish_complete_directories (commandline -ct))'
        case FILE
            set value -r -F
        case QUERY
            set value -a "role:user role:assistant role:toolResult role:bashExecution type:message type:compaction type:branch_summary type:label state:working state:done state:failed state:stopped what:said what:output what:thinking what:call what:error what:label what:name is:error is:secret in:session after:today after:yesterday"
        case PATH
            set value -a '(__sessionfs_paths)'
    end
    # With [=VALUE] the next word is not the value.
    contains -- "$argument" '' FILE; or string match -q '*[=*' -- $line; or set -a value -x
    for item in (string split ', ' -- (string trim -- (string sub -l 42 -- $line)))
        switch $item
            case '-o *'
            case '--*'
                complete -c sessionfs -l (string replace -r '\[?=.*' '' -- (string sub -s 3 -- $item)) -d $help $value
            case '*'
                complete -c sessionfs -s (string sub -s 2 -l 1 -- $item) -d $help $value
        end
    end
end
