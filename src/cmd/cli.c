/* SPDX-License-Identifier: MIT */
/* The tree without a mount. */
#include "sessionfs/cmd/cli.h"

#include "sessionfs/base/log.h"
#include "sessionfs/base/progress.h"
#include "sessionfs/base/sys.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/json/json.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <time.h>

/* After the NUL of a name is its type: `/` a directory, `@` a link, or NUL. */
static int cli_collect_name(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t mode,
                            const struct tree_attr *attr)
{
	struct cli_names *all = arg;
	(void)cookie, (void)node, (void)ino, (void)attr;
	if (!vec_reserve(all, 1) || !(all->v[all->n] = calloc(1, name.n + 2)))
		return all->err = -ENOMEM;
	memcpy(all->v[all->n], name.p, name.n);
	all->v[all->n++][name.n + 1] = S_ISDIR(mode) ? '/' : S_ISLNK(mode) ? '@' : '\0';
	return 0;
}

void cli_names_release(struct cli_names *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->v[i]);
	vec_release(all);
}

static int cli_name_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int cli_names_load(struct tree *t, node_t dir, struct cli_names *ret)
{
	int rc = tree_list(t, dir, 0, TREE_NAMES, cli_collect_name, ret);
	if (ret->n > 0)
		qsort(ret->v, ret->n, sizeof *ret->v, cli_name_cmp);
	return rc < 0 ? rc : ret->err;
}

bool cli_error_is_named(node_t dir, int rc)
{
	return error_is_about_file(rc) && !tree_is_of_session(dir);
}

bool cli_names_contain(const struct cli_names *all, const char *name)
{
	return all->n > 0 && bsearch(&name, all->v, all->n, sizeof *all->v, cli_name_cmp);
}

int cli_attr(struct tree *t, node_t dir, struct span name, struct tree_attr *ret)
{
	int rc = tree_lookup(t, dir, name, ret);
	return rc == 0 && tree_is_table(ret->node) ? tree_getattr(t, ret->node, ret) : rc;
}

int cli_put(FILE *out, struct span s)
{
	return s.n == 0 || fwrite(s.p, s.n, 1, out) == 1 ? 0 : -EIO;
}

int cli_write(int fd, struct span s)
{
	while (s.n > 0) {
		ssize_t n = sys_write(fd, s.p, s.n);
		if (n < 0 && errno != EINTR)
			return -errno;
		s.p += n > 0 ? n : 0;
		s.n -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int cat_file(struct tree *t, const char *path, FILE *out, FILE *tree)
{
	struct buf chunk CLEANUP_BUF = BUF_INIT;
	struct tree_attr a;
	int rc = tree_resolve(t, path, true, &a);
	if (rc < 0)
		return rc;
	if (S_ISDIR(a.mode))
		return -EISDIR;
	const char *base = strrchr(path, '/');
	if (strcmp(base ? base + 1 : path, "tree.txt") == 0)
		out = tree;
	uint64_t off = 0;
	do {
		buf_reset(&chunk);
		rc = tree_read(t, a.node, off, cli_read_size(a.node), &chunk);
		progress_clear();
		if (rc >= 0 && cli_put(out, buf_span(&chunk)) < 0)
			return -EIO;
		off += chunk.n;
	} while (rc >= 0 && chunk.n == cli_read_size(a.node));
	return rc;
}

int cli_cat(struct tree *t, const char *path, FILE *out, FILE *tree)
{
	struct progress shown;
	progress_init(&shown, stderr, PROGRESS_DELAY_MS, false);
	const struct cancel *outer = cancel_set(&(struct cancel){.progress = &shown});
	int rc = cat_file(t, path, out, tree);
	progress_clear();
	cancel_set(outer);
	return rc;
}

static void ls_put_owner(FILE *out, const char *name, unsigned id)
{
	if (name)
		fprintf(out, " %s", name);
	else
		fprintf(out, " %u", id);
}

static int ls_long(struct span name, const struct tree_attr *a, struct span target, FILE *out)
{
	char mode[] = "-rwxrwxrwx", date[32] = "?";
	struct tm tm;
	const struct passwd *pw = getpwuid(a->uid);
	const struct group *gr = getgrgid(a->gid);
	mode[0] = S_ISDIR(a->mode) ? 'd' : S_ISLNK(a->mode) ? 'l' : '-';
	for (int i = 0; i < 9; i++)
		if (!(a->mode & (0400u >> i)))
			mode[i + 1] = '-';
	if (localtime_r(&a->mtime.tv_sec, &tm))
		strftime(date, sizeof date, "%Y-%m-%d %H:%M", &tm);
	fprintf(out, "%s 1", mode);
	ls_put_owner(out, pw ? pw->pw_name : NULL, a->uid);
	ls_put_owner(out, gr ? gr->gr_name : NULL, a->gid);
	fprintf(out, " %ju %s ", (uintmax_t)a->size, date);
	int rc = cli_put(out, name);
	if (rc == 0 && S_ISLNK(a->mode)) {
		fputs(" -> ", out);
		rc = cli_put(out, target);
	}
	fputc('\n', out);
	return ferror(out) ? -EIO : rc;
}

static int ls_json(struct span name, const struct tree_attr *a, struct span target, FILE *out)
{
	struct buf line CLEANUP_BUF = BUF_INIT;
	const char *type = S_ISDIR(a->mode) ? "directory" : S_ISLNK(a->mode) ? "link" : "file";
	buf_adds(&line, "{\"name\":");
	json_quote(name, &line);
	buf_addf(&line, ",\"type\":\"%s\",\"size\":%ju,\"mode\":\"%04o\",\"mtime\":%jd.%09ld,\"inode\":%ju", type,
	         (uintmax_t)a->size, (unsigned)(a->mode & 07777), (intmax_t)a->mtime.tv_sec, a->mtime.tv_nsec,
	         (uintmax_t)a->ino);
	if (S_ISLNK(a->mode)) {
		buf_adds(&line, ",\"target\":");
		json_quote(target, &line);
	}
	buf_adds(&line, "}");
	return buf_err(&line) ? buf_err(&line) : cli_put(out, buf_span(&line));
}

/* `before`: between two objects of JSON. */
static int ls_name(struct tree *t, struct span name, const struct tree_attr *a, bool json, const char *before,
                   FILE *out)
{
	struct buf target CLEANUP_BUF = BUF_INIT;
	if (S_ISLNK(a->mode)) {
		int rc = tree_readlink(t, a->node, &target);
		if (rc < 0)
			return rc;
	}
	fputs(before, out);
	return json ? ls_json(name, a, buf_span(&target), out) : ls_long(name, a, buf_span(&target), out);
}

/* An error of one name does not end a listing. Logs it, unless the name was removed after it was listed, and keeps the
 * first one. */
static void cli_note_error(const char *dir, const char *name, int rc, int *first)
{
	if (rc == 0 || error_is_absence(rc))
		return;
	log_error("%s%s%s: %s", dir, *dir && dir[strlen(dir) - 1] != '/' ? "/" : "", name, strerror(-rc));
	*first = *first ? *first : rc;
}

static int ls_dir(struct tree *t, node_t dir, const char *path, bool json, FILE *out)
{
	struct cli_names all CLEANUP(cli_names_release) = {0};
	int first = cli_names_load(t, dir, &all);
	const char *before = "";
	for (size_t i = 0; i < all.n && !ferror(out); i++) {
		struct tree_attr a;
		struct span name = span_of(all.v[i]);
		int rc = cli_attr(t, dir, name, &a);
		if (rc == 0)
			rc = ls_name(t, name, &a, json, before, out);
		if (rc == 0 && json)
			before = ",\n";
		cli_note_error(path, all.v[i], ferror(out) ? 0 : rc, &first);
	}
	return first;
}

int cli_ls(struct tree *t, const char *path, bool json, FILE *out)
{
	struct tree_attr a;
	/* As ls(1): a link is followed only if the path ends in a slash. */
	int rc = tree_resolve(t, path, false, &a);
	if (rc < 0)
		return rc;
	if (json)
		fputs("[", out);
	const char *base = strrchr(path, '/');
	rc = S_ISDIR(a.mode) ? -ls_dir(t, a.node, path, json, out)
	                     : ls_name(t, span_of(base ? base + 1 : path), &a, json, "", out);
	if (json)
		fputs("]\n", out);
	return rc ? rc : ferror(out) ? -EIO : 0;
}

int cli_ls_names(struct tree *t, const char *path, FILE *out)
{
	struct cli_names all CLEANUP(cli_names_release) = {0};
	struct tree_attr a;
	int rc = tree_resolve(t, path, true, &a);
	if (rc < 0 || !S_ISDIR(a.mode))
		return rc;
	node_t dir = a.node;
	int first = cli_names_load(t, dir, &all);
	for (size_t i = 0; i < all.n; i++) {
		char mark = all.v[i][strlen(all.v[i]) + 1];
		bool is_dir = mark == '/';
		if (mark == '@') {
			rc = tree_resolve_from(t, dir, all.v[i], true, &a);
			is_dir = rc == 0 && S_ISDIR(a.mode);
			cli_note_error(path, all.v[i], rc, &first);
		}
		fprintf(out, "%s%s\n", all.v[i], is_dir ? "/" : "");
	}
	return first ? -first : ferror(out) ? -EIO : 0;
}

/* Logs the errors of what is below; the caller logs the first error. */
static int cli_tree_below(struct tree *t, node_t dir, const char *path, unsigned depth, FILE *out)
{
	struct cli_names all CLEANUP(cli_names_release) = {0};
	int first = cli_names_load(t, dir, &all);
	if (first < 0 && depth > 0 && !cli_error_is_named(dir, first))
		log_error("%s: %s", path, strerror(-first));
	for (size_t i = 0; i < all.n && !ferror(out); i++) {
		struct tree_attr a;
		struct buf target CLEANUP_BUF = BUF_INIT, below CLEANUP_BUF = BUF_INIT;
		int rc = tree_lookup(t, dir, span_of(all.v[i]), &a);
		if (rc == 0 && S_ISLNK(a.mode))
			rc = tree_readlink(t, a.node, &target);
		cli_note_error(path, all.v[i], rc, &first);
		if (rc < 0)
			continue;
		fprintf(out, "%*s%s%s", (int)depth * 2, "", all.v[i], S_ISLNK(a.mode) ? " -> " : "");
		cli_put(out, buf_span(&target));
		fputs(S_ISDIR(a.mode) ? "/\n" : "\n", out);
		buf_addf(&below, "%s%s%s", path, *path && path[strlen(path) - 1] != '/' ? "/" : "", all.v[i]);
		if (S_ISDIR(a.mode) && depth + 1 < TREE_LEVELS_MAX && buf_cstr(&below))
			rc = cli_tree_below(t, a.node, below.p, depth + 1, out);
		first = first ? first : rc;
	}
	return first;
}

int cli_tree(struct tree *t, const char *path, FILE *out)
{
	struct tree_attr a;
	int rc = tree_resolve(t, path, true, &a);
	if (rc == 0)
		rc = -cli_tree_below(t, a.node, path, 0, out);
	return rc ? rc : ferror(out) ? -EIO : 0;
}
