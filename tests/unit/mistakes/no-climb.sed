# src/catalog/watch.c: a mark does not reach the trees above
/^void mark_dir_stale(/,/^}/s/d = c->dirs\[d\].parent/d = NONE/
