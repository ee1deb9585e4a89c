/* SPDX-License-Identifier: MIT */
/* The tests of json, on the code for machines without SSE2. */
#undef __SSE2__
#include "../../src/json/json.c"
#include "test_json.c"
