/* SPDX-License-Identifier: MIT */
/* stage: the bytes being written through one open handle, before they are a value. Until then readers see the last
 * committed text, so a refused write destroys nothing. */
#ifndef SESSIONFS_STAGE_H
#define SESSIONFS_STAGE_H

#include "sessionfs/write/value.h"

#include <stdint.h>

struct stage {
	const struct value_form *form;
	struct buf bytes;
	size_t written_end; /* the end of the bytes written since the last commit; old text can follow, which can still
	                       be cut off */
	size_t json_size;   /* the length of `bytes` as a JSON string, without the quotes */
	bool dirty;         /* a write or a change of size since the last commit */
	bool was_written;   /* a write since the last commit */
	int error;          /* the errno that every later call returns, or 0 */
};

/* Begins with the text shown now (`shown`, copied), or empty for O_TRUNC, which makes the stage dirty. */
int stage_init(struct stage *st, const struct value_form *form, struct span shown, bool truncated);
void stage_release(struct stage *st);

/* Writes bytes at `off`; a gap is filled with NUL. If they prove the text invalid, refuses it and drops all bytes for
 * good: -EFBIG, -EINVAL. *ret_whole: this write looks like a whole value of one line, which can be checked at once. */
int stage_write(struct stage *st, struct span bytes, uint64_t off, bool *ret_whole, const char **ret_why);

/* ftruncate. */
int stage_resize(struct stage *st, uint64_t size, const char **ret_why);

/* Ends a commit. On success the stage is clean and can be written again. On refusal its bytes are dropped for good. */
void stage_finish(struct stage *st, int verdict);

#endif
