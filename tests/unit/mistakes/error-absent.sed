# src/catalog/apply.c: a failure counts as an absence
s/l->rc == -ENOENT && !l->linked/(l->rc == -ENOENT || error_is_transient(l->rc)) \&\& !l->linked/
