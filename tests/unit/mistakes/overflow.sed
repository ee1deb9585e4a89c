# src/catalog/watch_events.c: lost events mark the files, but not the names
/IN_Q_OVERFLOW/,/return/s/watch_drop_below(c, 0);/for (uint32_t i = 0; i < c->dir_count; i++)\n			mark_files_stale(c, i), c->dirs[i].scanned.marked = 0;/
