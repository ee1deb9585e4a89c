/* The tests of json, on the code for machines without AVX-512. */
#define __builtin_cpu_supports(feature) (sizeof(feature) != sizeof "avx512bw" && __builtin_cpu_supports(feature))
#include "../../src/json/json.c"

#include "test_json.c"
