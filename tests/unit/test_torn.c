/* What is longer than memory should be spent on is read from the file again whenever it is touched (paged.h): whoever
 * writes to the file can change it between two looks. What comes out then may be anything, but nothing is written or
 * read where it should not be. Says something with SAN=1 only, but for the guard behind the text. */
#include "sessionfs/session/part.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/session/part_base64.h"

enum { ROUNDS = 6000 };

struct torn {
	char *page;
	size_t size;
	struct span text;
	atomic_bool stop;
};

/* Bytes that mean something to a decoder or a scanner. */
static const char bytes[] = "\\\\\\\\\"\"u0d8a0,:{}[]\xff\xe2\x82\xac\x01 =AAAA";

static void *change(void *arg)
{
	struct torn *t = arg;
	volatile char *p = (volatile char *)(uintptr_t)t->text.p;
	for (uint32_t r = 1; !atomic_load(&t->stop); r = r * 1664525 + 1013904223)
		p[(r >> 8) % t->text.n] = bytes[(r >> 3) % (sizeof bytes - 1)];
	return NULL;
}

/* The text ends where nothing may be read any more. */
static void torn_init(struct torn *t, const char *text, size_t n, size_t behind)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	t->size = 2 * page;
	t->page = mmap(NULL, t->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(t->page != MAP_FAILED && n + behind <= page);
	assert_int_equal(mprotect(t->page + page, page, PROT_NONE), 0);
	char *to = t->page + page - behind - n;
	memcpy(to, text, n);
	t->text = (struct span){to, n};
	atomic_store(&t->stop, false);
}

static void while_it_changes(const char *text, size_t n, size_t behind, bool whole, void (*use)(struct span text))
{
	struct torn t;
	pthread_t thread;
#ifdef __SANITIZE_THREAD__
	skip(); /* it races on purpose */
#endif
	torn_init(&t, text, n, behind);
	assert_int_equal(pthread_create(&thread, NULL, change, &t), 0);
	/* Of all lengths: some of what is made just fills the memory it was given. */
	for (size_t i = 0; i < ROUNDS; i++) {
		size_t skipped = whole ? 0 : i % n;
		use((struct span){t.text.p + skipped, n - skipped});
	}
	atomic_store(&t.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	munmap(t.page, t.size);
}

static void decode(struct span text)
{
	for (int how = JSON_EXACT; how <= JSON_CLEAN; how++) {
		struct buf out CLEANUP_BUF = BUF_INIT;
		json_decode(text, (enum json_decode)how, &out);
		assert_int_equal(buf_err(&out), 0);
		json_decoded_size(text, (enum json_decode)how);
	}
	struct buf quoted CLEANUP_BUF = BUF_INIT;
	json_quote(text, &quoted);
	json_well_formed(text, &quoted);
}

static void strings_are_decoded(void **state)
{
	(void)state;
	char text[1500];
	memset(text, 'x', sizeof text);
	while_it_changes(text, sizeof text, 0, false, decode);
}

static void decode_image(struct span text)
{
	struct part_image img = {.data = {JSON_STRING, false, text}, .size = base64_decode(text, NULL)};
	struct buf out CLEANUP_BUF = BUF_INIT;
	part_image(&img, &out);
	assert_true(out.n <= text.n);
}

static void images_are_decoded(void **state)
{
	(void)state;
	char text[1500];
	memset(text, 'A', sizeof text);
	while_it_changes(text, sizeof text, 0, false, decode_image);
}

#define BLOCKS                                                                                                         \
	"{\"type\":\"text\",\"text\":\"some text\"},{\"type\":\"thinking\",\"thinking\":\"thoughts\"},"                \
	"{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"iVBORw0KGgo=\"},"                                   \
	"{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"edit\",\"arguments\":{\"a\":[1,2.5e3,{\"b\":null}]}}"
#define LINE                                                                                                           \
	"{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"message\":" \
	"{\"role\":\"assistant\",\"content\":[" BLOCKS "," BLOCKS "],\"usage\":{\"input\":12.25,\"cost\":{\"total\":"  \
	"0.0125}}}}"

static void show(const struct record *r, struct buf *out)
{
	struct part_image img = {.n = 0};
	struct part_call call = {.n = 0};
	double d;
	part_text(r, out);
	part_thinking(r, out);
	part_text_size(r);
	part_thinking_size(r);
	for (int i = 0; i < 64 && part_image_next(r, &img); i++)
		part_image(&img, out);
	for (int i = 0; i < 64 && part_call_next(r, &call); i++)
		part_arguments(&call, out);
	json_double(json_get(part_usage(r), "input"), &d);
}

static void read_record(struct span text)
{
	struct buf deep CLEANUP_BUF = BUF_INIT, out CLEANUP_BUF = BUF_INIT;
	struct blocks blocks;
	struct record r;
	struct record_head head;
	if (record_parse_blocks(text, false, &deep, &r, &blocks))
		show(&r, &out);
	record_head(text, &deep, &head, NULL, NULL);
	record_head_padded(text, &deep, &head, NULL, NULL);
}

static void lines_are_read(void **state)
{
	(void)state;
	while_it_changes(LINE, sizeof LINE - 1, RECORD_PAD + 1, true, read_record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(strings_are_decoded),
	    cmocka_unit_test(images_are_decoded),
	    cmocka_unit_test(lines_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
