# src/catalog/watch_events.c: lost events mark the files, but not the names
/IN_Q_OVERFLOW/,/return/s/mark_files_stale(c, i);/mark_files_stale(c, i), c->dirs[i].scanned.marked = 0;/
