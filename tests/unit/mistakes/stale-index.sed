# src/catalog/open.c: an open index is not compared with the attributes of its file
s/ || open_index_is_stale(c, x)//
