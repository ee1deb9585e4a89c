/* SPDX-License-Identifier: MIT */
/* secret: what looks like a key in bytes as they are stored: prefixes of services, private keys, JSON Web Tokens,
 * passwords in URLs, Bearer headers, the value of a name such as API_KEY. sessionfs(5), "Secrets", has the forms and
 * the rules. Nothing is decoded, and no place crosses the end of a line. */
#ifndef SESSIONFS_SECRET_H
#define SESSIONFS_SECRET_H

#include "sessionfs/base/limits.h"
#include "sessionfs/base/span.h"
#include "sessionfs/base/vec.h"

#include <stdint.h>

/* A longer line is not looked through. */
#define SECRET_LINE ((size_t)LIMIT(64 << 20, 8 << 10))

/* Where a key stands: n bytes from `at` on. */
struct secret {
	size_t at, n;
	unsigned form;
};
struct secrets {
	struct secret *v;
	size_t n, cap;
};
void secrets_release(struct secrets *s);

/* Appends the places in text, which is whole lines, from left to right; none overlap. 0 or -ENOMEM. */
int secrets_find(struct span text, struct secrets *out);
/* What kind of key it is, as --secrets says it. */
const char *secret_kind(const struct secret *s);
/* How many of its first bytes --secrets shows: those of a prefix that is known, and of a secret none. */
size_t secret_prefix_size(const struct secret *s);
/* The first part of the key, from its byte `from` on, that is hidden: all of it but for line ends. Empty: none is left.
 */
struct span secret_hidden_part(const struct secret *s, const char *text, size_t from);

#endif
