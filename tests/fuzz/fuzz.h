/* SPDX-License-Identifier: MIT */
/* fuzz: what the targets share.
 *
 * A target is one function that takes any bytes and asserts what must hold for all of them. libFuzzer calls it
 * (`make fuzz`), or replay.c with the inputs that are kept in corpus/ (`make check`). An assertion that fails aborts.
 *
 * Targets with several steps part their input at the byte 0x1e, which no JSON text holds: a sample of a session file
 * is an input of one step, and what was found can be read and changed with an editor. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessionfs/base/buf.h"

#include "files.h"
#include "texts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_STEP '\x1e'

/* What is left of the input. */
struct feed {
	const char *p;
	size_t n;
};

static inline struct feed feed_of(const uint8_t *data, size_t size)
{
	return (struct feed){(const char *)data, size};
}

/* The next byte, 0 at the end. */
unsigned feed_byte(struct feed *f);
/* The next bytes, at most n. */
struct span feed_bytes(struct feed *f, size_t n);
/* What is before the next FUZZ_STEP, or all. */
struct span feed_step(struct feed *f);

/* A directory of this process in memory, made empty; the same one each time, removed at exit. */
const char *fuzz_dir(void);
/* Writes a file, the directory of which is there, and makes it as old as `age` seconds. */
void fuzz_file(const char *path, struct span bytes, int flags, long age);
#endif
