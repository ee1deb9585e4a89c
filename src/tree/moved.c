/* SPDX-License-Identifier: MIT */
/* A rewritten session file gets another slot, and with it other nodes, so that the kernel does not mix its cache of the
 * old nodes with the new file. But it is still the session of that name, and a process that is reading its directory,
 * or a file directly in it, began before the kernel could be notified. So for one answer such a node leads to the node
 * at its place now, and the kernel must not cache that answer. An entry has no such place: its number has no meaning in
 * another file. Nor has a link to the session from another directory: its name can lead to another session by now. */
#include "sessionfs/base/cancel.h"
#include "sessionfs/base/deferred.h"
#include "tree_impl.h"

#include <errno.h>

bool tree_retarget_node(struct tree *t, int *rc, node_t *node)
{
	struct node n = tree_node(*node);
	const struct kind *k = kind_of(n);
	struct slot_info now;
	/* The error was deferred for the old node; the new node gets a new lookup. */
	*rc = deferred_take(*rc);
	if (*rc != -ESTALE || !k || k->from->scope < SCOPE_SLOT || k->from->scope >= SCOPE_ENTRY ||
	    (!k->name && k->make.type == S_IFLNK) || cancel_check() < 0)
		return false;
	if (catalog_slot_now(t->catalog, n.slot, &now) < 0 || now.slot == n.slot)
		return false;
	n.slot = now.slot;
	*node = node_pack(n);
	return true;
}
