/* paged: bytes that are longer than memory should be spent on, at an address of their own.
 *
 * They look like memory, and at any time some 4 MiB of them are. What is touched comes in from a file, and what was
 * touched long before goes: a fault tells what is wanted (SIGSEGV, as for programs that page by themselves; only within
 * the addresses of what is open here, any other fault is handled as without us). So whatever reads a line or writes a
 * text need not know how long it is. Unlike a mapping of the file, a file that shrinks meanwhile is no SIGBUS, and what
 * is resident is bounded.
 *
 * No system call may be given such an address: the kernel does not ask us, it says EFAULT.
 * Any number of threads may read at once; who appends is alone. A thread in which the signal is blocked must not touch
 * them. */
#ifndef SESSIONFS_PAGED_H
#define SESSIONFS_PAGED_H

#include <stddef.h>
#include <stdint.h>

struct paged;

/* The resident part of one at most. */
#define PAGED_MEMORY ((size_t)4 << 20)

/* n bytes of a file from `off` on, for reading; the descriptor is duplicated. What the file does not have (any more) is
 * zeros. 0 or a negative errno. */
int paged_map(int fd, uint64_t off, size_t n, struct paged **ret);

/* An empty one that can be written, for up to `size` bytes. What is not resident is in a file without a name, in
 * $TMPDIR or /var/tmp. 0 or a negative errno. */
int paged_make(size_t size, struct paged **ret);
/* Before more than before is written: has the disk keep room for the first n bytes. 0 or a negative errno. */
int paged_grow(struct paged *p, size_t n);

char *paged_bytes(const struct paged *p);
void paged_close(struct paged *p);

#endif
