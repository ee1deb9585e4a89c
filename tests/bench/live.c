/* SPDX-License-Identifier: MIT */
/* live: both ends of a session that grows, for live.sh.
 *
 *	live append FILE PARENT COUNT MICROSECONDS
 *	live poll FILE COUNT SECONDS
 *	live events SESSION COUNT SECONDS
 *
 * append adds messages as append.mjs does, one write(2) each, MICROSECONDS apart. Number N has "live-00000N;" in its
 * text, and the line "N BEFORE AFTER" has the beginning and end of its write. poll checks every millisecond whether
 * FILE has grown; events waits for a line of sessionfs --events on standard input, then reads the end of session.jsonl
 * in the directory SESSION and the text.md of every new entry. Both print "ready", then "N TIME" when they have seen
 * number N. SIGALRM ends them if they have not seen the last one after SECONDS. All times are nanoseconds of
 * CLOCK_MONOTONIC, as in process.hrtime. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MARK "live-"
#define MARK_DIGITS 6
#define MARK_SIZE (sizeof(MARK) - 1 + MARK_DIGITS + 1)

struct tail {
	int fd;
	off_t at;
	size_t n;
	char kept[1 << 20]; /* bytes read but not parsed */
};

static void die(const char *what)
{
	fprintf(stderr, "live: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_until(int64_t when)
{
	struct timespec t = {when / 1000000000, when % 1000000000};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static int must_open(const char *path, int flags)
{
	int fd = open(path, flags);
	if (fd < 0)
		die(path);
	return fd;
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void saw(long number)
{
	printf("%ld %" PRId64 "\n", number, now());
}

/* Returns the number of the mark at the beginning of a text, or 0. */
static long mark_number(const char *s, size_t n)
{
	if (n < MARK_SIZE || s[MARK_SIZE - 1] != ';')
		return 0;
	char digits[MARK_DIGITS + 1] = {0}, *end;
	memcpy(digits, s + sizeof(MARK) - 1, MARK_DIGITS);
	long number = strtol(digits, &end, 10);
	return *end ? 0 : number;
}

static void tail_open(struct tail *t, const char *path)
{
	struct stat st;
	t->fd = must_open(path, O_RDONLY);
	if (fstat(t->fd, &st) < 0)
		die(path);
	t->at = st.st_size;
	t->n = 0;
}

/* Reads more; returns false at the end of the file. */
static bool tail_read(struct tail *t)
{
	ssize_t n = pread(t->fd, t->kept + t->n, sizeof(t->kept) - t->n, t->at);
	if (n < 0)
		die("read");
	t->at += n;
	t->n += (size_t)n;
	return n > 0;
}

static void tail_drop(struct tail *t, size_t n)
{
	t->n -= n;
	memmove(t->kept, t->kept + n, t->n);
}

/* --- append --- */

static void append(const char *path, const char *parent, long count, int64_t apart)
{
	int fd = must_open(path, O_WRONLY | O_APPEND);
	int64_t start = now();
	char line[512], ids[2][16];
	for (long i = 1; i <= count; i++) {
		sleep_until(start + i * apart * 1000);
		char *id = ids[i % 2];
		snprintf(id, sizeof(ids[0]), "live%04lx", i);
		int n =
		    snprintf(line, sizeof(line),
		             "{\"type\":\"message\",\"id\":\"%s\",\"parentId\":\"%s\","
		             "\"timestamp\":\"2026-11-01T00:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":["
		             "{\"type\":\"text\",\"text\":\"" MARK "%06ld; What does the forecast say about tomorrow, "
		             "and the day after?\"}],\"timestamp\":1793491200000}}\n",
		             id, parent, i);
		int64_t before = now();
		if (write(fd, line, (size_t)n) != n)
			die(path);
		printf("%ld %" PRId64 " %" PRId64 "\n", i, before, now());
		parent = id;
	}
	close(fd);
}

/* --- poll --- */

static void poll_file(const char *path, long count)
{
	static struct tail t;
	tail_open(&t, path);
	ready();
	for (long last = 0; last < count;) {
		if (!tail_read(&t)) {
			sleep_until(now() + 1000000);
			continue;
		}
		size_t i = 0;
		for (; i + MARK_SIZE <= t.n; i++) {
			if (memcmp(t.kept + i, MARK, sizeof(MARK) - 1) != 0)
				continue;
			long number = mark_number(t.kept + i, t.n - i);
			if (number > last)
				saw(last = number);
		}
		tail_drop(&t, i);
	}
}

/* --- events --- */

/* Reads the text of the entry in a line; returns true if it has the same mark. */
static bool has_text(const char *session, const char *line, const char *mark)
{
	char path[4096], text[4096];
	const char *id = strstr(line, "\"id\":\"");
	if (!id)
		return false;
	id += 6;
	snprintf(path, sizeof(path), "%s/entries/%.*s/text.md", session, (int)strcspn(id, "\""), id);
	int fd = must_open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		die(path);
	close(fd);
	text[n] = '\0';
	return strstr(text, mark) != NULL;
}

/* Parses the complete lines; returns the number of the newest one with a mark. */
static long take_lines(struct tail *t, const char *session, long last)
{
	for (char *end; (end = memchr(t->kept, '\n', t->n));) {
		*end = '\0';
		const char *found = strstr(t->kept, MARK);
		long number = found ? mark_number(found, (size_t)(end - found)) : 0;
		if (number) {
			char mark[MARK_SIZE + 1] = {0};
			memcpy(mark, found, MARK_SIZE);
			if (!has_text(session, t->kept, mark)) {
				fprintf(stderr, "live: number %ld is not in its text.md\n", number);
				exit(1);
			}
			saw(last = number);
		}
		tail_drop(t, (size_t)(end - t->kept) + 1);
	}
	return last;
}

static void wait_for_events(const char *session, long count)
{
	static struct tail t;
	char path[4096], event[65536];
	snprintf(path, sizeof(path), "%s/session.jsonl", session);
	tail_open(&t, path);
	ready();
	for (long last = 0; last < count;) {
		if (read(STDIN_FILENO, event, sizeof(event)) <= 0)
			die("events");
		while (tail_read(&t))
			last = take_lines(&t, session, last);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "append") == 0 && argc == 6) {
		append(argv[2], argv[3], atol(argv[4]), atol(argv[5]));
	} else if (strcmp(what, "poll") == 0 && argc == 5) {
		alarm((unsigned)atol(argv[4]));
		poll_file(argv[2], atol(argv[3]));
	} else if (strcmp(what, "events") == 0 && argc == 5) {
		alarm((unsigned)atol(argv[4]));
		wait_for_events(argv[2], atol(argv[3]));
	} else {
		fputs("usage: live append|poll|events ..., see live.c\n", stderr);
		return 2;
	}
	return 0;
}
