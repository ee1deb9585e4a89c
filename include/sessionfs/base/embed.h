/* SPDX-License-Identifier: MIT */
/* EMBED: a file of the source as a string. */
#ifndef SESSIONFS_EMBED_H
#define SESSIONFS_EMBED_H

#ifdef __APPLE__
#define EMBED_BEGIN(name) ".const\n_" #name ":"
#define EMBED_END ".text"
#else
#define EMBED_BEGIN(name) ".pushsection .rodata\n" #name ":"
#define EMBED_END ".popsection"
#endif
#define EMBED(name, path)                                                                                              \
	extern const char name[] __attribute__((visibility("hidden")));                                                \
	__asm__(EMBED_BEGIN(name) " .incbin \"" path "\"\n.byte 0\n" EMBED_END)

#endif
