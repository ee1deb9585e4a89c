# src/catalog/apply.c: a result does not wake the calls that wait for it
/pthread_cond_broadcast(&c->scanned);/d
