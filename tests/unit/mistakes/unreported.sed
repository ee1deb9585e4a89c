# src/catalog/apply.c: other attributes are no change to report
/^	if (changed && f->ino)/,+1d
s/^	if (was_marked && file_is_watched(c, f))/	if (false)/
