/* SPDX-License-Identifier: MIT */
/* The sender of a request, and what modes allow it. The kernel checks that itself (default_permissions); these
 * functions serve where its check depends on our answer. */
#include "fs_impl.h"

#include "sessionfs/base/process.h"
#include "sessionfs/base/sys.h"

#include <linux/fuse.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool caller_in_group(fuse_req_t req, gid_t gid)
{
	gid_t few[64], *groups = few, *many CLEANUP_FREE = NULL;
	int n = fuse_req_getgroups(req, 64, few), room = n;
	if (n > 64 && (groups = many = calloc((size_t)n, sizeof *many)))
		n = fuse_req_getgroups(req, n, many); /* can be more by now */
	bool found = fuse_req_ctx(req)->gid == gid;
	for (int i = 0; groups && !found && i < n && i < room; i++)
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

/* Returns whether the thread is ours. A walk sends one request after another, so the last foreign thread is not checked
 * again until one of our threads begins, which can reuse its number. */
static bool thread_is_ours(uint32_t thread)
{
	static _Thread_local uint32_t stranger;
	static _Thread_local unsigned since;
	unsigned begun = atomic_load(&process_threads_begun);
	if (thread == 0 || (thread == stranger && begun == since))
		return false;
	stranger = sys_tgkill(getpid(), (pid_t)thread, 0) < 0 ? thread : 0;
	since = begun;
	return !stranger;
}

void caller_reply_error(struct fuse_session *session, const struct fuse_in_header *h, int err)
{
	const struct fuse_out_header reply = {.len = sizeof reply, .error = -err, .unique = h->unique};
	/* This fails only if the caller no longer waits. */
	ssize_t n = write(fuse_session_fd(session), &reply, sizeof reply);
	(void)n;
}

/* resolver.c keeps our threads out of our mount, but $TMPDIR can be in it, or another file system can cover it. */
bool caller_refuse_our_thread(const struct fs *fs, const struct fuse_in_header *h)
{
	uint32_t op = h->opcode;
	/* These ask nothing of the tree, and come only once. */
	if (op == FUSE_INIT || op == FUSE_DESTROY || op == FUSE_RELEASE || op == FUSE_RELEASEDIR || op == FUSE_FLUSH)
		return false;
	if (!fs->refuse_own || !thread_is_ours(h->pid))
		return false;
	caller_reply_error(fs->session, h, ELOOP);
	return true;
}
