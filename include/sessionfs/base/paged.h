/* paged: bytes too long to be kept in memory, at an address of their own.
 *
 * They look like memory, but only some 4 MiB of them are resident at any time. Touching an address brings its page in
 * from a file and evicts one that was touched long ago. A fault says which page is wanted (SIGSEGV, as in programs that
 * page by themselves); a fault at any other address is handled as if there were no pages. So code that reads a line or
 * writes a text need not know how long it is. Unlike a mapped file, a file that shrinks meanwhile gives no SIGBUS, and
 * the resident size is bounded.
 *
 * Never pass such an address to a system call: the kernel cannot ask us for a page, and answers EFAULT.
 * Any number of threads may read at once; a thread that appends must be alone. A thread that blocks SIGSEGV must not
 * touch these bytes. */
#ifndef SESSIONFS_PAGED_H
#define SESSIONFS_PAGED_H

#include <stddef.h>
#include <stdint.h>

struct paged;

/* How much of one is resident at most. */
#define PAGED_MEMORY ((size_t)4 << 20)

/* n bytes of a file from `off` on, for reading; the descriptor is duplicated. Where the file has no bytes (any more),
 * these are zeros. 0 or a negative errno. */
int paged_map(int fd, uint64_t off, size_t n, struct paged **ret);

/* An empty one that can be written, for up to `size` bytes. What is not resident is in a file without a name, in
 * $TMPDIR or /var/tmp. 0 or a negative errno. */
int paged_make(size_t size, struct paged **ret);
/* Reserves disk space for the first n bytes. Call it before writing further than before. 0 or a negative errno. */
int paged_grow(struct paged *p, size_t n);

char *paged_bytes(const struct paged *p);
void paged_close(struct paged *p);

#endif
