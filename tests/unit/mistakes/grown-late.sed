# src/catalog/open.c: a reader that asks for the newest contents gets those of the last scan
s/bool stale = how & GET_NOW || open_index_is_stale(c, x);/bool stale = open_index_is_stale(c, x);/
s/how & GET_NOW ? AGE_NONE : AGE_RECENT/AGE_RECENT/
