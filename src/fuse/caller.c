/* Who sent a request, and what modes let him do. The kernel judges that itself (default_permissions); these are for
 * where its judgement depends on our answer. */
#include "fs_impl.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool caller_in_group(fuse_req_t req, gid_t gid)
{
	gid_t few[64], *groups = few, *many CLEANUP_FREE = NULL;
	int n = fuse_req_getgroups(req, 64, few);
	if (n > 64 && (groups = many = calloc((size_t)n, sizeof *many)))
		n = fuse_req_getgroups(req, n, many);
	bool found = fuse_req_ctx(req)->gid == gid;
	for (int i = 0; groups && !found && i < n; i++)
		found = groups[i] == gid;
	return found;
}

bool caller_may_read(fuse_req_t req, const struct tree_attr *a)
{
	const struct fuse_ctx *who = fuse_req_ctx(req);
	unsigned need = S_ISDIR(a->mode) ? R_OK | X_OK : R_OK;
	unsigned shift = who->uid == a->uid ? 6 : caller_in_group(req, a->gid) ? 3 : 0;
	return who->uid == 0 || (a->mode >> shift & need) == need;
}
