/* A session file that is written anew gets another slot, and with it other nodes, so that what the kernel has kept of
 * the old ones is not taken for what is there now. But it is still the session of that name, and whoever is just
 * looking at its directory or at a file of its own began before that could be told. So such a node leads on to the one
 * that has its place, for this answer: nothing of it may be kept. An entry has no place: its number means nothing in
 * another file. */
#include "sessionfs/base/fault.h"
#include "sessionfs/base/stop.h"
#include "tree_impl.h"

#include <errno.h>

/* A link to the session from elsewhere has no place either: its name may lead to another session by now. */
static bool has_place(struct node n)
{
	const struct kind *k = kind_of(n);
	return k && k->scope >= SCOPE_SLOT && k->scope < SCOPE_ENTRY && (k->name || k->type == S_IFDIR);
}

bool tree_moved(struct tree *t, int *rc, node_t *node)
{
	struct node n = tree_node(*node);
	struct slot_info now;
	/* The fault was noted for the old node; the new one is looked up afresh. */
	*rc = fault_take(*rc);
	if (*rc != -ESTALE || !has_place(n) || stop_check() < 0)
		return false;
	if (catalog_slot_now(t->catalog, n.slot, &now) < 0 || now.slot == n.slot)
		return false;
	n.slot = now.slot;
	*node = node_pack(n);
	return true;
}
