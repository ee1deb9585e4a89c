/* SPDX-License-Identifier: MIT */
/* SHA-256 of libmd, or of the system. */
#ifndef SESSIONFS_SHA256_H
#define SESSIONFS_SHA256_H

#ifdef __APPLE__
#include <CommonCrypto/CommonDigest.h>
#define SHA256_DIGEST_LENGTH CC_SHA256_DIGEST_LENGTH
#define SHA2_CTX CC_SHA256_CTX
#define SHA256Init CC_SHA256_Init
#define SHA256Update(sha, p, n) CC_SHA256_Update(sha, p, (CC_LONG)(n))
#define SHA256Final CC_SHA256_Final
#else
#include <sha256.h>
#endif

#endif
