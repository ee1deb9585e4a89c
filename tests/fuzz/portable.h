/* SPDX-License-Identifier: MIT */
/* portable: json.c, json/text.c and record_head.c with bytes.h as on machines without SSE2, under other names, to
 * compare with the usual build. */
#ifndef FUZZ_PORTABLE_H
#define FUZZ_PORTABLE_H

#include "sessionfs/session/record.h"

bool portable_json_valid(struct span text, struct buf *deep);
void portable_json_decode(struct span text, enum json_decode how, struct buf *out);
size_t portable_json_decoded_size(struct span text, enum json_decode how);
void portable_json_quote(struct span text, struct buf *out);
void portable_record_head(struct span line, struct buf *deep, struct record_head *ret,
                          void (*on_call)(void *arg, struct json_value id), void *arg);
size_t portable_record_head_padded(struct span text, struct buf *deep, struct record_head *ret,
                                   void (*on_call)(void *arg, struct json_value id), void *arg);

#endif
