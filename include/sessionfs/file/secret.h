/* SPDX-License-Identifier: MIT */
/* secret: finds likely keys in raw bytes: prefixes of services, private keys, JSON Web Tokens, passwords in URLs,
 * Bearer and Basic headers, the value of a name such as API_KEY. sessionfs(5), "Secrets", lists the forms and rules.
 * Nothing is decoded, and no key crosses the end of a line. */
#ifndef SESSIONFS_SECRET_H
#define SESSIONFS_SECRET_H

#include "sessionfs/base/limits.h"
#include "sessionfs/base/span.h"
#include "sessionfs/base/vec.h"

#include <stdint.h>

/* Longer lines are not searched. */
#define SECRET_LINE ((size_t)LIMIT(64 << 20, 8 << 10))

/* A key of n bytes at `at`. */
struct secret {
	size_t at, n;
	unsigned form;
};
struct secrets {
	struct secret *v;
	size_t n, cap;
};
void secrets_release(struct secrets *s);

/* Appends the keys in text, which must be whole lines, from left to right; none overlap. Returns 0 or -ENOMEM. */
int secrets_find(struct span text, struct secrets *out);
/* Returns the kind of key that --secrets shows. */
const char *secret_kind(const struct secret *s);
/* Returns how many of its first bytes --secrets can show: the length of a known prefix; 0 if the start is secret. */
size_t secret_prefix_size(const struct secret *s);
/* Returns the first part of the key, from its byte `from` on, to mask: all bytes except line ends. Empty: no part is
 * left. */
struct span secret_hidden_part(const struct secret *s, const char *text, size_t from);

#endif
