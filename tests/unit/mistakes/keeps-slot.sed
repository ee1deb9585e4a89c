# src/catalog/apply.c: a file that was replaced keeps its slot
s/^	bool changed = is_other_file /	is_other_file = false;\n&/
s/if (differs && f->slot != NONE)/if (differs \&\& false)/
