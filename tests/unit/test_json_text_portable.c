/* SPDX-License-Identifier: MIT */
/* The tests of JSON strings, on the code for machines without SSE2. */
#undef __SSE2__
#include "../../src/json/text.c"
#include "test_json_text.c"
