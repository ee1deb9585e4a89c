/* What stands below the tree, with each allocation and each read failing once: the error is told, nothing wrong is
 * said, and the next try succeeds. The linker puts these functions in place of the library's (see the Makefile). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sessionfs/session.h"

#include <errno.h>

#include "session_fixture.h"

/* ---- what fails ---- */

/* The nth call from now on; 0: none. With `error` 0 a read comes out short. */
static struct failure {
	unsigned nth, calls;
	int error;
	bool reads, fired;
} failure;

static bool fails(bool read)
{
	if (!failure.nth || failure.reads != read || ++failure.calls != failure.nth)
		return false;
	failure.fired = true;
	errno = failure.error;
	return true;
}

static void let_fail(bool reads, int error, unsigned nth)
{
	failure = (struct failure){.nth = nth, .error = error, .reads = reads};
}

/* Whether it came to that. */
static bool has_failed(void)
{
	failure.nth = 0;
	return failure.fired;
}

#define WRAP_ALLOC(type, name, parameters, arguments)                                                                  \
	type __real_##name parameters;                                                                                 \
	type __wrap_##name parameters;                                                                                 \
	type __wrap_##name parameters                                                                                  \
	{                                                                                                              \
		return fails(false) ? NULL : __real_##name arguments;                                                  \
	}

WRAP_ALLOC(void *, malloc, (size_t n), (n))
WRAP_ALLOC(void *, calloc, (size_t n, size_t size), (n, size))
WRAP_ALLOC(void *, realloc, (void *p, size_t n), (p, n))
WRAP_ALLOC(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size))
WRAP_ALLOC(char *, strdup, (const char *s), (s))

ssize_t __real_pread64(int fd, void *p, size_t n, off_t off);
ssize_t __wrap_pread64(int fd, void *p, size_t n, off_t off);
ssize_t __wrap_pread64(int fd, void *p, size_t n, off_t off)
{
	if (!fails(true))
		return __real_pread64(fd, p, n, off);
	return failure.error ? -1 : __real_pread64(fd, p, n > 1 ? n / 2 : n, off);
}

/* ---- the sessions ---- */

#define IMAGE "{\"type\":\"image\",\"data\":\"aGk=\",\"mimeType\":\"image/png\"}"

static const char plain[] = HEADER USER("\"a\"", "null") CALL("\"b\"", "\"a\"", "\"c1\",\"name\":\"bash\"", "," IMAGE)
    RESULT("\"c\"", "\"b\"", "\"c1\"") LABEL("\"d\"", "\"c\"", "\"a\"", "\"one\"") INFO("\"e\"", "\"d\"", "\"a name\"")
	LABEL("\"f\"", "\"e\"", "\"c\"", "\"two\"") "{bad\n" USER("\"\\u0067\"", "\"gone\"") META("7", "\"a\"");
static const char more[] = USER("\"h\"", "\"a\"") LABEL("\"i\"", "\"h\"", "\"h\"", "\"three\"") "{bad\n";

static const struct {
	bool reads;
	int error;
} ways[] = {{false, ENOMEM}, {true, EIO}, {true, EINTR}, {true, ENOMEM}, {true, 0}};

#define EACH_WAY(w) for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)

/* ---- a file that grows ---- */

static void session_close_at(struct session **s)
{
	session_close(*s);
}

/* 1 once nothing is left to fail. An interrupted or a short read is no failure. */
static int grow_once(size_t way, unsigned nth)
{
	CLEANUP(fixture_release) struct fixture f;
	CLEANUP_BUF struct buf out = BUF_INIT, want = BUF_INIT;
	CLEANUP(session_close_at) struct session *whole = NULL;

	open_text(&f, plain);
	append(&f, more, strlen(more));
	let_fail(ways[way].reads, ways[way].error, nth);
	int rc = session_grow(f.s);
	bool failed = has_failed();
	bool harmless = ways[way].reads && (ways[way].error == EINTR || ways[way].error == 0);
	if (!failed || harmless)
		assert_int_equal(rc, 1);
	else
		assert_true(rc == 1 || rc == -ways[way].error);
	/* Where it failed half way the index is to be built anew. */
	rc = session_grow(f.s);
	assert_true(rc >= 0 || (failed && rc == -ESTALE && !harmless));
	if (rc >= 0) {
		assert_int_equal(session_open(f.path, &whole), 0);
		describe(f.s, &out);
		describe(whole, &want);
		assert_text(&out, buf_cstr(&want));
	}
	return !failed;
}

static void growing(void **state)
{
	(void)state;
	EACH_WAY(w)
	for (unsigned n = 1; !grow_once(w, n); n++)
		assert_true(n < 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(growing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
