/* SPDX-License-Identifier: MIT */
/* error: the meaning of a negative errno of a call that looked for a file or directory of the source, or read it. */
#ifndef SESSIONFS_ERROR_H
#define SESSIONFS_ERROR_H

#include <errno.h>
#include <stdbool.h>

/* Inside the program, -ESTALE means that a file was replaced, and this that it is not a regular file, or not a session.
 * No file system returns EDOM. */
#define ERROR_NO_SESSION (-EDOM)

/* Returns the negative errno of a system call on the source: for a server's ESTALE, -EREMOTEIO. */
static inline int error_of_source(int err)
{
	return err == ESTALE ? -EREMOTEIO : -err;
}

enum error_meaning {
	MEANS_SUCCESS,
	MEANS_ABSENT,     /* nothing of that kind is there; a link that leads nowhere counts as absent */
	MEANS_REFUSED,    /* the user has no right to it, or the kernel rejects a name in its link */
	MEANS_OURS,       /* this process or its request was the reason */
	MEANS_UNREADABLE, /* any other: nothing is known of it that was not known before */
};

static inline enum error_meaning error_meaning(int rc)
{
	int err = rc < 0 ? -rc : 0;
	if (err == ENOENT || err == ENOTDIR || err == EISDIR || err == ELOOP || err == ESTALE || rc == ERROR_NO_SESSION)
		return MEANS_ABSENT;
	if (err == EACCES || err == EPERM || err == ENAMETOOLONG)
		return MEANS_REFUSED;
	if (err == EINTR || err == EAGAIN || err == EMFILE || err == ENFILE || err == ENOMEM)
		return MEANS_OURS;
	return err ? MEANS_UNREADABLE : MEANS_SUCCESS;
}

static inline bool error_is_absence(int rc)
{
	return error_meaning(rc) == MEANS_ABSENT;
}

/* Returns whether the error changes nothing of what was known, and the next attempt can succeed. */
static inline bool error_is_transient(int rc)
{
	return error_meaning(rc) >= MEANS_OURS;
}

/* Returns whether something can be there that could not be read, whoever asks for it. */
static inline bool error_is_of_source(int rc)
{
	return error_meaning(rc) == MEANS_REFUSED || error_meaning(rc) == MEANS_UNREADABLE;
}

/* Returns whether an answer without this session is better than none: it cannot be read, or its index does not fit in
 * memory. */
static inline bool error_is_about_file(int rc)
{
	return error_is_of_source(rc) || rc == -ENOMEM;
}

#endif
