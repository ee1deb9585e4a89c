/* SPDX-License-Identifier: MIT */
/* The Makefile hides all names except portable_*. */
#undef __SSE2__
#include "../../src/json/json.c"
#include "../../src/json/text.c"

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
