/* SPDX-License-Identifier: MIT */
/* Mistakes that a test plants, one at a time, to show that it finds them (tests/unit/test_catalog_mistakes.c, which
 * says what they are). In the program MISTAKE is false. */
#ifndef SESSIONFS_CATALOG_MISTAKES_H
#define SESSIONFS_CATALOG_MISTAKES_H

#ifdef SESSIONFS_MISTAKES
/* clang-format off */
enum catalog_mistake {
	NO_MISTAKE, BEGAN_LATE, COMES_OLD, RACY, TICK_LATE, WATCH_LATE, KEEP_WATCH, OVERFLOW, NO_CLIMB, VALID_LONG,
	NO_DRAIN, NO_WAKE, NO_RETRY, KEEPS_SLOT, ERROR_ABSENT, KEEPS_SCAN, STALE_INDEX, MISTAKES
};
/* clang-format on */
extern enum catalog_mistake catalog_mistake;
#define MISTAKE(m) (catalog_mistake == (m))
#else
#define MISTAKE(m) false
#endif

#endif
