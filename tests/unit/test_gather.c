/* SPDX-License-Identifier: MIT */
/* Which sessions are searched again after which change, and entries that several sessions contain. */
#include "cases.h"
#include "closed_path.h"
#include "search_fixture.h"

#include <pthread.h>

static atomic_uint sessions_searched, searched_from;

__typeof__(match_session) __real_match_session, __wrap_match_session;

int __wrap_match_session(struct matcher *m, const struct session *s, uint32_t from, size_t most, struct found_list *out,
                         uint32_t *ret_next, bool *ret_undated)
{
	sessions_searched++;
	searched_from = from;
	return __real_match_session(m, s, from, most, out, ret_next, ret_undated);
}

/* Appended data can make a session match that did not match before. */
FIXTURE_CASE(appended_data_can_match)
{
	struct finder f CLEANUP_FINDER;
	three_sessions(&f, p);
	expect(&f, "yellow", "");
	expect(&f, "label:x red", "");
	append(f.p, "p/a.jsonl", USER_MS("3", null, 1000, "yell"));
	append(f.p, "p/b.jsonl", "{\"type\":\"message\",\"id\":\"2\",\"message\":{\"role\":\"user\",\"content\":\"yel");
	expect_later(&f, "yellow", "");
	append(f.p, "p/b.jsonl", "low\"}}\n" LINE({"type":"label","id":"3","targetId":"1","label":"x"}));
	expect_later(&f, "yellow", "projects/p/b/entries/2/text.md:1:yellow\n");
	expect(&f, "label:x red", "projects/p/b/entries/1/text.md:1:Red two\n");
	put(f.p, "p/b.jsonl", HEADER_OF("b", "/") USER_MS("1", null, 1, "nothing"));
	expect_later(&f, "yellow", "");
	assert_int_equal(unlink(at(f.p, "p/c.jsonl")), 0);
	expect_later(&f, "red", "projects/p/a/entries/1/text.md:1:red one\n");
}

/* Each name of an answer needs it: it is not made again while the same directory cannot be read. Until then, it has the
 * error. */
FIXTURE_CASE(answer_that_lacks_a_directory_is_reused)
{
	struct finder f CLEANUP_FINDER = {.p = p};
	put(f.p, "q/d.jsonl", HEADER_OF("d", "/") USER_MS("1", null, 1000, "red five"));
	closed_path = "q";
	three_sessions(&f, f.p);
	const struct answer *a CLEANUP_ANSWER = ask(&f, "five"), *none CLEANUP_ANSWER = ask(&f, "nowhere");
	for (int i = 0; i < 2; i++) {
		const struct answer *same CLEANUP_ANSWER = ask(&f, "five");
		assert_ptr_equal(same, a);
		wait_stale();
	}
	assert_int_equal(answer_missed_error(a), -EHOSTDOWN);
	assert_int_equal(answer_missed_error(none), -EHOSTDOWN);
	closed_path = NULL;
	expect_later(&f, "five", "projects/q/d/entries/1/text.md:1:red five\n");
	const struct answer *none_now CLEANUP_ANSWER = ask(&f, "nowhere");
	assert_int_equal(answer_missed_error(none_now), 0);
}

/* An append can change where earlier text is found: a label or name that another one replaces or clears, a label whose
 * entry comes later. Without such changes only the appended part is searched. */
FIXTURE_CASE(replaced_values_move_their_lines)
{
#define OF "projects/p/a/entries/"
	struct finder f CLEANUP_FINDER = {.p = p};
	put(f.p, "p/a.jsonl",
	    HEADER_OF("a", "/") USER_MS("1", null, 1000, "x") LABEL("2", null, "1", "red")
	    LABEL("3", null, "9", "red too"));
	finder_open(&f, 64 << 20);
	expect(&f, "red", OF "1/label:1:red\n" OF "3/entry.json:1:red too\n");
	append(f.p, "p/a.jsonl", USER_MS("4", null, 1000, "red"));
	expect_later(&f, "red", OF "1/label:1:red\n" OF "3/entry.json:1:red too\n" OF "4/text.md:1:red\n");
	assert_int_equal(searched_from, 3);
	append(f.p, "p/a.jsonl", USER_MS("9", null, 1000, "x"));
	expect_later(&f, "red", OF "1/label:1:red\n" OF "9/label:1:red too\n" OF "4/text.md:1:red\n");
	append(f.p, "p/a.jsonl", LABEL("5", null, "1", "Red") INFO("6", null, "red name"));
	expect_later(&f, "red",
	             OF "2/entry.json:1:red\n" OF "9/label:1:red too\n" OF "4/text.md:1:red\n" OF
	                "1/label:1:Red\nprojects/p/a/name:1:red name\n");
	append(f.p, "p/a.jsonl", LABEL("7", null, "1", "") LABEL("8", null, "9", "") INFO("a", null, "blue"));
	expect_later(&f, "red",
	             OF "2/entry.json:1:red\n" OF "3/entry.json:1:red too\n" OF "4/text.md:1:red\n" OF
	                "5/entry.json:1:Red\n" OF "6/entry.json:1:red name\n");
}

/* An entry without a time is as old as its file, which an append makes newer. */
FIXTURE_CASE(untimed_entry_is_as_old_as_the_file)
{
	struct finder f CLEANUP_FINDER = {.p = p};
	put(f.p, "p/a.jsonl", HEADER_OF("a", "/") UNTIMED("1", null, "role":"user","content":"red"));
	set_mtime(f.p, "p/a.jsonl", 1000000);
	finder_open(&f, 64 << 20);
	expect(&f, "red before:2000-01-01", OF "1/text.md:1:red\n");
	append(f.p, "p/a.jsonl", USER_MS("2", null, 1000, "blue"));
	expect_later(&f, "red before:2000-01-01", "");
}

/* `session:` matches the id in the header, not the name made from it. */
FIXTURE_CASE(session_filter_matches_header_id)
{
	struct finder f CLEANUP_FINDER = {.p = p};
	put(f.p, "p/a.jsonl", HEADER_OF("team/42", "/") USER_MS("1", null, 1000, "red"));
	put(f.p, "p/b.jsonl", HEADER_OF("team/42", "/") USER_MS("2", null, 2000, "red"));
	finder_open(&f, 64 << 20);
	expect(&f, "red session:team/42", "projects/p/b/entries/2/text.md:1:red\n" OF "1/text.md:1:red\n");
	expect(&f, "red session:/42 -session:B", OF "1/text.md:1:red\n");
	expect(&f, "red session:%2F42", "");
	expect(&f, "red -session:TEAM/", "");
}

/* A name can be in no byte of the file: of an entry of version 1, without an id, or with another one's id. */
FIXTURE_CASE(computed_names_are_found)
{
	struct finder f CLEANUP_FINDER = {.p = p};
	put(f.p, "p/a.jsonl",
	    HEADER_OF("a", "/") USER_MS("1", null, 1000, "red") USER_MS("1", null, 1000, "blue")
	    USER_MS("2", null, 1000, "green"));
	append(f.p, "p/a.jsonl",
	    LINE({"type":"message","id":2,"message":{"role":"user","content":"grey"}})
	    LINE({"type":"message","id":1.50,"message":{"role":"user","content":"pink"}})
	    USER_MS("123456789", null, 1000, "white"));
	put(f.p, "p/v1.jsonl",
	    LINE({"type":"session","id":"v","cwd":"/"}) USER_MS("1", null, 9000, "red")
	    USER_MS("1", null, 9000, "d647f148"));
	finder_open(&f, 64 << 20);
	expect(&f, "~2", OF "~2/text.md:1:red\n");
	expect(&f, "~3", "");
	expect(&f, "2~2", OF "2~2/text.md:1:grey\n");
	expect(&f, "1.50", OF "1.50/text.md:1:pink\n");
	expect(&f, "D647F148",
	       "projects/p/v1/entries/d647f148/text.md:1:red\nprojects/p/v1/entries/f879cb58/text.md:1:d647f148\n");
	expect(&f, "d647f14", "projects/p/v1/entries/f879cb58/text.md:1:d647f148\n");
	expect(&f, "f879cb58 d", "");
	/* Eight characters of an id are enough. */
	expect(&f, "12345678", OF "123456789/text.md:1:white\n");
	expect(&f, "1234567", "");
	/* An entry that is appended can take the name of another one. */
	expect(&f, "white", OF "123456789/text.md:1:white\n");
	append(f.p, "p/a.jsonl", USER_MS("123456789", null, 1000, "white too"));
	expect_later(&f, "white", OF "~7/text.md:1:white\n" OF "123456789/text.md:1:white too\n");
}

/* After a change, this number of sessions is searched again. */
static void expect_searched(struct finder *f, const char *query, const char *lines, unsigned sessions)
{
	sessions_searched = 0;
	expect_later(f, query, lines);
	assert_int_equal(sessions_searched, sessions);
}

/* A batch that found enough text leaves its other sessions for the next one. Then older sessions of a full answer are
 * not searched. */
FIXTURE_CASE(batch_stops_at_its_bytes)
{
	enum { SESSIONS = 24 };
	struct finder f CLEANUP_FINDER = {.p = p};
	char file[32], id[8], ms[16];
	for (int i = 0; i < SESSIONS; i++) {
		snprintf(file, sizeof file, "p/s%d.jsonl", i);
		snprintf(id, sizeof id, "s%d", i);
		snprintf(ms, sizeof ms, "%d", 90000 - i);
		put_many(&f, file, id, ms, 5000, 1);
		set_mtime(f.p, file, 1700000000 - i);
	}
	finder_open(&f, 64 << 20);
	sessions_searched = 0;
	const struct answer *a = ask(&f, "red");
	assert_int_equal(answer_count(a), SEARCH_ENTRIES_MAX);
	struct buf text CLEANUP_BUF = BUF_INIT;
	lines_of(a, &text);
	assert_true(span_begins(buf_span(&text), SPAN_LIT("projects/p/s0/entries/e0/text.md:1:red 0\n")));
	const char last[] = "projects/p/s1/entries/e4999/text.md:1:red 0\n";
	assert_memory_equal(text.p + text.n - strlen(last), last, strlen(last));
#ifdef SESSIONFS_SMALL_LIMITS
	assert_true(sessions_searched < SESSIONS);
#endif
	answer_put(a);
	/* When a session with hits has grown, no other session is searched. */
	append(f.p, "p/s0.jsonl", USER_MS("new", null, 90000, "red"));
	wait_stale();
	sessions_searched = 0;
	a = ask(&f, "red");
	assert_int_equal(sessions_searched, 1);
	assert_int_equal(answer_count(a), SEARCH_ENTRIES_MAX);
	answer_put(a);
	/* A session after the full answer that grows is the first. */
	append(f.p, "p/s23.jsonl", USER_MS("last", null, 99000, "red too"));
	wait_stale();
	a = ask(&f, "red");
	lines_of(a, &text);
	assert_true(span_begins(buf_span(&text), SPAN_LIT("projects/p/s23/entries/e0/text.md:1:red 0\n")));
	answer_put(a);
}

/* An entry that several sessions contain is in the answer once: in the first session in which it matches. Changes of
 * one session move it, and search again only this session and those that lack copies. */
FIXTURE_CASE(copies_are_found_once)
{
#define RED USER_MS("1", null, 1000, "red") USER_MS("2", null, 2000, "red two")
#define IN(session, id) "projects/p/" session "/entries/" id "/text.md:1:red"
	struct finder f CLEANUP_FINDER = {.p = p};
	put(f.p, "p/a.jsonl", HEADER_OF("a", "/") RED USER_MS("3", null, 9000, "red a"));
	put(f.p, "p/b.jsonl", HEADER_OF("b", "/") RED USER_MS("4", null, 8000, "red b"));
	put(f.p, "p/c.jsonl", HEADER_OF("c", "/") RED);
	/* The same id and text, but not the same time; the same id and time, but more text. */
	put(f.p, "p/d.jsonl",
	    HEADER_OF("d", "/")
	    LINE({"type":"message","id":"1","timestamp":"2026-03-01T09:00:00.001Z","message":{"role":"user",
	        "content":"red","timestamp":10}}) USER_MS("2", null, 20, "red two\nmore"));
	finder_open(&f, 64 << 20);
#define OF_D IN("d", "1") "\n" IN("d", "2") " two\n"
	expect(&f, "red", IN("a", "1") "\n" IN("a", "2") " two\n" IN("a", "3") " a\n" IN("b", "4") " b\n" OF_D);
	/* A later session becomes the first. It is searched, and no other. */
	append(f.p, "p/c.jsonl", USER_MS("5", null, 10000, "blue"));
	expect_searched(&f, "red", IN("c", "1") "\n" IN("c", "2") " two\n" IN("a", "3") " a\n" IN("b", "4") " b\n" OF_D,
	                1);
	append(f.p, "p/c.jsonl", USER_MS("6", null, 11000, "red c"));
	expect_searched(
	    &f, "red",
	    IN("c", "1") "\n" IN("c", "2") " two\n" IN("c", "6") " c\n" IN("a", "3") " a\n" IN("b", "4") " b\n" OF_D,
	    1);
	/* The first one loses an entry: the next has it. A session without copies is not searched. */
	put(f.p, "p/c.jsonl", HEADER_OF("c", "/") USER_MS("2", null, 12000, "red two"));
	expect_searched(&f, "red", IN("c", "2") " two\n" IN("a", "1") "\n" IN("a", "3") " a\n" IN("b", "4") " b\n" OF_D,
	                3);
	assert_int_equal(unlink(at(f.p, "p/c.jsonl")), 0);
	assert_int_equal(unlink(at(f.p, "p/a.jsonl")), 0);
	expect_later(&f, "red", IN("b", "1") "\n" IN("b", "2") " two\n" IN("b", "4") " b\n" OF_D);
}

/* A label that is set later can make the entry of the first session match, or no longer match. */
FIXTURE_CASE(labels_move_copies)
{
	struct finder f CLEANUP_FINDER = {.p = p};
	put(f.p, "p/a.jsonl", HEADER_OF("a", "/") RED USER_MS("3", null, 9000, "red a"));
	put(f.p, "p/b.jsonl", HEADER_OF("b", "/") RED LABEL("4", null, "1", "x"));
	finder_open(&f, 64 << 20);
	expect(&f, "red label:x", IN("b", "1") "\n");
	append(f.p, "p/a.jsonl", LABEL("5", null, "1", "x"));
	expect_later(&f, "red label:x", IN("a", "1") "\n");
	append(f.p, "p/a.jsonl", LABEL("6", null, "1", ""));
	expect_later(&f, "red label:x", IN("b", "1") "\n");
}

/* The limit counts each entry once. */
FIXTURE_CASE(limit_counts_copies_once)
{
	struct finder f CLEANUP_FINDER = {.p = p};
	char file[16];
	for (int i = 0; i < 4; i++) {
		snprintf(file, sizeof file, "p/s%d.jsonl", i);
		put_many(&f, file, file, "9000", 5000 + (size_t)i, 1);
	}
	put_many(&f, "p/t.jsonl", "t", "5000", 4997, 1);
	finder_open(&f, 64 << 20);
	const struct answer *a CLEANUP_ANSWER = ask(&f, "red");
	assert_int_equal(answer_count(a), SEARCH_ENTRIES_MAX);
	assert_int_equal(count_lines(a), SEARCH_ENTRIES_MAX);
	struct buf text CLEANUP_BUF = BUF_INIT;
	lines_of(a, &text);
	const char last[] = "projects/p/t/entries/e4996/text.md:1:red 0\n";
	assert_memory_equal(text.p + text.n - strlen(last), last, strlen(last));
}

/* With in:session the words of a query can be in several entries. A session that grows can have the last of them; then
 * earlier entries match, too. */
FIXTURE_CASE(words_of_a_session_can_be_apart)
{
#define WORDS "red blue in:session"
#define A1 "projects/p/a/entries/1/text.md:1:red one\n"
	struct finder f CLEANUP_FINDER;
	three_sessions(&f, p);
	expect(&f, "red blue", "");
	expect(&f, WORDS, A1 OF "2/text.md:1:blue\n");
	const struct answer *a CLEANUP_ANSWER = ask(&f, WORDS), *same CLEANUP_ANSWER = ask(&f, WORDS);
	assert_ptr_equal(same, a);
	/* New entries of a session with all words need one. No other session is searched. */
	append(f.p, "p/a.jsonl", USER_MS("3", null, 10000, "more Red") USER_MS("4", null, 10000, "green"));
	expect_searched(&f, WORDS, A1 OF "2/text.md:1:blue\n" OF "3/text.md:1:more Red\n", 1);
	/* The key of a record is not text: the session is searched, without a match. */
	append(f.p, "p/b.jsonl", LINE({"type":"custom","id":"2","blue":1}));
	expect_searched(&f, WORDS, A1 OF "2/text.md:1:blue\n" OF "3/text.md:1:more Red\n", 1);
	append(f.p, "p/b.jsonl", USER_MS("3", null, 11000, "blue two"));
	append(f.p, "p/c.jsonl", USER_MS("2", null, 9000, "a blue"));
	expect_later(&f, WORDS,
	             "projects/p/b/entries/1/text.md:1:Red two\nprojects/p/b/entries/3/text.md:1:blue two\n" A1 OF
	             "2/text.md:1:blue\n" OF "3/text.md:1:more Red\n"
	             "projects/p/c/entries/1/text.md:2:red three\nprojects/p/c/entries/1/text.md:3:red four\n"
	             "projects/p/c/entries/2/text.md:1:a blue\n");
	assert_int_equal(unlink(at(f.p, "p/a.jsonl")), 0);
	put(f.p, "p/c.jsonl", HEADER_OF("c", "/") USER_MS("1", null, 1, "blue"));
	expect_later(&f, WORDS,
	             "projects/p/b/entries/1/text.md:1:Red two\nprojects/p/b/entries/3/text.md:1:blue two\n");
}

/* A copy of an entry is found in the first session that has all words. */
FIXTURE_CASE(copies_need_the_words_of_their_session)
{
	struct finder f CLEANUP_FINDER = {.p = p};
	put(f.p, "p/a.jsonl", HEADER_OF("a", "/") RED USER_MS("3", null, 9000, "a"));
	put(f.p, "p/b.jsonl", HEADER_OF("b", "/") RED USER_MS("4", null, 8000, "blue"));
	finder_open(&f, 64 << 20);
	expect(&f, WORDS, IN("b", "1") "\n" IN("b", "2") " two\nprojects/p/b/entries/4/text.md:1:blue\n");
	append(f.p, "p/a.jsonl", USER_MS("5", null, 9000, "blue"));
	expect_later(&f, WORDS,
	             IN("a", "1") "\n" IN("a", "2") " two\nprojects/p/a/entries/5/text.md:1:blue\n"
	                                            "projects/p/b/entries/4/text.md:1:blue\n");
}

static void *count_readers(void *arg)
{
	for (int i = 0; i < 100; i++)
		session_hits_put(session_hits_get(arg));
	return NULL;
}

/* The thread sanitizer reports a copy of what another reader changes. */
CASE(hits_are_copied_beside_readers)
{
	struct session_hits *hits = calloc(1, sizeof *hits), *copy;
	pthread_t reader;
	assert_non_null(hits);
	hits->slot = 7;
	hits->refs = 1;
	assert_int_equal(pthread_create(&reader, NULL, count_readers, hits), 0);
	for (int i = 0; i < 100; i++) {
		assert_non_null(copy = session_hits_new(hits));
		assert_int_equal(copy->slot, 7);
		session_hits_put(copy);
	}
	pthread_join(reader, NULL);
	session_hits_put(hits);
}

RUN_CASES(NULL, NULL)
