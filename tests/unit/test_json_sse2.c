/* The tests of json, on the code for machines without AVX2. */
#define __builtin_cpu_supports(feature) 0
#include "../../src/json/json.c"

#include "test_json.c"
