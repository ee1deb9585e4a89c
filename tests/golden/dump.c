/* SPDX-License-Identifier: MIT */
/* Prints all contents of a tree, as `tests/lib/tree.py dump` does: without a mount, in one process, and on systems with
 * only a compiler. With --names, prints the table of names for other tests: number, directory, name, type, flags and
 * description, separated by tabs.
 *
 * usage: dump SOURCE
 *        dump --names */
#include "../../src/tree/tree_impl.h"
#include "sessionfs/base/utf8.h"
#include "sessionfs/catalog/catalog.h"
#include "sessionfs/cmd/cli.h"
#include "sessionfs/tree/cache.h"

#include <err.h>
#include <sha2.h>
#include <time.h>

struct names {
	char *name[4096]; /* owned */
	size_t n;
};

static void *must(void *p)
{
	if (!p)
		err(1, "memory");
	return p;
}

static int note_name(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t type,
                     const struct tree_attr *attr)
{
	struct names *all = arg;
	(void)cookie, (void)node, (void)ino, (void)type, (void)attr;
	if (all->n == sizeof all->name / sizeof *all->name)
		errx(1, "more than %zu names in a directory", all->n);
	all->name[all->n++] = must(strndup(name.p, name.n));
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* On one line; bytes that are not UTF-8 as \xNN. */
static void put_path(const char *p, size_t n)
{
	for (int step; n > 0; p += step, n -= (size_t)step) {
		bool is_bad = (step = utf8_next(p, n)) < 0;
		if (is_bad)
			step = -step;
		for (int i = 0; i < step; i++)
			if (is_bad)
				printf("\\x%02x", (unsigned char)p[i]);
			else if (p[i] == '\n')
				fputs("\\n", stdout);
			else
				putchar(p[i]);
	}
}

static void put_time(const struct timespec *t)
{
	char text[32], fraction[16] = "";
	struct tm tm;
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", must(gmtime_r(&t->tv_sec, &tm)));
	size_t n = t->tv_nsec ? (size_t)snprintf(fraction, sizeof fraction, ".%09ld", t->tv_nsec) : 0;
	while (n > 0 && fraction[n - 1] == '0')
		fraction[--n] = '\0';
	printf("%s%s]\n", text, fraction);
}

static void put_mode(mode_t mode)
{
	printf(" [%c", S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : '-');
	for (int i = 0; i < 9; i++)
		putchar(mode & (0400u >> i) ? "rwxrwxrwx"[i] : '-');
	putchar(' ');
}

static bool is_utf8(const char *p, size_t n)
{
	for (int step = 0; n > 0; p += step, n -= (size_t)step)
		if ((step = utf8_next(p, n)) < 0)
			return false;
	return true;
}

static void put_text(const char *p, size_t n)
{
	char sum[SHA256_DIGEST_STRING_LENGTH];
	if (!is_utf8(p, n)) {
		printf("\tsha256 %s\n", SHA256Data((const uint8_t *)p, n, sum));
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || p[i - 1] == '\n')
			putchar('\t');
		if (p[i] == '\r')
			fputs("\\r", stdout);
		else
			putchar(p[i]);
	}
	if (n == 0 || p[n - 1] != '\n')
		fputs(n == 0 ? "\t\\c\n" : "\\c\n", stdout);
}

static void dump_file(struct tree *tree, const char *path, const struct tree_attr *a)
{
	char *bytes = NULL;
	size_t n = 0;
	FILE *out = must(open_memstream(&bytes, &n));
	int rc = cli_cat(tree, path, out, out);
	if (rc < 0 || fclose(out) != 0)
		errx(1, "%s: %s", path, strerror(-rc));
	if (n != a->size)
		errx(1, "%s: %zu bytes by its size, %zu by reading", path, (size_t)a->size, n);
	put_text(bytes, n);
	free(bytes);
}

static void dump_dir(struct tree *tree, node_t dir, const char *path);

static void dump_name(struct tree *tree, node_t dir, const char *name, const char *path)
{
	struct tree_attr a;
	struct buf target CLEANUP_BUF = BUF_INIT;
	int rc = tree_lookup(tree, dir, span_of(name), &a);
	if (rc == 0 && tree_is_table(a.node))
		rc = tree_getattr(tree, a.node, &a);
	if (rc == 0 && S_ISLNK(a.mode))
		rc = tree_readlink(tree, a.node, &target);
	if (rc < 0)
		errx(1, "%s: %s", path, strerror(-rc));
	put_path(path, strlen(path));
	fputs(S_ISDIR(a.mode) ? "/" : S_ISLNK(a.mode) ? " -> " : "", stdout);
	put_path(target.p, target.n);
	put_mode(a.mode);
	if (!S_ISDIR(a.mode))
		printf("%ju ", (uintmax_t)a.size);
	put_time(&a.mtime);
	if (S_ISDIR(a.mode))
		dump_dir(tree, a.node, path);
	else if (S_ISREG(a.mode))
		dump_file(tree, path, &a);
}

static void dump_dir(struct tree *tree, node_t dir, const char *path)
{
	struct names all = {.n = 0};
	int rc = tree_list(tree, dir, 0, TREE_NAMES, note_name, &all);
	if (rc < 0)
		errx(1, "%s: %s", path, strerror(-rc));
	qsort(all.name, all.n, sizeof *all.name, by_bytes);
	for (size_t i = 0; i < all.n; i++) {
		char *full = NULL;
		if (asprintf(&full, "%s%s%s", path, *path ? "/" : "", all.name[i]) < 0)
			err(1, "memory");
		dump_name(tree, dir, all.name[i], full);
		free(full);
		free(all.name[i]);
	}
}

static const char *name_of(const struct kind *k)
{
	return k->name ? k->name : k->names.doc_name;
}

static void put_dir(const struct kind *dir)
{
	const struct kind *up = dir ? kind_above(dir) : NULL;
	if (!up)
		return;
	put_dir(up);
	printf("%s/", name_of(dir));
}

static void put_names(void)
{
	for (const struct kind *k = NULL; (k = kind_next(k));) {
		printf("%u\t", kind_id(k));
		put_dir(kind_above(k));
		printf("\t%s\t%s\t%s%s%s\t%s\n", name_of(k),
		       S_ISDIR(k->make.type)   ? "directory"
		       : S_ISLNK(k->make.type) ? "link"
		                               : "file",
		       k->name ? "" : "family ", k->write ? "writable " : "", kind_is_removable(k) ? "removable " : "",
		       k->doc);
	}
}

int main(int argc, char **argv)
{
	struct tree *tree = NULL;
	struct budget budget = BUDGET_INIT(64 << 20);
	struct catalog *catalog = NULL;
	struct cache *cache = NULL;
	struct tree_attr root;
	if (argc != 2)
		errx(2, "usage: dump SOURCE | --names");
	if (strcmp(argv[1], "--names") == 0) {
		put_names();
		return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
	}
	int rc = catalog_open(argv[1], &(struct catalog_options){.budget = &budget}, &catalog);
	if (rc == 0)
		rc = cache_open(&budget, &cache);
	if (rc == 0)
		rc = tree_open(&(struct tree_options){.catalog = catalog, .cache = cache}, &tree);
	if (rc == 0)
		rc = tree_resolve(tree, "/", true, &root);
	if (rc < 0)
		errx(1, "%s: %s", argv[1], strerror(-rc));
	dump_dir(tree, root.node, "");
	tree_close(tree);
	cache_close(cache);
	catalog_close(catalog);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
