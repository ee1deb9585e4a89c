/* stage: the bytes that are being written through one open handle, until they
 * are a value. Readers see the last committed text meanwhile, so that a refused write has destroyed nothing. */
#ifndef SESSIONFS_STAGE_H
#define SESSIONFS_STAGE_H

#include "sessionfs/write/value.h"

#include <stdint.h>

struct stage {
	const struct value_form *form;
	struct buf bytes;
	size_t reached; /* the end of what was written since the last commit; old text may follow, which may be cut off
	                   yet */
	size_t quoted;  /* how long `bytes` is as a string of JSON, but for the quotes */
	bool dirty;     /* a write or a change of size since the last commit */
	bool wrote;     /* a write since the last commit */
	int refused;    /* the errno that every later call gets, or 0 */
};

/* A stage that holds what is shown now (`shown`, copied); empty for O_TRUNC, which makes it dirty. */
int stage_init(struct stage *st, const struct value_form *form, struct span shown, bool truncated);
void stage_release(struct stage *st);

/* Takes bytes in at `off`; a gap is filled with NUL. Refuses (and drops the bytes, for good) what proves the
 * text bad: -EFBIG, -EINVAL. *ret_whole: this write carried what looks like a whole value of one line, which can be
 * judged at once. */
int stage_write(struct stage *st, struct span bytes, uint64_t off, bool *ret_whole, const char **ret_why);

/* ftruncate. */
int stage_resize(struct stage *st, uint64_t size, const char **ret_why);

/* The verdict of a commit: on success the stage is clean and goes on, on refusal its bytes are dropped. After
 * -EINTR they are dropped too, but the same can be written again. */
void stage_settle(struct stage *st, int verdict);

#endif
