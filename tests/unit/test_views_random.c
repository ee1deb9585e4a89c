/* SPDX-License-Identifier: MIT */
/* views: a view that was continued while its session grew has the bytes of one that is made for the first time. */
#include "cases.h"
#include "seed.h"
#include "tree_fixture.h"

enum { SESSIONS = 40, STEPS = 12 };

static const char *const views[] = {S "/transcript.md", S "/chat.md",      S "/all.txt",     S "/context.md",
                                    S "/tree.txt",      S "/context.json", S "/context.tsv", S "/labels.tsv"};
enum { VIEWS = sizeof views / sizeof *views };

struct draws {
	uint64_t seed;
	unsigned ids;
};

/* Appends a line that continues a view, or that changes earlier parts of it: a message on this branch or another one, a
 * label, a name, an edit of the context, an id that occurs twice, a parent that comes later, a summary, an odd line. */
static void add_line(struct draws *d, struct buf *out)
{
	unsigned id = roll(&d->seed, 12) || d->ids == 0 ? d->ids++ : roll(&d->seed, d->ids);
	unsigned parent = roll(&d->seed, 5) || d->ids < 2 ? id - 1 : roll(&d->seed, d->ids + 2),
		 target = roll(&d->seed, d->ids + 1);
	switch (roll(&d->seed, 12)) {
	case 0:
		buf_addf(out, LINE({"type":"label","id":"m%u","parentId":"m%u","targetId":"m%u","label":"%s"}), id,
		                   parent, target, roll(&d->seed, 3) ? "here" : "");
		break;
	case 1:
		buf_addf(out, LINE({"type":"session_info","id":"m%u","parentId":"m%u","name":"name %u"}), id, parent,
		                   id);
		break;
	case 2:
		buf_addf(out,
		         LINE({"type":"context_edit","id":"m%u","parentId":"m%u","targetId":"m%u","replacement":null}),
		              id, parent, target);
		break;
	case 3:
		buf_addf(out, LINE({"type":"branch_summary","id":"m%u","parentId":"m%u","summary":"sum %u"}), id,
		                   parent, id);
		break;
	case 4:
		buf_adds(out, LINE(["no entry"]));
		break;
	case 5:
		buf_addf(out, LINE({"type":"message","id":"m%u","parentId":"m%u","message":{"role":"assistant",
		        "content":[CALL("c%u", "bash", )],"usage":{"input":%u,"totalTokens":%u,"cost":{"total":%u.1}}}}),
		                               id, parent, id, id, id, id % 7);
		break;
	case 6:
		buf_addf(out, LINE({"type":"message","id":"m%u","parentId":"m%u","message":{"role":"toolResult",
		        "toolCallId":"c%u","content":"out %u"}}),
		                    id, parent, target, id);
		break;
	default:
		buf_addf(out, LINE({"type":"message","id":"m%u","parentId":"m%u","message":{"role":"user","content":"said %u"}}),
		                    id, parent, id);
	}
}

/* Appends the bytes of a view, read in pieces of this size; nothing if it is not there. */
static void read_view(struct source_fixture *p, const char *path, size_t piece, struct buf *out)
{
	struct tree_attr a;
	int rc = find(p, path, &a);

	assert_true(rc == 0 || rc == -ENOENT);
	if (rc == 0)
		read_pieces(p, path, piece, out);
}

/* Grows a session in steps. After each, reads some of its views, so that a view is continued after one step or several;
 * each must equal the view of a tree that is opened for it. */
static void grow_and_compare(struct source_fixture *p, struct draws *d)
{
	CLEANUP_BUF struct buf text = BUF_INIT;

	buf_adds(&text, HEADER);
	add_line(d, &text);
	p->fresh_ms = 1; /* each step is scanned at once */
	begin(p, buf_cstr(&text));
	for (int step = 0; step < STEPS; step++) {
		size_t before = text.n;
		for (unsigned lines = roll(&d->seed, 4); lines > 0; lines--)
			add_line(d, &text);
		assert_non_null(buf_cstr(&text));
		write_at(p->file, O_APPEND, text.p + before, text.n - before);
		wait_seen(p);
		struct source_fixture fresh = *p;
		assert_int_equal(begin_budget(&fresh, 64 << 20), 0);
		for (size_t i = 0; i < VIEWS; i++) {
			CLEANUP_BUF struct buf got = BUF_INIT, expected = BUF_INIT;
			if (roll(&d->seed, 3) == 0)
				continue;
			read_view(p, views[i], roll(&d->seed, 2) ? 100 : SIZE_MAX / 2, &got);
			read_view(&fresh, views[i], SIZE_MAX / 2, &expected);
			if (!span_eq(buf_span(&got), buf_span(&expected)))
				fail_msg("%s after step %d of\n%s\nhas\n%.*s\ninstead of\n%.*s", views[i], step, text.p,
				         (int)got.n, got.p ? got.p : "", (int)expected.n, expected.p ? expected.p : "");
		}
		end(&fresh);
	}
	end(p);
}

FIXTURE_CASE(continued_views_equal_new_ones)
{
	struct draws d = {.seed = seed_of_run()};

	for (int i = 0; i < SESSIONS; i++) {
		d.ids = 0;
		grow_and_compare(p, &d);
	}
}

RUN_CASES(NULL, NULL)
