# src/catalog/open.c: an opened index does not wake the calls that wait for it
/pthread_cond_broadcast(&c->open.opened);/d
