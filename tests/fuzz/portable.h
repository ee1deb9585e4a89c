/* SPDX-License-Identifier: MIT */
/* portable: json.c and json/text.c with bytes.h as on machines without SSE2, under other names, to
 * compare with the usual build. */
#ifndef FUZZ_PORTABLE_H
#define FUZZ_PORTABLE_H

#include "sessionfs/json/json.h"

bool portable_json_valid(struct span text, struct buf *deep);
void portable_json_decode(struct span text, enum json_decode how, struct buf *out);
size_t portable_json_decoded_size(struct span text, enum json_decode how);
void portable_json_quote(struct span text, struct buf *out);

#endif
