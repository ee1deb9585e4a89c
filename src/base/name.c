/* SPDX-License-Identifier: MIT */
/* A component is encoded whole, then cut if it is too long. Decoding undoes the %XX and checks that the encoder would
 * give the same component. So the form is defined once, and every name that decodes is canonical. */
#include "sessionfs/base/name.h"
#include "sessionfs/base/utf8.h"

#include "sessionfs/base/sha256.h"

enum { HASH_DIGITS = 8, TRUNCATED_BYTES = NAME_BYTES - 1 - HASH_DIGITS };

static const char digits[] = "0123456789ABCDEF";

static bool name_is_plain(char c, bool first)
{
	unsigned char u = (unsigned char)c;
	return u >= 0x20 && u != 0x7f && c != '/' && c != '%' && !(first && (c == '.' || c == '~'));
}

/* Appends the encoded text, or as much of it as shows that it is too long. */
static void name_add_text(struct span text, bool first, struct buf *out)
{
	size_t begin = out->n;

	if (text.n == 0)
		buf_addc(out, '%');
	for (size_t i = 0; i < text.n && out->n - begin <= NAME_BYTES && !buf_err(out); first = false) {
		const char *p = text.p + i;
		size_t most = text.n - i < NAME_BYTES ? text.n - i : NAME_BYTES, run = 0;
		while (run < most && (unsigned char)p[run] < 0x80 && name_is_plain(p[run], first && run == 0))
			run++;
		if (run) {
			buf_add(out, p, run);
			i += run;
			continue;
		}
		int step = utf8_next(p, text.n - i);
		size_t n = (size_t)(step < 0 ? -step : step);
		if (step > 0 && name_is_plain(*p, first)) {
			buf_add(out, p, n);
		} else {
			for (size_t k = 0; k < n; k++) {
				unsigned char c = (unsigned char)p[k];
				buf_add(out, (const char[]){'%', digits[c >> 4], digits[c & 15]}, 3);
			}
		}
		i += n;
	}
}

/* Returns the length of a component after cutting it between characters to at most `most` bytes. */
static size_t truncated_size(struct span component, size_t most)
{
	size_t kept = 0;

	for (;;) {
		int step = utf8_next(component.p + kept, component.n - kept);
		size_t n = component.p[kept] == '%' ? 3 : (size_t)(step < 0 ? -step : step);
		if (kept + n > most)
			return kept;
		kept += n;
	}
}

void name_encode(const char *prefix, struct span text, const char *suffix, struct buf *out)
{
	size_t begin = out->n;
	char hash[HASH_DIGITS + 1];

	if (*prefix)
		buf_adds(out, prefix);
	name_add_text(text, !*prefix, out);
	if (*suffix)
		buf_adds(out, suffix);
	if (buf_err(out) || out->n - begin <= NAME_BYTES)
		return;
	out->n = begin + truncated_size((struct span){out->p + begin, out->n - begin}, TRUNCATED_BYTES);
	name_hash8(span_of(prefix), text, span_of(suffix), hash);
	buf_addc(out, '~');
	buf_adds(out, hash);
}

static int name_digit(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* Decodes each %XX. Returns false if a % does not begin one. */
static bool name_unescape(struct span component, struct buf *out)
{
	for (size_t i = 0; i < component.n; i++) {
		if (component.p[i] != '%') {
			buf_addc(out, component.p[i]);
			continue;
		}
		if (component.n - i < 3)
			return false;
		int high = name_digit(component.p[i + 1]), low = name_digit(component.p[i + 2]);
		if (high < 0 || low < 0)
			return false;
		buf_addc(out, (char)(high << 4 | low));
		i += 2;
	}
	return true;
}

/* Returns whether the component looks like a cut name, which is shorter than NAME_BYTES by less than one %XX or
 * character. A text that only looks like one counts as one. */
static bool is_truncated(struct span component)
{
	if (component.n < NAME_BYTES - 3)
		return false;
	const char *hash = component.p + component.n - HASH_DIGITS;
	for (size_t i = 0; i < HASH_DIGITS; i++)
		if (!hash[i] || !strchr("0123456789abcdef", hash[i]))
			return false;
	return hash[-1] == '~';
}

bool name_decode(struct span component, struct buf *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT, again = BUF_INIT;

	if (component.n == 0 || component.n > NAME_BYTES || is_truncated(component))
		return false;
	if (!span_is(component, "%") && !name_unescape(component, &text))
		return false;
	name_encode("", buf_span(&text), "", &again);
	if (buf_err(&text) || buf_err(&again) || !span_eq(component, buf_span(&again)))
		return false;
	buf_addspan(out, buf_span(&text));
	return !buf_err(out);
}

static void name_sha256(struct span a, struct span b, struct span c, uint8_t ret[SHA256_DIGEST_LENGTH])
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, (const uint8_t *)a.p, a.n);
	SHA256Update(&sha, (const uint8_t *)b.p, b.n);
	SHA256Update(&sha, (const uint8_t *)c.p, c.n);
	SHA256Final(ret, &sha);
}

void name_hash8(struct span a, struct span b, struct span c, char ret[9])
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	name_sha256(a, b, c, digest);
	for (size_t i = 0; i < HASH_DIGITS / 2; i++) {
		ret[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		ret[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
	ret[HASH_DIGITS] = '\0';
}

uint64_t name_hash64(struct span name)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	uint64_t hash = 0;
	name_sha256(name, SPAN_LIT(""), SPAN_LIT(""), digest);
	for (size_t i = 0; i < sizeof hash; i++)
		hash = hash << 8 | digest[i];
	return hash;
}
