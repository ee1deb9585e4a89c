/* SPDX-License-Identifier: MIT */
/* The tests of secret, for the code of machines without SSE2. */
#undef __SSE2__
#include "../../src/file/secret.c"

#include "test_secret.c"
