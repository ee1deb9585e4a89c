/* SPDX-License-Identifier: MIT */
/* The record: the files, and the calls that changed them. */
#ifndef POWER_DISK_IMPL_H
#define POWER_DISK_IMPL_H

#include "disk.h"

#include "sessionfs/base/vec.h"

#include <sys/stat.h>

#define NAME_SIZE 128
#define NO_FILE ((size_t)-1)

enum call_kind {
	CALL_WRITE,
	CALL_TRUNCATE,
	CALL_TIME,
	CALL_MODE,
	CALL_SYNC,
	CALL_NAME,
	CALL_RENAME,
	CALL_UNNAME,
	CALL_SYNC_DIR,
	CALL_PROMISE,
	CALL_PROMISE_ALL
};

struct call {
	enum call_kind kind;
	size_t file;      /* that is changed or gets a name */
	size_t dir;       /* of the name, or that is synced */
	uint64_t at;      /* of a write; the size after a truncation; a mode */
	struct buf bytes; /* of a write, or promised */
	struct timespec time;
	char name[NAME_SIZE], to[NAME_SIZE];
};

/* A file, link or directory. */
struct file {
	dev_t dev;
	ino_t ino;
	mode_t mode; /* at first */
	struct timespec time;
	struct buf start;
	size_t dir;           /* where it is; NO_FILE for the recorded directory, the first of the files */
	char name[NAME_SIZE]; /* at first */
	bool is_new;          /* it was created later */
	bool is_gone;         /* another file can have its number */
};

struct disk {
	int fd;
	enum disk_trouble trouble;
	size_t kill_in; /* calls; 0: never */
	bool is_killed;
	VEC(struct call) calls;
	VEC(struct file) files;
};

/* Ends the test if not ok. */
void disk_check(bool ok, const char *what);

#endif
