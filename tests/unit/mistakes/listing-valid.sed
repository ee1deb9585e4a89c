# src/catalog/slots.c: a listing stays valid when a session disappears
/^void slot_retire(/,/^}/s/^	c->epoch++;/	(void)c;/
