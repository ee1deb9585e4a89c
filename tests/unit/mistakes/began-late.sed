# src/catalog/apply.c: the tick of a scan is drawn when it ends
s/^	l->taking = true;/&\n	l->began = ++c->tick;/
