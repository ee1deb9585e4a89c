/* SPDX-License-Identifier: MIT */
/* fuzz_secret: secret.c, redact.c. A key anywhere in a session file reaches no file, link or name of a redacting tree,
 * however it is read. A partial read equals that part of the whole. Only keys, lines too long to search, and an
 * unfinished last line are changed. Without the index, line by line, the same is found.
 *
 * Input: the file; then, in further steps, which key to insert where (three bytes), and what to read (three bytes
 * each). */
#include "fuzz.h"
#include "walk.h"

#include "sessionfs/base/log.h"
#include "sessionfs/file/opened.h"
#include "sessionfs/file/secret.h"
#include "write_fixture.h"

/* In each key, and nowhere else. */
#define MARK "q7Zx9vKjW3"

static const char *const keys[] = {
    "sk-ant-api03-" MARK "example0",
    "sk-proj-" MARK "example0example0",
    "ghp_" MARK "example0example0example0example",
    "github_pat_" MARK "example0example0",
    "glpat-" MARK "example01234.01.q7Zx9vKjW",
    "AIza" MARK "example0example0example0e",
    "ya29." MARK "example0example0",
    "xoxb-0000-" MARK,
    "MTAwMDAwMDAwMDAwMDAwMDAw.Exampl." MARK "example0example0123",
    "0000000000:AA" MARK "example0example0example",
    "whsec_" MARK "example0example0example0",
    "BSA" MARK "example0example01",
    "SG." MARK "example0." MARK "example0example0example0",
    "hvs." MARK "example0example0",
    "eyJ" MARK "example0.eyJ" MARK "." MARK "example0",
    "Bearer " MARK ".example0example0",
    "Basic " MARK "/example0example0",
    "AQ." MARK "example0example0example0",
    "TOKEN=" MARK "/example0." MARK,
    "--api-key " MARK ".example0example0",
    "https://user:" MARK "@example.com",
    "APP_SECRET=" MARK "example01",
    "\\\"db_password\\\": \\\"" MARK "example01",
    "-----BEGIN RSA PRIVATE KEY-----\\n" MARK "example0example0\\nexample0" MARK "\\n-----END RSA PRIVATE KEY-----",
};

static struct source_fixture p;

static void assert_hidden(struct span text)
{
	if (text.n && memmem(text.p, text.n, MARK, strlen(MARK)))
		fail_msg("a key shows in: %.*s", (int)text.n, text.p);
}

/* Inserts a key into the text, with a blank on both sides, at the place in the step. */
static void plant(struct span text, struct span step, struct buf *out)
{
	struct feed f = {step.p, step.n};
	const char *key = keys[feed_byte(&f) % (sizeof keys / sizeof *keys)];
	unsigned at = feed_byte(&f) << 8 | feed_byte(&f);
	at = at <= text.n ? at : (unsigned)text.n;
	buf_add(out, text.p, at);
	buf_addf(out, " %s ", key);
	buf_add(out, text.p + at, text.n - at);
}

static void check_finding(struct span text)
{
	CLEANUP(secrets_release) struct secrets all = {0}, each = {0};
	size_t end = 0;

	assert_int_equal(secrets_find(text, &all), 0);
	for (const char *line = text.p, *to = text.p + text.n, *next; line < to; line = next + 1) {
		size_t n = each.n;
		next = memchr(line, '\n', (size_t)(to - line));
		next = next ? next : to;
		assert_int_equal(secrets_find((struct span){line, (size_t)(next - line)}, &each), 0);
		for (; n < each.n; n++)
			each.v[n].at += (size_t)(line - text.p);
	}
	assert_int_equal(all.n, each.n);
	for (size_t i = 0; i < all.n; i++) {
		assert_true(all.v[i].at == each.v[i].at && all.v[i].n == each.v[i].n &&
		            all.v[i].form == each.v[i].form);
		assert_true(all.v[i].at >= end);
		end = all.v[i].at + all.v[i].n;
	}
}

static void check_reading(struct span text, struct feed *f)
{
	const struct source_path at = {catalog_resolver(p.catalog), "--p--/s.jsonl"};
	CLEANUP_BUF struct buf whole = BUF_INIT;
	struct resolved got = RESOLVED_INIT;
	struct opened *file;

	assert_int_equal(resolve_file(&at, RESOLVER_WAIT, O_RDONLY, &got), 0);
	assert_int_equal(opened_new(at.resolver, &got, &file), 0);
	char *to = buf_reserve(&whole, text.n);
	assert_int_equal(opened_pread(file, to, text.n, 0), text.n);
	whole.n = text.n;
	assert_hidden(buf_span(&whole));
	for (size_t i = 0; i < text.n; i++)
		assert_true(to[i] == text.p[i] || to[i] == '*');
	do {
		char piece[256];
		unsigned n = feed_byte(f), off = (feed_byte(f) << 8 | feed_byte(f)) % (unsigned)text.n;
		ssize_t read = opened_pread(file, piece, n, off);
		assert_int_equal(read, n < text.n - off ? n : text.n - off);
		assert_memory_equal(piece, to + off, (size_t)read);
	} while (f->n > 0);
	opened_put(file);
}

static void look(const char *path)
{
	CLEANUP_BUF struct buf b = BUF_INIT;
	struct tree_attr a;

	if (tree_resolve(p.tree, path, true, &a) == 0 && tree_read(p.tree, a.node, 0, SIZE_MAX / 2, &b) == 0)
		assert_hidden(buf_span(&b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_BUF struct buf text = BUF_INIT;
	struct feed f = feed_of(data, size);
	struct catalog_options o = {.budget = &p.budget, .redact = true};
	struct tree_options t = {.read_only = true};
	char dir[96];

	log_setup(LOG_LEVEL_ERROR, LOG_TO_STDERR);
	struct span file = feed_step(&f), step = feed_step(&f);
	if (memmem(data, size, MARK, strlen(MARK)))
		return 0;
	plant(file, step, &text);
	check_finding(buf_span(&text));
	snprintf(p.root, sizeof p.root, "%s", fuzz_dir());
	snprintf(dir, sizeof dir, "%s/--p--", p.root);
	snprintf(p.file, sizeof p.file, "%s/s.jsonl", dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	fuzz_file(p.file, buf_span(&text), O_CREAT, 5);
	p.budget = (struct budget)BUDGET_INIT(1 << 20);
	assert_int_equal(catalog_open(p.root, &o, &p.catalog), 0);
	assert_int_equal(cache_open(&p.budget, &p.cache), 0);
	t.catalog = p.catalog;
	t.cache = p.cache;
	assert_int_equal(tree_open(&t, &p.tree), 0);
	tree_set_mountpoint(p.tree, "/mnt/s");
	check_reading(buf_span(&text), &f);
	walk_tree_seeing(p.tree, assert_hidden);
	look("search/is:secret/hits.txt");
	look("search/is:secret/entries.tsv");
	look("search/a/hits.txt");
	look("search/" MARK "/hits.txt");
	end(&p);
	return 0;
}
