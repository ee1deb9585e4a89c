/* SPDX-License-Identifier: MIT */
/* fuzz: shared by the targets.
 *
 * A target is one function that accepts any bytes and asserts what must hold for all of them. libFuzzer calls it (`make
 * fuzz`), or replay.c with the inputs in corpus/ (`make check`). A failed assertion aborts.
 *
 * Targets with several steps split their input at the byte 0x1e, which no JSON text contains: a sample session file is
 * an input of one step, and an editor can show and change an input. */
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

/* The rest of the input. */
struct feed {
	const char *p;
	size_t n;
};

static inline struct feed feed_of(const uint8_t *data, size_t size)
{
	return (struct feed){(const char *)data, size};
}

/* Returns the next byte, 0 at the end. */
unsigned feed_byte(struct feed *f);
/* Returns the next bytes, at most n. */
struct span feed_bytes(struct feed *f, size_t n);
/* Returns the bytes before the next FUZZ_STEP, or all. */
struct span feed_step(struct feed *f);

/* Returns this process's directory in memory, emptied; always the same path, removed at exit. */
const char *fuzz_dir(void);
/* Writes a file into an existing directory and makes it `age` seconds old. */
void fuzz_file(const char *path, struct span bytes, int flags, long age);
#endif
