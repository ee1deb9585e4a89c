/* SPDX-License-Identifier: MIT */
/* All that mutate.py changes, and what it leaves as it is, for tests/lint/mutants.sh. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWICE(n) ((n) > 0 ? 2 * (n) : 0)
#define SHARED 1
#define log_debug(...) log_message(__VA_ARGS__)

enum { ROOM = 3 + 1 };
enum { PLAIN, BOLD, WIDE };
static const int steps[ROOM] = {[1 + 1] = 2 + 3};
static char shown[800];

static void log_message(const char *text, int a, int b)
{
	(void)text, (void)a, (void)b;
}

static void show(const char *text)
{
	strcat(shown, text);
}

static int sample_show(int n)
{
	sprintf(shown + strlen(shown), "%d ", n);
	return 0;
}

/* Conditions, operands, bounds and numbers. */
static int sample_find(const char *text, char c, int max)
{
	int bits[ROOM + 1] = {0}, at = 0;
	for (int i = 0; text[i] && i < max; i++) /* a ; in a comment */
		if (text[i] == c || text[i] == ';')
			at += i + 1;
	if (at > 9)
		at -= 5;
	do {
		at += 10;
	} while (at < 20);
	return bits[0] + (at >= 24 ? at * 10 : steps[2]);
}

/* Errors, dropped statements, and a body without braces. */
static int sample_check(int n)
{
	int rc = TWICE(n) != 0 ? -ENOENT : 0;
	static int base = 2 + 2;
	char *copy = malloc(4);
	if (n == 1)
		show("one ");
	else
		base += n;
	log_debug("not changed", 1, 2);
	free(copy);
	switch (n) {
	case 3 + SHARED:
		return -EINVAL;
	default:
		(void)sample_show(base);
	}
	do {
		(void)n;
	} while (0);
	return rc;
}

static bool sample_is_even(int n)
{
	if (n % 2)
		return false;
	return true;
}

static int sample_area(int width, int height, int style, bool is_full)
{
	return (10 * width + (is_full ? height : 0)) * 10 + style;
}

/* Truths, labels, flags and arguments. */
static void sample_draw(int n)
{
	bool is_known = true;
	switch (n) {
	case 1:
	case 3:
		is_known = sample_is_even(n);
		break;
	case PLAIN:
		is_known = false;
	}
	sample_show(sample_area(3, n + 2, BOLD, is_known));
	sample_show(sample_area(n, ROOM, WIDE | BOLD, true));
	sample_show(sample_is_even(n));
	show(strcmp("one", "two") ? "other " : "");
}

const char *sample_results(void);
const char *sample_results(void)
{
	static const char *const texts[] = {"", "xxxa", "xxa", "aaaaa", "xxxaa", "xa;xx", "aaaa"};
	show("results ");
	for (int n = 0; n < 7; n++) {
		sample_show(sample_find(texts[n], 'a', n == 3 ? 3 : 5));
		sample_show(sample_check(n));
		sample_draw(n);
	}
	return shown;
}
