/* SPDX-License-Identifier: MIT */
/* The Makefile hides all names except portable_*. */
#undef __SSE2__
#include "../../src/json/json.c"
#include "../../src/json/text.c"
#define parse_message parse_head_message
#include "../../src/session/record_head.c"

#include "portable.h"

bool portable_json_valid(struct span text, struct buf *deep)
{
	return json_valid(text, deep);
}

void portable_json_decode(struct span text, enum json_decode how, struct buf *out)
{
	json_decode(text, how, out);
}

size_t portable_json_decoded_size(struct span text, enum json_decode how)
{
	return json_decoded_size(text, how);
}

void portable_json_quote(struct span text, struct buf *out)
{
	json_quote(text, out);
}

void portable_record_head(struct span line, struct buf *deep, struct record_head *ret,
                          void (*on_call)(void *arg, struct json_value id), void *arg)
{
	record_head(line, deep, ret, on_call, arg);
}

size_t portable_record_head_padded(struct span text, struct buf *deep, struct record_head *ret,
                                   void (*on_call)(void *arg, struct json_value id), void *arg)
{
	return record_head_padded(text, deep, ret, on_call, arg);
}
