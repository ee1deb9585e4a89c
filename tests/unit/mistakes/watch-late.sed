# src/catalog/scan.c: names are read before the directory has a watch
/^	*watch_dir(c, l->dir, &got);/d
s/^	resolved_release(l->resolver, &got);/	if (l->rc == 0 \&\& c) {\n		LOCKED(\&c->lock);\n		watch_dir(c, l->dir, \&got);\n	}\n&/
