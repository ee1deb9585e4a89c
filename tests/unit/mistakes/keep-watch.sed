# src/catalog/watch.c: a directory that was replaced keeps the watch of the former one
/^void watch_drop(/,/^}/s/^	if (c->dirs\[dir\].wd == 0)/	if (true)/
