# src/catalog/apply.c: a name that appears keeps the result of an earlier scan
/f->scanned.began = f->scanned.marked = 0;/d
