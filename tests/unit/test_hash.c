/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "sessionfs/base/hash.h"
#include "sessionfs/base/map.h"

#include <pthread.h>

/* Returns the largest number of `n` values in one of 4096 cells: a fair hash has about n / 4096 in each. */
static unsigned fullest(uint64_t step, unsigned n)
{
	static unsigned cells[4096];
	unsigned most = 0;
	memset(cells, 0, sizeof cells);
	for (uint64_t i = 0; i < n; i++) {
		unsigned *cell = &cells[hash_word(i * step) % 4096];
		if (++*cell > most)
			most = *cell;
	}
	return most;
}

/* Node ids and addresses differ in a few bits, anywhere. */
CASE(words_spread)
{
	for (unsigned bit = 0; bit < 52; bit++)
		assert_true(fullest(UINT64_C(1) << bit, 4096) <= 16);
}

CASE(only_given_bytes_count)
{
	const struct hash_key k = {1, 3};
	char text[64], other[64];
	for (size_t n = 0; n < sizeof text; n++) {
		memset(text, 'a', sizeof text);
		uint64_t h = hash_bytes(&k, 0, text, n);
		memcpy(other, text, sizeof text);
		assert_true(hash_bytes(&k, 0, other, n) == h);
		assert_true(hash_bytes(&k, 1, text, n) != h);
		assert_true(n + 1 == sizeof text || hash_bytes(&k, 0, text, n + 1) != h);
		/* Each byte counts. */
		for (size_t i = 0; i < n; i++) {
			other[i] ^= 1;
			assert_true(hash_bytes(&k, 0, other, n) != h);
			other[i] ^= 1;
		}
	}
}

/* The lengths of two short texts never cancel their difference, for any secret. */
CASE(lengths_count)
{
	for (unsigned i = 0; i < 10000; i++) {
		struct hash_key k;
		hash_key_draw(&k);
		assert_true(hash_bytes(&k, 0, "a1110", 5) != hash_bytes(&k, 0, "b11110", 6));
		assert_true(hash_bytes(&k, 0, "a111110", 7) != hash_bytes(&k, 0, "b11110", 6));
	}
}

static void *draw(void *arg)
{
	struct hash_key k;
	hash_key_draw(&k);
	return k.factor & 1 ? (void *)(uintptr_t)hash_bytes(&k, 0, "text", 4) : NULL;
}

/* In threads, too, one after the other, whose addresses are alike. */
CASE(drawn_keys_differ)
{
	void *h[6];
	pthread_t thread;
	for (size_t i = 0; i < COUNT(h); i++) {
		h[i] = draw(NULL);
		if (i % 2)
			assert_true(!pthread_create(&thread, NULL, draw, NULL) && !pthread_join(thread, &h[i]));
		for (size_t k = 0; k < i; k++)
			assert_ptr_not_equal(h[i], h[k]);
	}
}

CASE(map_finds_names)
{
	static char names[5000][8];
	struct map m = {0};
	assert_int_equal(map_get(&m, 0, span_of("0")), MAP_NONE);
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(names[i], sizeof names[i], "%u", i);
		assert_int_equal(map_put(&m, i % 3, span_of(names[i]), i), 0);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		assert_int_equal(map_get(&m, i % 3, span_of(names[i])), i);
		assert_int_equal(map_get(&m, i % 3 + 1, span_of(names[i])), MAP_NONE);
	}
	assert_int_equal(map_put(&m, 0, SPAN_LIT("0"), 7), 0);
	assert_int_equal(map_get(&m, 0, SPAN_LIT("0")), 7);
	assert_int_equal(m.n, 5000);
	/* Those that are removed leave the others where they are found. */
	for (uint32_t i = 0; i < 5000; i += i % 7 == 0 ? 2 : 1) {
		map_remove(&m, i % 3 + 1, span_of(names[i]));
		map_remove(&m, i % 3, span_of(names[i]));
	}
	uint32_t kept = 0;
	for (uint32_t i = 0; i < 5000; i++) {
		bool is_kept = i > 0 && (i - 1) % 7 == 0;
		assert_int_equal(map_get(&m, i % 3, span_of(names[i])), is_kept ? i : MAP_NONE);
		kept += is_kept;
	}
	assert_int_equal(m.n, kept);
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(map_put(&m, i % 3, span_of(names[i]), i), 0);
	assert_int_equal(m.n, 5000);
	assert_int_equal(map_put(&m, 0, SPAN_LIT(""), 8), 0);
	assert_int_equal(map_get(&m, 0, (struct span){NULL, 0}), 8);
	map_release(&m);
	assert_int_equal(map_get(&m, 0, SPAN_LIT("0")), MAP_NONE);
}

RUN_CASES(NULL, NULL)
