# src/catalog/apply.c: names read in the second in which they changed are trusted, also without a watch
s/rc == 0 && !is_racy && /rc == 0 \&\& (!is_racy || true) \&\& /
