/* SPDX-License-Identifier: MIT */
/* Texts made for one open file (I8).
 *
 * Reads are answered from the current state, so a reader of a text that changes in its middle would get a mixture.
 * While its session grows, such a text is made once for each open and served from there. It bypasses the page cache,
 * which belongs to the file and not to the open.
 *
 * A reader that continues at the end of a transcript (tail -f) gets the new messages, after the old text. A reader that
 * starts again (tail, when the file has become shorter) gets the current text. */
#include "fs_impl.h"

#include <string.h>

#define SNAPSHOT_MAX (UINT64_C(1) << LIMIT(26, 12)) /* max bytes of one open */

bool snapshot_is_needed(const struct tree_attr *attr)
{
	return tree_is_rewritten(attr->node) && (attr->size < SNAPSHOT_MAX / 2 || tree_can_pin(attr->node));
}

int snapshot_open(struct fs *fs, node_t node, uint64_t *ret)
{
	struct handle handle = {.text = BUF_INIT, .snapshot = node};
	int rc = tree_can_pin(node) ? tree_pin(fs->tree, node, &handle.pinned, &handle.size)
	                            : tree_snapshot(fs->tree, node, SNAPSHOT_MAX, &handle.text, &handle.count);
	uint64_t number = rc ? 0 : handles_add(&fs->handles, &handle);
	if (number == 0) {
		tree_pinned_release(handle.pinned);
		buf_release(&handle.text);
		return rc ? rc : -ENOMEM;
	}
	*ret = number;
	return 0;
}

/* Replaces the text with the current one; keeps the old text if that fails. */
static void snapshot_renew(struct fs *fs, struct handle *h)
{
	struct buf text CLEANUP_BUF = BUF_INIT;
	uint32_t count;
	if (tree_snapshot(fs->tree, h->snapshot, SNAPSHOT_MAX, &text, &count))
		return;
	buf_release(&h->text);
	h->text = text;
	h->count = count;
	text = (struct buf)BUF_INIT;
}

/* The caller holds the handle's lock. */
static struct span snapshot_slice(struct fs *fs, struct handle *h, uint64_t off, size_t n)
{
	if (off == 0 && h->at_end && h->count != TREE_SNAPSHOT_WHOLE)
		snapshot_renew(fs, h);
	/* If the session is gone, adds nothing. */
	if (off >= h->text.n && tree_snapshot_append_new(fs->tree, h->snapshot, &h->count, &h->text) < 0)
		h->text.err = 0;
	size_t at = off < h->text.n ? (size_t)off : h->text.n;
	size_t left = h->text.n - at;
	h->at_end = n >= left;
	return (struct span){h->text.p + at, n < left ? n : left};
}

void snapshot_read(fuse_req_t req, struct handle *h, size_t n, uint64_t off)
{
	LOCKED(&h->lock);
	struct span s = snapshot_slice(fuse_req_userdata(req), h, off, n);
	fuse_reply_buf(req, s.n ? s.p : NULL, s.n);
}

uint64_t snapshot_size(struct handle *h)
{
	LOCKED(&h->lock);
	return h->pinned ? h->size : h->text.n;
}
