/* Few open files have a handle at a time, so a linear search for a free number is enough. */
#include "fs_impl.h"

void handles_init(struct handles *h)
{
	*h = (struct handles){0};
	lock_init(&h->lock, LOCK_HANDLES);
}

void handle_put(struct fs *fs, struct handle *handle)
{
	if (!handle)
		return;
	lock_take(&fs->handles.lock);
	bool last = --handle->users == 0;
	lock_give(&fs->handles.lock);
	if (!last)
		return;
	if (handle->writing)
		tree_release(fs->tree, handle->writing);
	buf_release(&handle->text);
	tree_held_release(handle->held);
	lock_destroy(&handle->lock);
	free(handle);
}

void handles_release(struct fs *fs, struct handles *h)
{
	for (size_t i = 0; i < h->n; i++) {
		if (h->at[i] && h->at[i]->writing) {
			tree_abandon(fs->tree, h->at[i]->writing);
			h->at[i]->writing = NULL;
		}
		handle_put(fs, h->at[i]);
	}
	free(h->at);
	lock_destroy(&h->lock);
}

/* The index of a free place, or h->n. */
static size_t find_free(const struct handles *h)
{
	size_t i = 0;
	while (i < h->n && h->at[i])
		i++;
	return i;
}

static uint64_t place(struct handles *h, struct handle *handle)
{
	size_t i = find_free(h);
	if (i == h->n) {
		if (!vec_grow(&h->at, &h->n, i + 1, sizeof(struct handle *)))
			return 0;
		memset(h->at + i, 0, (h->n - i) * sizeof(struct handle *));
	}
	h->at[i] = handle;
	return i + 1;
}

uint64_t handles_add(struct handles *h, const struct handle *handle)
{
	struct handle *copy = malloc(sizeof *copy);
	if (!copy)
		return 0;
	*copy = *handle;
	copy->users = 1;
	lock_init(&copy->lock, LOCK_HANDLE);
	lock_take(&h->lock);
	uint64_t number = place(h, copy);
	lock_give(&h->lock);
	if (number == 0) {
		lock_destroy(&copy->lock);
		free(copy);
	}
	return number;
}

static struct handle **find_handle(struct handles *h, uint64_t number)
{
	return number == 0 || number > h->n ? NULL : &h->at[number - 1];
}

struct handle *handles_get(struct handles *h, uint64_t number)
{
	LOCKED(&h->lock);
	struct handle **at = find_handle(h, number);
	struct handle *found = at ? *at : NULL;
	if (found)
		found->users++;
	return found;
}

struct handle *handles_remove(struct handles *h, uint64_t number)
{
	LOCKED(&h->lock);
	struct handle **at = find_handle(h, number);
	struct handle *found = at ? *at : NULL;
	if (found)
		*at = NULL;
	return found;
}
