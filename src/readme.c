/* README.md of the mount root: what is where, for people and for agents that land here. */
#include "tree_impl.h"

static const char text[] =
    "# Sessions of the pi coding agent, as files\n"
    "\n"
    "Every conversation is a directory; every entry of it is a directory below that.\n"
    "What has nothing to say is not there: an entry without a label has no `label`.\n"
    "This mount is read-only. `man 5 sessionfs` describes every name.\n"
    "\n"
    "    projects/PROJECT/STEM/    a session, by the directory it was started in\n"
    "    projects/PROJECT/latest   the newest session of a project\n"
    "    sessions/ID               the same sessions, by id (links)\n"
    "    latest                    the newest session of all\n"
    "\n"
    "In a session:\n"
    "\n"
    "    title                     its name, or the first thing the user said\n"
    "    tree.txt                  the tree of entries, with ids, labels and the leaf\n"
    "    transcript.md             the whole path to the current leaf\n"
    "    context.md, context.json  what the model is sent at the leaf\n"
    "    info.json                 counts, times, tokens and cost\n"
    "    entries/ID/               one entry: text.md, thinking.md, tool-calls/, images/, entry.json, ...\n"
    "    branches/ID/              the same views at every branch tip, and its path as links\n"
    "    labels/LABEL              links to the labelled entries; labels.tsv has them as a table\n"
    "    leaf, parent, forks/      links: the newest entry, the session this was forked from, its forks\n"
    "    session.jsonl             the session file itself, byte for byte\n"
    "    problems.txt              what could not be read in it (only if there is something)\n"
    "\n"
    "Try:\n"
    "\n"
    "    cat latest/tree.txt\n"
    "    grep -rl 'some words' projects/*/*/transcript.md\n"
    "    grep . projects/*/*/title\n"
    "    cat latest/entries/*/label\n"
    "    rsync -a projects/ /somewhere/backup/\n";

struct span readme_text(void)
{
	return (struct span){text, sizeof text - 1};
}
