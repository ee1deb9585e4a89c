# src/catalog/apply.c: the tick of a scan is drawn when it ends
s/^	l->phase = SCAN_APPLYING;/&\n	l->began = ++c->tick;/
