/* SPDX-License-Identifier: MIT */
/* fixture: the filesystem over the samples, for tests that send it requests. */
#ifndef WIRE_FIXTURE_H
#define WIRE_FIXTURE_H

#include "samples.h"
#include "wire.h"

#include <stdlib.h>

#define ALL_FLAGS                                                                                                      \
	(FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC | FUSE_BIG_WRITES | FUSE_AUTO_INVAL_DATA | FUSE_DO_READDIRPLUS |        \
	 FUSE_READDIRPLUS_AUTO | FUSE_WRITEBACK_CACHE | FUSE_NO_OPEN_SUPPORT | FUSE_PARALLEL_DIROPS |                  \
	 FUSE_CACHE_SYMLINKS | FUSE_NO_OPENDIR_SUPPORT | FUSE_MAX_PAGES)

/* A directory of each kind. */
static const char *const sample_dirs[] = {"",
                                          "projects",
                                          "projects/home-w-app",
                                          "sessions",
                                          SESSION,
                                          SESSION "/entries",
                                          SESSION "/entries/aaaa0002",
                                          SESSION "/entries/aaaa0002/tool-calls",
                                          SESSION "/entries/aaaa0003/images",
                                          SESSION "/labels",
                                          SESSION "/branches",
                                          SESSION "/branches/aaaa0006"};

static inline struct wire *prepare(void)
{
	struct wire *w = malloc(sizeof *w);
	wire_source(w);
	wire_file(w, FILE_ONE, one);
	wire_file(w, FILE_TWO, fork_of_one);
	wire_file(w, "flat.jsonl", LINE({"type":"session","id":"flat"}));
	wire_age(w, FILE_ONE, 1000);
	wire_age(w, FILE_TWO, 1000);
	wire_age(w, "flat.jsonl", 1000);
	buf_adds(&w->kept, one);
	return w;
}

static inline int setup(void **state)
{
	struct wire *w = prepare();
	wire_open(w, false, ALL_FLAGS);
	*state = w;
	return 0;
}

static inline int setup_read_only(void **state)
{
	struct wire *w = prepare();
	w->threads = 2; /* the kernel need not open files */
	wire_open(w, true, ALL_FLAGS);
	*state = w;
	return 0;
}

static inline int setup_unwatched(void **state)
{
	struct wire *w = prepare();
	w->unwatched = true;
	wire_open(w, true, ALL_FLAGS);
	*state = w;
	return 0;
}

static inline int teardown(void **state)
{
	struct wire *w = *state;
	wire_stop(w);
	wire_close(w);
	free(w);
	return 0;
}

/* The argument of each case. */
#define FIXTURE struct wire *w
#define WIRED(name) STATE_CASE(name, setup, teardown)
#define UNWATCHED(name) STATE_CASE(name, setup_unwatched, teardown)
#define WIRED_READ_ONLY(name) STATE_CASE(name, setup_read_only, teardown)

#endif
