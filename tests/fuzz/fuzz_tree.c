/* SPDX-License-Identifier: MIT */
/* fuzz_tree: src/tree, src/catalog, store.c, scratch.c, edit*.c. The tree without a mount, over one session
 * file that is changed from outside and written through the tree. After each step walk.c checks everything. A write
 * that fails changes no byte of the file; one that succeeds keeps every old byte and reads
 * back.
 *
 * Input: the file, then steps that begin with a letter. Upper case letters write; most steps have an entry's number as
 * the second byte. */
#include "fuzz.h"
#include "walk.h"

#include "sessionfs/json/json.h"
#include "sessionfs/write/value.h"
#include "sessionfs/base/sys.h"
#include "write_fixture.h"

/* The file is old, so that its contents do not depend on the moment. */
enum { AGE = 5 };

static struct source_fixture p;

static void open_tree(void)
{
	struct catalog_options o = {.budget = &p.budget};
	struct tree_options t = {.read_only = false};

	p.budget = (struct budget)BUDGET_INIT(1 << 20);
	assert_int_equal(catalog_open(p.root, &o, &p.catalog), 0);
	assert_int_equal(cache_open(&p.budget, &p.cache), 0);
	t.catalog = p.catalog;
	t.cache = p.cache;
	assert_int_equal(tree_open(&t, &p.tree), 0);
	tree_set_mountpoint(p.tree, "/mnt/s");
}

/* --- time ------------------------------------------------------------------------ */

static int64_t now_ns = 1000000000;

/* Time stands still during a check, except for the clock that sets the times of files. */
static int still_clock(clockid_t clock, struct timespec *ret)
{
	if (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_COARSE)
		return clock_gettime(clock, ret);
	*ret = (struct timespec){now_ns / 1000000000, now_ns % 1000000000};
	return 0;
}

static void let_pass(int64_t ms)
{
	now_ns += ms * 1000000;
}

static int pass_instead(const struct timespec *wanted, struct timespec *left)
{
	(void)left;
	let_pass(wanted->tv_sec * 1000 + wanted->tv_nsec / 1000000 + 1);
	return 0;
}

__typeof__(clock_gettime) *const sys_clock_gettime = still_clock;
__typeof__(nanosleep) *const sys_nanosleep = pass_instead;

/* --- from outside ------------------------------------------------------------------ */

static void change_file(unsigned op, struct feed *f)
{
	struct span text = {f->p, f->n};
	struct stat st;

	switch (op) {
	case 'a':
		fuzz_file(p.file, text, O_CREAT | O_APPEND, AGE);
		break;
	case 't': {
		unsigned to = feed_byte(f) << 8 | feed_byte(f);
		if (stat(p.file, &st) == 0)
			assert_int_equal(truncate(p.file, st.st_size ? to % st.st_size : 0), 0);
		break;
	}
	case 'r':
		fuzz_file(p.file, text, O_CREAT, AGE);
		break;
	case 'n':
		unlink(p.file);
		fuzz_file(p.file, text, O_CREAT, AGE);
		break;
	case 'w':
		let_pass(11000); /* text hidden for a moment is visible again */
		break;
	default:
		unlink(p.file);
	}
}

/* --- through the tree ------------------------------------------------------------------ */

/* Appends the path of the n-th entry's directory. Returns false without such an entry. */
static bool entry_path(unsigned n, struct buf *out)
{
	CLEANUP_BUF struct buf names = BUF_INIT;
	struct tree_attr a;

	if (find(&p, S "/entries", &a) < 0 || tree_list(p.tree, a.node, 0, TREE_NAMES, add_name, &names) < 0)
		return false;
	const char *name = names.p, *end = names.p + names.n;
	for (; n > 0 && name < end; n--)
		name = (const char *)memchr(name, ' ', (size_t)(end - name)) + 1;
	if (name >= end)
		return false;
	buf_adds(out, S "/entries/");
	buf_add(out, name, (size_t)((const char *)memchr(name, ' ', (size_t)(end - name)) - name));
	return buf_cstr(out) != NULL;
}

/* The file shows the value and a newline; without a value it does not exist. */
static void assert_shows(const char *dir, const char *name, const struct value_form *kind, struct span text)
{
	CLEANUP_BUF struct buf value = BUF_INIT, path = BUF_INIT, b = BUF_INIT;
	const char *why;
	struct tree_attr a;

	buf_addf(&path, "%s/%s", dir, name);
	assert_int_equal(value_parse(kind, text, &value, &why), 0);
	int rc = find(&p, buf_cstr(&path), &a);
	if (value.n == 0) {
		/* Nothing was added to a branch. */
		assert_true(rc == -ENOENT || kind == &form_summary);
		return;
	}
	assert_int_equal(rc, 0);
	if (value.p[value.n - 1] != '\n')
		buf_addc(&value, '\n');
	assert_int_equal(tree_read(p.tree, a.node, 0, SIZE_MAX, &b), 0);
	assert_spans_equal(buf_span(&b), buf_span(&value));
}

static int write_file(const char *dir, const char *name, const struct value_form *kind, struct span text)
{
	struct tree_attr a;

	if (find(&p, dir, &a) < 0)
		return -ENOENT;
	int rc = put_bytes(&p, dir, name, text);
	if (rc == 0 && kind != &form_table && text.n > 0)
		assert_shows(dir, name, kind, text);
	return rc;
}

/* Writes as an editor does. */
static int write_over(const char *dir, const char *name, struct span text)
{
	struct tree_attr a;

	if (find(&p, dir, &a) < 0)
		return -ENOENT;
	int rc = put_bytes(&p, dir, "new~", text);
	return rc < 0 ? rc : move(&p, dir, "new~", dir, name);
}

static int link_label(unsigned n, struct span name, bool force)
{
	CLEANUP_BUF struct buf entry = BUF_INIT, label = BUF_INIT, target = BUF_INIT;

	if (!entry_path(n, &entry))
		return -ENOENT;
	buf_adds(&target, "..");
	buf_adds(&target, buf_cstr(&entry) + strlen(S));
	buf_addspan(&label, name);
	if (name.n == 0 || name.n > 255 || memchr(name.p, '/', name.n) || memchr(name.p, '\0', name.n))
		return -EINVAL;
	return (force ? force_link : make_link)(&p, S "/labels", buf_cstr(&label), buf_cstr(&target));
}

static int move_leaf(unsigned n)
{
	CLEANUP_BUF struct buf entry = BUF_INIT;

	return entry_path(n, &entry) ? force_link(&p, S, "leaf", buf_cstr(&entry) + strlen(S) + 1) : -ENOENT;
}

/* Renames or removes the first name in labels/. */
static int change_label(struct span to)
{
	CLEANUP_BUF struct buf names = BUF_INIT;
	struct tree_attr a;

	if (find(&p, S "/labels", &a) < 0 || tree_list(p.tree, a.node, 0, TREE_NAMES, add_name, &names) < 0)
		return -ENOENT;
	const char *end = names.n ? memchr(names.p, ' ', names.n) : NULL;
	struct span name = {names.p, end ? (size_t)(end - names.p) : 0};
	if (to.n == 0 || to.n > 255 || memchr(to.p, '/', to.n) || memchr(to.p, '\0', to.n))
		return tree_unlink(p.tree, a.node, name, &who);
	return tree_rename(p.tree, a.node, name, a.node, to, false);
}

static int remove_file(unsigned which, unsigned n)
{
	static const char *const names[] = {"name", "leaf", "labels.tsv", "session.jsonl"};
	CLEANUP_BUF struct buf entry = BUF_INIT;
	struct tree_attr a;

	if (find(&p, S, &a) < 0)
		return -ENOENT;
	if (which % 6 < 4)
		return take(&p, S, names[which % 6]);
	return entry_path(n, &entry) ? take(&p, buf_cstr(&entry), which % 6 == 4 ? "label" : "branch") : -ENOENT;
}

/* Writes pieces in any order, through one handle, with changes of size. */
static int write_pieces(unsigned which, unsigned n, struct feed *f)
{
	static const char *const names[] = {"name", "labels.tsv", "label", "branch"};
	CLEANUP_BUF struct buf entry = BUF_INIT;
	struct tree_handle *h;
	struct tree_attr a;
	int rc = which % 4 >= 2 ? (entry_path(n, &entry) ? 0 : -ENOENT) : find(&p, S, &a);

	if (rc == 0)
		rc = open_create(&p, which % 4 >= 2 ? buf_cstr(&entry) : S, names[which % 4], false, &h);
	if (rc < 0)
		return rc;
	while (rc == 0 && f->n > 0) {
		unsigned op = feed_byte(f), off = feed_byte(f);
		if (op % 4 == 0)
			rc = tree_flush(p.tree, h, &who);
		else
			rc = tree_write(p.tree, h, feed_bytes(f, op / 4), off, &who);
	}
	int flushed = tree_flush(p.tree, h, &who);
	tree_release(p.tree, h);
	/* A part may have been committed before the rest was refused. */
	return rc < 0 || flushed < 0 ? 1 : 0;
}

static int write_tree(unsigned op, struct feed *f)
{
	CLEANUP_BUF struct buf entry = BUF_INIT;
	unsigned n = strchr("LBFKQXPE", (int)op) ? feed_byte(f) % 16 : 0, which;
	struct span text = {f->p, f->n};

	switch (op) {
	case 'L':
		return entry_path(n, &entry) ? write_file(buf_cstr(&entry), "label", &form_label, text) : -ENOENT;
	case 'B':
		return entry_path(n, &entry) ? write_file(buf_cstr(&entry), "branch", &form_summary, text) : -ENOENT;
	case 'E':
		return entry_path(n, &entry) ? write_over(buf_cstr(&entry), "label", text) : -ENOENT;
	case 'N':
		return write_file(S, "name", &form_name, text);
	case 'O':
		return write_over(S, "name", text);
	case 'T':
		return write_file(S, "labels.tsv", &form_table, text);
	case 'F':
		return move_leaf(n);
	case 'K':
	case 'Q':
		return link_label(n, text, op == 'K');
	case 'M':
		return change_label(text);
	case 'X':
		return remove_file(feed_byte(f), n);
	default:
		which = feed_byte(f);
		return write_pieces(which, n, f);
	}
}

/* --- the file after a step ------------------------------------------------------ */

/* The first request to notice that the file was replaced returns nodes of the old file and, for its name, of the new
 * one. */
static void look(void)
{
	CLEANUP_BUF struct buf names = BUF_INIT;
	struct tree_attr a;

	if (find(&p, S "/entries", &a) == 0)
		tree_list(p.tree, a.node, 0, TREE_NAMES, add_name, &names);
	walk_tree(p.tree);
}

/* The added bytes are whole lines of JSON, on lines of their own. */
static void assert_lines(struct span old, struct span added)
{
	if (added.n == 0)
		return;
	if (old.n > 0 && old.p[old.n - 1] != '\n') {
		assert_int_equal(added.p[0], '\n');
		added = (struct span){added.p + 1, added.n - 1};
	}
	while (added.n > 0) {
		const char *end = memchr(added.p, '\n', added.n);
		assert_non_null(end);
		size_t n = (size_t)(end - added.p);
		assert_true(json_valid((struct span){added.p, n}, NULL));
		added = (struct span){end + 1, added.n - n - 1};
	}
}

static void write_step(unsigned op, struct feed *f)
{
	CLEANUP_BUF struct buf old = BUF_INIT, new = BUF_INIT;

	bool there = read_file(p.file, &old);
	int rc = write_tree(op, f);
	assert_int_equal(read_file(p.file, &new), there);
	if (rc < 0) {
		assert_spans_equal(buf_span(&new), buf_span(&old));
	} else {
		assert_true(new.n >= old.n &&memcmp(new.p, old.p, old.n) == 0);
		assert_lines(buf_span(&old), (struct span){new.p + old.n, new.n - old.n});
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = feed_of(data, size);
	char dir[96];

	log_setup(LOG_LEVEL_ERROR, LOG_TO_STDERR);
	snprintf(p.root, sizeof p.root, "%s", fuzz_dir());
	snprintf(dir, sizeof dir, "%s/--p--", p.root);
	snprintf(p.file, sizeof p.file, "%s/s.jsonl", dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	fuzz_file(p.file, feed_step(&f), O_CREAT, AGE);
	open_tree();
	look();
	for (unsigned steps = 0; f.n > 0 && steps < 12; steps++) {
		struct span step = feed_step(&f);
		struct feed s = {step.p, step.n};
		unsigned op = feed_byte(&s);
		if (op >= 'A' && op <= 'Z')
			write_step(op, &s);
		else
			change_file(op, &s);
		let_pass(CATALOG_FRESH_MS + 1);
		look();
	}
	end(&p);
	return 0;
}
