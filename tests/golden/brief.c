/* SPDX-License-Identifier: MIT */
/* Makes a tree that a person can review from what dump.c prints: one line for each directory, with its files and links
 * separated by tabs. A file is its name, its size and a hash of its text; or name=text, if the text is one short line.
 * [MODE TIME] holds for the items after it. A directory without files and links has no line: it is the last item of the
 * one above it. Files that match a PATTERN follow with their whole texts, each text once.
 * Uses nothing of the code under test.
 *
 * usage: brief [PATTERN...] <DUMP */
#include <ctype.h>
#include <err.h>
#include <fnmatch.h>
#include <sha2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_TEXT 48 /* bytes of a text that is shown next to its name */
#define HASH_DIGITS 10
#define DEPTH_MAX 16

/* All pointers are owned. */
struct text {
	char *bytes;
	size_t n;
};

struct dir {
	FILE *out, *whole; /* write to the two texts when they are flushed */
	struct text line, texts;
	char *path, *own, *attr; /* its attributes, and the last item's, if it has any */
	size_t above;            /* the index of the directory that it is in */
};

/* A file or link that is not yet written. */
struct item {
	char *path, *name, *attr, *size;
	struct text text;
};

struct brief {
	char **pattern; /* ends with NULL */
	struct dir dirs[4096];
	size_t n, open[DEPTH_MAX], depth; /* the open directories: the last item belongs to the last of them */
	struct item item;
	struct text shown[4096]; /* long texts that were printed */
	size_t n_shown;
};

static void *must(void *p)
{
	if (!p)
		err(1, "memory");
	return p;
}

static struct dir *brief_dir(struct brief *b)
{
	return &b->dirs[b->open[b->depth - 1]];
}

/* Takes ownership of the path. */
static void brief_open_dir(struct brief *b, char *path, const char *attr)
{
	if (b->n == sizeof b->dirs / sizeof *b->dirs || b->depth == DEPTH_MAX)
		errx(1, "%s: too many directories", path);
	struct dir *d = &b->dirs[b->n];
	d->out = must(open_memstream(&d->line.bytes, &d->line.n));
	d->whole = must(open_memstream(&d->texts.bytes, &d->texts.n));
	d->path = path;
	d->own = must(strdup(attr));
	d->above = b->depth ? b->open[b->depth - 1] : 0;
	fprintf(d->out, "%s%s", *path ? path : "/", attr);
	b->open[b->depth++] = b->n++;
}

static bool brief_is_whole(const struct brief *b, const char *path)
{
	for (char **p = b->pattern; *p; p++)
		if (fnmatch(*p, path, 0) == 0)
			return true;
	return false;
}

/* Returns false if the text was printed before. */
static bool brief_note_text(struct brief *b, const struct text *t)
{
	for (size_t i = 0; i < b->n_shown; i++)
		if (b->shown[i].n == t->n && memcmp(b->shown[i].bytes, t->bytes, t->n) == 0)
			return false;
	if (b->n_shown == sizeof b->shown / sizeof *b->shown)
		errx(1, "more than %zu whole texts", b->n_shown);
	b->shown[b->n_shown++] = (struct text){memcpy(must(malloc(t->n)), t->bytes, t->n), t->n};
	return true;
}

static bool text_is_short(const struct text *t)
{
	if (t->n < 2 || t->n > SHORT_TEXT || t->bytes[t->n - 1] != '\n')
		return false;
	for (size_t i = 1; i < t->n - 1; i++)
		if (iscntrl((unsigned char)t->bytes[i]))
			return false;
	return true;
}

static void dir_begin_item(struct dir *d, const char *name, const char *attr)
{
	if (!d->attr || strcmp(d->attr, attr) != 0) {
		fprintf(d->out, "\t%s", attr);
		free(d->attr);
		d->attr = must(strdup(attr));
	}
	fprintf(d->out, "\t%s", name);
}

/* Writes the item to its directory. Does nothing without one. */
static void brief_end_item(struct brief *b)
{
	struct item *item = &b->item;
	struct dir *d = brief_dir(b);
	char sum[SHA256_DIGEST_STRING_LENGTH];
	if (!item->path)
		return;
	dir_begin_item(d, item->name, item->attr);
	if (text_is_short(&item->text)) {
		fprintf(d->out, "=%.*s", (int)item->text.n - 2, item->text.bytes + 1);
	} else {
		fprintf(d->out, " %s", item->size);
		if (item->text.n > 0)
			fprintf(d->out, " %.*s", HASH_DIGITS,
			        SHA256Data((const uint8_t *)item->text.bytes, item->text.n, sum));
		if (item->text.n > 0 && brief_is_whole(b, item->path) && brief_note_text(b, &item->text)) {
			fprintf(d->whole, "%s:\n", item->name);
			fwrite(item->text.bytes, 1, item->text.n, d->whole);
		}
	}
	free(item->path);
	free(item->name);
	free(item->attr);
	free(item->size);
	free(item->text.bytes);
	*item = (struct item){NULL};
}

/* A line of dump.c: PATH [MODE SIZE TIME], PATH -> TARGET [MODE SIZE TIME] or PATH/ [MODE TIME]. */
static void brief_add_name(struct brief *b, char *line)
{
	char mode[16], size[24], time[48], *attr = NULL, *end = NULL;
	for (char *p = line; (p = strstr(p, " [")); p++)
		end = p;
	if (!end)
		errx(1, "no attributes: %s", line);
	while (strncmp(line, brief_dir(b)->path, strlen(brief_dir(b)->path)) != 0)
		b->depth--;
	if (end[2] == 'd') {
		brief_open_dir(b, must(strndup(line, (size_t)(end - line))), end);
		return;
	}
	if (sscanf(end, " [%15s %23s %47[^]]]", mode, size, time) != 3)
		errx(1, "%s: attributes: %s", line, end);
	if (asprintf(&attr, "[%s %s]", mode, time) < 0)
		err(1, "memory");
	*end = '\0';
	b->item = (struct item){
	    .path = must(strdup(line)),
	    .name = must(strdup(line + strlen(brief_dir(b)->path))),
	    .attr = attr,
	    .size = must(strdup(size)),
	};
}

static void brief_add_text(struct brief *b, const char *line, size_t n)
{
	struct text *t = &b->item.text;
	t->bytes = must(realloc(t->bytes, t->n + n));
	memcpy(t->bytes + t->n, line, n);
	t->n += n;
}

static void brief_print(struct brief *b)
{
	for (struct dir *d = b->dirs + b->n - 1; d > b->dirs; d--) {
		struct dir *above = b->dirs + d->above;
		if (!d->attr)
			dir_begin_item(above, d->path + strlen(above->path), d->own + 1);
	}
	for (struct dir *d = b->dirs; d < b->dirs + b->n; d++) {
		if (fclose(d->out) != 0 || fclose(d->whole) != 0)
			err(1, "memory");
		if (d->attr) {
			fwrite(d->line.bytes, 1, d->line.n, stdout);
			putchar('\n');
		}
		fwrite(d->texts.bytes, 1, d->texts.n, stdout);
		free(d->line.bytes);
		free(d->texts.bytes);
		free(d->path);
		free(d->own);
		free(d->attr);
	}
	while (b->n_shown > 0)
		free(b->shown[--b->n_shown].bytes);
}

int main(int argc, char **argv)
{
	static struct brief b;
	char *line = NULL;
	size_t size = 0;
	(void)argc;
	b.pattern = argv + 1;
	brief_open_dir(&b, must(strdup("")), "");
	for (ssize_t n; (n = getline(&line, &size, stdin)) > 0;)
		if (*line == '\t') {
			brief_add_text(&b, line, (size_t)n);
		} else {
			line[n - 1] = '\0';
			brief_end_item(&b);
			brief_add_name(&b, line);
		}
	brief_end_item(&b);
	free(line);
	brief_print(&b);
	return !ferror(stdin) && fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
