/* The items of views: which segments they have. */
#include "pieces.h"

#include <errno.h>
#include <stdlib.h>

int items_path(const struct place *p, struct totals *t, void **ret, size_t *ret_n)
{
	uint32_t *path = NULL;
	size_t n = 0;
	int rc = p->at == NO_ENTRY ? 0 : session_path(p->session, p->at, &path, &n);
	if (rc < 0)
		return rc;
	context_settings(p->session, path, n, &t->model, &t->thinking);
	*ret = path;
	*ret_n = n;
	return 0;
}

/* Gives up on a path that goes back in the file. */
int items_newer_path(const struct place *p, uint32_t first, uint32_t last, struct totals *t, void **ret, size_t *ret_n)
{
	const struct session *s = p->session;
	uint32_t below = session_count(s), i = p->at;
	size_t n = 0, room = below - first;
	uint32_t *path = malloc((room + 1) * sizeof *path);
	if (!path)
		return -ENOMEM;
	while (i != NO_ENTRY && i >= first && i < below) {
		path[room - ++n] = below = i;
		i = session_entry(s, i)->flags & ENTRY_WALK_ENDS ? NO_ENTRY : session_entry(s, i)->parent;
	}
	if (last != NO_ENTRY && i != last)
		n = 0;
	memmove(path, path + room - n, n * sizeof *path);
	context_settings(s, path, n, &t->model, &t->thinking);
	*ret = path;
	*ret_n = n;
	return 0;
}

int items_context(const struct place *p, struct totals *t, void **ret, size_t *ret_n)
{
	struct context c;
	int rc = context_build(p->session, p->at, &c);
	if (rc < 0)
		return rc;
	t->model = c.model;
	t->thinking = c.thinking;
	*ret = c.items;
	*ret_n = c.n;
	return 0;
}
