# src/catalog/watch.c: a directory that was replaced keeps the watch of the former one
/^void watch_drop(/,/^}/s/^	if (d->wd > 0) {/	if (true)\n		return;\n&/
