/* SPDX-License-Identifier: MIT */
/* The table says how the text of each file changes (enum tree_change). A session grows here step by step, and every
 * text is compared with the one before the step: none changes more than its row says, and each row that asks for more
 * than a file gets without it changes so. */
#include "cases.h"

#include "../../src/tree/rows.h"

#include "write_fixture.h"

#define TEXTS_MAX 512

struct text {
	node_t node;
	struct timespec mtime;
	uint64_t version;
	struct buf bytes;
};

struct texts {
	struct text v[TEXTS_MAX];
	size_t n;
};

static void texts_release(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		buf_release(&t->v[i].bytes);
	t->n = 0;
}

/* Nodes in the directory of the session. */
struct nodes {
	struct {
		node_t node;
		mode_t mode;
	} v[TEXTS_MAX];
	size_t n;
};

static int add_node(void *arg, struct span name, uint64_t cookie, node_t node, uint64_t ino, mode_t mode,
                    const struct tree_attr *attr)
{
	struct nodes *l = arg;
	l->v[l->n].node = node;
	l->v[l->n].mode = mode;
	assert_true(++l->n < TEXTS_MAX);
	return 0;
}

static void read_texts(struct source_fixture *p, struct texts *ret)
{
	struct nodes nodes = {.v = {{node_at(p, S), S_IFDIR}}, .n = 1};
	struct tree_attr a;
	texts_release(ret);
	for (size_t i = 0; i < nodes.n; i++) {
		node_t node = nodes.v[i].node;
		struct text *text = &ret->v[ret->n];
		if (S_ISDIR(nodes.v[i].mode))
			assert_int_equal(tree_list(p->tree, node, 0, TREE_NAMES, add_node, &nodes), 0);
		if (!S_ISREG(nodes.v[i].mode))
			continue;
		assert_int_equal(tree_getattr(p->tree, node, &a), 0);
		*text = (struct text){.node = node, .mtime = a.mtime, .version = a.version, .bytes = BUF_INIT};
		assert_int_equal(tree_read(p->tree, node, 0, 1 << 20, &text->bytes), 0);
		ret->n++;
	}
}

static enum tree_change change_of(const struct text *before, const struct text *after)
{
	if (before->bytes.n == after->bytes.n && memcmp(before->bytes.p, after->bytes.p, after->bytes.n) == 0)
		return TREE_NEVER;
	if (time_is_same(before->mtime, after->mtime) && before->version == after->version)
		return TREE_UNTIMED;
	if (after->bytes.n > before->bytes.n && memcmp(before->bytes.p, after->bytes.p, before->bytes.n) == 0)
		return TREE_APPENDED;
	return TREE_REWRITTEN;
}

static enum tree_change seen[256]; /* of each row: its greatest change */

static void compare(const struct texts *before, const struct texts *after)
{
	for (size_t i = 0; i < after->n; i++) {
		const struct text *a = &after->v[i], *b = before->v;
		while (b < before->v + before->n && b->node != a->node)
			b++;
		if (b == before->v + before->n)
			continue;
		const struct kind *k = kind_of(tree_node(a->node));
		enum tree_change change = change_of(b, a), most = kind_text_stability(k);
		/* A record's time need not be later. */
		if (change == TREE_UNTIMED && most == TREE_RESTAMPED)
			change = TREE_RESTAMPED;
		if (change > most)
			fail_msg("%s changes more than its row says: %d, not %d", k->name, (int)change, (int)most);
		if (change > seen[kind_id(k)])
			seen[kind_id(k)] = change;
	}
}

/* Waits for the attributes of the longer file: without inotify they can be older than a text. */
static void append_line(struct source_fixture *p, const char *line)
{
	static time_t now = 1800000000;
	const struct timespec times[2] = {{.tv_sec = ++now}, {.tv_sec = now}};
	struct tree_attr a;
	add_file(p->file, line);
	assert_int_equal(utimensat(AT_FDCWD, p->file, times, 0), 0);
	do
		assert_int_equal(find(p, S "/session.jsonl", &a), 0);
	while (a.mtime.tv_sec != now);
}

/* Waits until the file has this text: without inotify a change in another file is seen later. */
static void await_text(struct source_fixture *p, const char *path, const char *text)
{
	bool has = false;
	while (!has) {
		CLEANUP_BUF struct buf b = BUF_INIT;
		struct tree_attr a;
		if (find(p, path, &a) == 0 && tree_read(p->tree, a.node, 0, 1 << 20, &b) == 0)
			has = memmem(b.p, b.n, text, strlen(text));
	}
}

static void put_other(struct source_fixture *p, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", p->root, name);
	for (char *slash = path + strlen(p->root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
	}
	put_file(path, text);
}

static void remove_other(struct source_fixture *p, const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", p->root, name);
	assert_int_equal(unlink(path), 0);
}

FIXTURE_CASE(rows_say_how_texts_change)
{
	static const char *const lines[] = ITEMS(
	    MESSAGE("d", "c", "role":"assistant","stopReason":"toolUse","content":[CALL("t1", "write", "path":"/w/a",
	         "content":"x")]),
	    RESULT("e", "d", "t1", SAY("ok")),
	    MESSAGE("f", "e", "role":"assistant","stopReason":"toolUse","content":[CALL("t2", "read", "path":"/v/b")]),
	    RESULT("g", "f", "t2", SAY("ok")),
	    LINE({"type":"message","id":"h","parentId":"gone"}),
	    "not json\n",
	    MESSAGE("i", "g", "role":"assistant","stopReason":"stop","content":[SAY("done")]),
	    LABEL("j", "i", "a", "first"),
	    LABEL("k", "j", "a", "other"),
	    INFO("l", "k", "name"),
	    INFO("m", "l", "new"),
	    USER("n", "b", "hi"),
	    SUMMARY("o", "b", "i", "left"),
	    LINE({"type":"message","id":"gone","parentId":"b","message":{"role":"user","content":"x"}}),
	    /* A provider refuses one, then none, then another of the same size. */
	    RESULT("p", "gone", "t9", SAY("ok")),
	    LINE({"type":"context_edit","id":"q","parentId":"p","targetId":"p","replacement":null}),
	    RESULT("r", "q", "t9", SAY("ok")));
	static const struct {
		const char *file, *fork, *subagent, *run, *refused;
	} forks[] = {
	    {"--p--/fork1.jsonl", "fork1", "--p--/s/run-0/session.jsonl", "run-0", "text.md"},
	    {"--p--/fork2.jsonl", "fork2", "--p--/s/run-1/session.jsonl", "run-1", "type"},
	};
	static struct texts one, two;
	struct texts *before = &one, *after = &two;
	char link[512], text[1024];
	/* The parent: a session of another directory, found by the name of its file. */
	put_other(p, "--q--/parent.jsonl", FORK("q", ""));
	p->fresh_ms = 1;
	snprintf(text, sizeof text, FORK("sid", "/elsewhere/parent.jsonl") "%s", strchr(ABC, '\n') + 1);
	begin(p, text);
	snprintf(link, sizeof link, FORK("x", "%s"), p->file);
	read_texts(p, before);
	for (size_t i = 0; i < sizeof lines / sizeof *lines + 3; i++) {
		switch (i) {
		case 0:
		case 1:
			put_other(p, forks[i].file, link);
			put_other(p, forks[i].subagent, FORK("u", ""));
			assert_int_equal(put(p, A, forks[i].refused, "x"), -EPERM);
			await_text(p, S "/forks", forks[i].fork);
			await_text(p, S "/subagents", forks[i].run);
			break;
		case 2:
			put_other(p, "--r--/parent.jsonl", FORK("r", ""));
			remove_other(p, "--q--/parent.jsonl");
			await_text(p, S "/parent", "/r/");
			break;
		default:
			append_line(p, lines[i - 3]);
		}
		read_texts(p, after);
		compare(before, after);
		struct texts *swap = before;
		before = after;
		after = swap;
	}
	for (const struct kind *k = kind_next(NULL); k; k = kind_next(k)) {
		if (k->changes && k->from->scope >= SCOPE_SLOT && seen[kind_id(k)] != k->changes)
			fail_msg("%s changes less than its row says: %d, not %d", k->name, (int)seen[kind_id(k)],
			         (int)k->changes);
	}
	texts_release(before);
	texts_release(after);
}

RUN_CASES(NULL, NULL)
