/* SPDX-License-Identifier: MIT */
/* cases: cmocka, with the headers that it needs. */
#ifndef TEST_CASES_H
#define TEST_CASES_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#endif
