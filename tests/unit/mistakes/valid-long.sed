# src/catalog/sync.c: a tree without watches is valid for as long as a watched one
s/valid_ms(a->c, watched)/valid_ms(a->c, watched || true)/
