/* SPDX-License-Identifier: MIT */
/* vec: arrays that grow.
 *
 * A vector is any struct with a pointer `v` to `cap` elements, of which the first `n` are used. A vector that is all
 * zero is empty. Arrays whose members have other names grow by vec_grow. Elements move when the vector grows. */
#ifndef SESSIONFS_VEC_H
#define SESSIONFS_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* A vector of T. */
#define VEC(T)                                                                                                         \
	struct {                                                                                                       \
		T *v;                                                                                                  \
		size_t n, cap;                                                                                         \
	}

/* Makes room for `need` elements of `size` bytes, and for more, so that growing one by one costs O(1) each. `pp` points
 * to the array's pointer. Returns false if out of memory (deferred_set): the array stays as it is. */
bool vec_grow(void *pp, size_t *cap, size_t need, size_t size);
void vec_shrink(void *pp, size_t *cap, size_t n, size_t size);
/* Returns the memory of an array. Unused room takes none until it is touched, except for the first page. */
size_t vec_memory(size_t n, size_t cap, size_t size);

/* Makes room for `more` elements. Returns false if out of memory. */
#define vec_reserve(vec, more)                                                                                         \
	((vec)->cap - (vec)->n >= (more) || vec_grow(&(vec)->v, &(vec)->cap, (vec)->n + (more), sizeof *(vec)->v))
/* Frees unused room, but keeps some to grow. */
#define vec_trim(vec) vec_shrink(&(vec)->v, &(vec)->cap, (vec)->n, sizeof *(vec)->v)
#define vec_used(vec) ((vec)->n * sizeof *(vec)->v)
#define vec_held(vec) vec_memory((vec)->n, (vec)->cap, sizeof *(vec)->v)
#define vec_release(vec) free((vec)->v)

#endif
