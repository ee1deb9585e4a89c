/* SPDX-License-Identifier: MIT */
/* The tests of secret, on the code for machines without SSE2. */
#undef __SSE2__
#include "../../src/base/secret.c"

#include "test_secret.c"
