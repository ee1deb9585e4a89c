/* SPDX-License-Identifier: MIT */
/* Open files and their numbers. */
#include "fs_impl.h"

void fs_handle_put(struct fs *fs, struct handle *handle)
{
	if (!handle)
		return;
	lock_acquire(&fs->handles.lock);
	bool last = --handle->users == 0;
	lock_release(&fs->handles.lock);
	if (!last)
		return;
	if (handle->writing)
		(handle->is_discarded ? tree_release_uncommitted : tree_release)(fs->tree, handle->writing);
	tree_unpin(handle->pinned);
	free(handle);
}

void handles_release(struct fs *fs, struct handles *h)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->at[i].handle) {
			h->at[i].handle->is_discarded = true;
			fs_handle_put(fs, h->at[i].handle);
		}
	free(h->at);
	lock_destroy(&h->lock);
}

uint64_t handles_add(struct handles *h, const struct handle *handle)
{
	struct handle *copy = malloc(sizeof *copy);
	if (!copy)
		return 0;
	LOCKED(&h->lock);
	size_t before = h->n;
	if (h->free == 0 && !vec_grow(&h->at, &h->n, h->n + 1, sizeof *h->at)) {
		free(copy);
		return 0;
	}
	for (size_t number = h->n; number > before; number--) {
		h->at[number - 1] = (struct handle_place){NULL, h->free};
		h->free = number;
	}
	*copy = *handle;
	copy->users = 1;
	size_t number = h->free;
	h->free = h->at[number - 1].next;
	h->at[number - 1].handle = copy;
	return number;
}

struct handle *handles_get(struct handles *h, uint64_t number)
{
	LOCKED(&h->lock);
	struct handle *found = number == 0 || number > h->n ? NULL : h->at[number - 1].handle;
	if (found)
		found->users++;
	return found;
}

void handles_close(struct fs *fs, uint64_t number, bool commit)
{
	struct handles *h = &fs->handles;
	struct handle *found = NULL;
	lock_acquire(&h->lock);
	if (number > 0 && number <= h->n && h->at[number - 1].handle) {
		found = h->at[number - 1].handle;
		found->is_discarded = !commit;
		h->at[number - 1] = (struct handle_place){NULL, h->free};
		h->free = (size_t)number;
	}
	lock_release(&h->lock);
	fs_handle_put(fs, found);
}
