/* SPDX-License-Identifier: MIT */
/* Paths without a kernel: the path walk that the VFS does for a mount, for --cat, --ls and --tree. */
#include "tree_impl.h"

#include <errno.h>
#include <sys/stat.h>

/* As in the kernel: more links on one path are a loop. */
#define SYMLINKS_MAX 40

int tree_resolve_from(struct tree *t, node_t from, const char *path, bool follow, struct tree_attr *ret)
{
	struct buf now CLEANUP_BUF = BUF_INIT, next CLEANUP_BUF = BUF_INIT;
	struct tree_attr at;
	int links = 0;
	int rc = tree_getattr(t, from, &at);
	buf_adds(&now, path);
	const char *rest = buf_cstr(&now);
	while (rc == 0 && rest && *(rest += strspn(rest, "/"))) {
		struct span name = {rest, strcspn(rest, "/")};
		node_t dir = at.node;
		rest += name.n;
		if (span_is(name, ".") || span_is(name, ".."))
			rc = tree_getattr(t, name.n == 1 ? dir : tree_parent(t, dir), &at);
		else
			rc = tree_lookup(t, dir, name, &at);
		if (rc == 0 && *rest && S_ISREG(at.mode))
			rc = -ENOTDIR; /* also before `.`, `..` or a slash at the end */
		if (rc < 0 || !S_ISLNK(at.mode) || (!*rest && !follow))
			continue;
		if (++links > SYMLINKS_MAX)
			return -ELOOP;
		buf_reset(&next);
		rc = tree_readlink(t, at.node, &next);
		buf_adds(&next, rest);
		if (rc == 0)
			rc = tree_getattr(t, dir, &at);
		struct buf swap = now;
		now = next;
		next = swap;
		rest = buf_cstr(&now);
	}
	if (rc == 0)
		rc = buf_err(&now);
	if (rc == 0)
		*ret = at;
	return rc;
}

int tree_resolve(struct tree *t, const char *path, bool follow, struct tree_attr *ret)
{
	int rc = tree_resolve_from(t, NODE_ROOT, path, follow, ret);
	return rc == 0 && tree_is_table(ret->node) ? tree_getattr(t, ret->node, ret) : rc;
}
