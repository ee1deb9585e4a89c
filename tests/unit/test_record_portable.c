/* SPDX-License-Identifier: MIT */
/* The tests of record, for the code of machines without SSE2. */
#undef __SSE2__
#include "../../src/session/record_head.c"

#include "test_record.c"
