/* SPDX-License-Identifier: MIT */
/* repair: from the bytes of a damaged session file, a session that pi opens. The file is only read.
 *
 * pi opens a file whose first entry is a header with an id, and skips each line that is not JSON (its
 * loadEntriesFromFile). So a lost header hides the whole file, and each lost line cuts off what came before it. The
 * repair finds whole entries in damaged lines, puts a header first and parents before their children, drops copies,
 * and gives another id to an entry whose id a later one repeats. An entry whose parent is not in the file continues
 * from the entry before it. */
#ifndef SESSIONFS_REPAIR_H
#define SESSIONFS_REPAIR_H

#include "sessionfs/base/span.h"

#include <stdbool.h>
#include <stdint.h>

struct repair;

/* Reads the first `size` bytes of a file. `name` is its name, which can give a lost header its id and time. Memory:
 * some 100 bytes an entry, and the longest line. Returns 0; -ENODATA if no entry is readable; or another negative errno
 * (-EINTR: cancel_check). The caller owns fd and *ret. */
int repair_open(int fd, uint64_t size, const char *name, struct repair **ret);
void repair_close(struct repair *r);

/* Returns whether the file needs no repair. */
bool repair_is_sound(const struct repair *r);
/* Calls fn for each change, in the order of lines: the line of the file, and what was done with it. The list is
 * complete after repair_write, except that one of very many ends in the number of the others. */
void repair_each_change(const struct repair *r, void (*fn)(void *arg, uint32_t line, const char *what), void *arg);
/* Passes the repaired session to put(), piece by piece; a sound file unchanged. Stops at and returns the first error.
 * Returns 0 or a negative errno; -ESTALE if the file was changed meanwhile. */
int repair_write(struct repair *r, int (*put)(void *arg, struct span bytes), void *arg);

#endif
