/* SPDX-License-Identifier: MIT */
/* fuzz_name: name.c, utf8.c. Any text becomes a component that a kernel accepts, and is decoded from it unless it was
 * cut; other components are refused. Input: the text; then, in further steps, a prefix and a suffix. */
#include "fuzz.h"

#include "sessionfs/base/name.h"
#include "sessionfs/base/utf8.h"

static void assert_component(struct span name)
{
	assert_true(name.n > 0 && name.n <= NAME_BYTES);
	assert_null(memchr(name.p, '/', name.n));
	assert_null(memchr(name.p, '\0', name.n));
	assert_true(name.p[0] != '.');
	assert_int_equal(utf8_prefix(name), name.n);
}

static bool is_cut(struct span name)
{
	return name.n > 9 && name.p[name.n - 9] == '~' && name.n >= NAME_BYTES - 3;
}

static void check_text(struct span text)
{
	CLEANUP_BUF struct buf name = BUF_INIT, back = BUF_INIT;

	name_encode("", text, "", &name);
	assert_component(buf_span(&name));
	if (name_decode(buf_span(&name), &back))
		assert_spans_equal(buf_span(&back), text);
	else
		assert_true(is_cut(buf_span(&name)));
}

/* A component decodes to one text, and that text encodes to no other component. */
static void check_component(struct span component)
{
	CLEANUP_BUF struct buf text = BUF_INIT, name = BUF_INIT;

	if (!name_decode(component, &text)) {
		assert_int_equal(text.n, 0);
		return;
	}
	name_encode("", buf_span(&text), "", &name);
	assert_spans_equal(buf_span(&name), component);
}

static void check_around(struct span text, struct span before, struct span after)
{
	CLEANUP_BUF struct buf prefix = BUF_INIT, suffix = BUF_INIT, name = BUF_INIT;

	/* They are names themselves, and short. */
	name_encode("", (struct span){before.p, before.n < 20 ? before.n : 20}, "", &prefix);
	name_encode("", (struct span){after.p, after.n < 20 ? after.n : 20}, "", &suffix);
	name_encode(buf_cstr(&prefix), text, buf_cstr(&suffix), &name);
	assert_component(buf_span(&name));
	assert_memory_equal(name.p, prefix.p, prefix.n);
	if (!is_cut(buf_span(&name)))
		assert_memory_equal(name.p + name.n - suffix.n, suffix.p, suffix.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = feed_of(data, size);
	struct span text = feed_step(&f), prefix = feed_step(&f), suffix = feed_step(&f);

	check_text((struct span){(const char *)data, size});
	check_component((struct span){(const char *)data, size});
	check_around(text, prefix, suffix);
	return 0;
}
