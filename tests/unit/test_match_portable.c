/* SPDX-License-Identifier: MIT */
/* The tests of match, on the code for machines without SSE2. */
#undef __SSE2__
#include "../../src/find/needle.c"

#include "test_match.c"
