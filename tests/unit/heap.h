/* SPDX-License-Identifier: MIT */
/* heap: the bytes that the allocator has given out. */
#ifndef HEAP_H
#define HEAP_H

#include <malloc.h>
#include <stddef.h>

/* 0: an allocator that does not say. */
static inline size_t heap_used(void)
{
	struct mallinfo2 info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

#endif
