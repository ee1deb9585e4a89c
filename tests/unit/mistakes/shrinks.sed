# src/catalog/apply.c: a write that is taken back makes another file
s/ && st->st_size < least)/)/
