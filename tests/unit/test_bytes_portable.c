/* SPDX-License-Identifier: MIT */
/* The tests of bytes, on the code for machines without SSE2. */
#undef __SSE2__
#include "test_bytes.c"
