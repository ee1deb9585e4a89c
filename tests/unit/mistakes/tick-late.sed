# src/catalog/scan.c: a scan of a directory draws its tick after its path was resolved
s/^	*watch_dir(c, l->dir, &got);/&\n		l->began = ++c->tick;/
