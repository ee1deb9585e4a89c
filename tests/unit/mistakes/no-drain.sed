# src/catalog/sync.c: a call reads no events while another one scans the source
s/^	inotify_drain(c);/	if (!c->dirs[0].scanned.scan)\n	&/
