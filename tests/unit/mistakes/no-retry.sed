# src/catalog/sync.c: a scan that was late is never made again
s/!blocking_is_done(resolver_blocking_pool(c->resolver), &s->scan->call)/true/
