/* SPDX-License-Identifier: MIT */
#include "words.h"

#include "sessionfs/base/cancel.h"
#include "sessionfs/base/fold.h"
#include "sessionfs/base/utf8.h"

#include <errno.h>
#include <stdlib.h>

/* Size of a piece of text: it stays in the CPU's cache while it is searched for many words. */
enum { WORDS_PIECE_SIZE = 16 * 1024 };
/* Max bytes of a character. */
enum { CHARACTER = 4 };

#define ELLIPSIS "\xe2\x80\xa6"

int words_init(struct words *w, const struct query *q)
{
	*w = (struct words){.v = q->terms.v};
	for (; w->n < q->terms.n && term_is_word(&w->v[w->n]); w->n++) {
		w->n_required += !w->v[w->n].negated;
		if (w->longest < w->v[w->n].text.n)
			w->longest = w->v[w->n].text.n;
	}
	w->enough = q->in_session && w->n_required > 0 ? 1 : w->n_required;
	w->folded = malloc(w->longest + 2 * CHARACTER + FOLD_ROOM(WORDS_PIECE_SIZE));
	return w->folded ? 0 : -ENOMEM;
}

void words_release(struct words *w)
{
	free(w->folded);
}

void words_reset(struct words *w)
{
	memset(w->seen, 0, w->n * sizeof *w->seen);
}

/* Folds the next piece of *rest after the end of the one before. Keeps enough of that for words that end in this piece
 * or at its start, and one character before them. Returns false at the end of the text. */
static bool words_next_piece(struct words *w, struct span *rest)
{
	size_t keep = w->longest + 2 * CHARACTER;

	if (rest->n == 0)
		return false;
	w->kept = keep = keep < w->filled ? keep : w->filled;
	memmove(w->folded, w->folded + w->filled - keep, keep);
	w->filled = keep + fold_write(rest, WORDS_PIECE_SIZE, w->folded + keep);
	return true;
}

static bool is_word_at(struct span folded, size_t i)
{
	int n = i < folded.n ? utf8_next(folded.p + i, folded.n - i) : 0;

	return n > 0 && fold_is_word(utf8_char(folded.p + i, n));
}

bool word_is_whole(struct span folded, size_t at, size_t n)
{
	size_t before = at;

	while (before > 0 && (folded.p[--before] & 0xc0) == 0x80)
		;
	return !(at > 0 && is_word_at(folded, before)) && !is_word_at(folded, at + n);
}

/* Searches the piece for word i: sets found, and whole if `is_whole` asks for that. If more text follows, a word at the
 * end of the piece is searched again with the next piece. Returns whether it was found just now. */
static bool words_find_in_piece(struct words *w, size_t i, bool is_whole, bool more)
{
	struct span word = w->v[i].text, piece = {w->folded, w->filled};
	bool only_whole = w->v[i].kind == TERM_WHOLE, is_new = !w->found[i];
	const char *p = piece.p, *end = piece.p + piece.n;

	/* The character before a word at the start of a cut piece is unknown: the piece before decided about it. */
	p += w->kept == w->longest + 2 * CHARACTER ? CHARACTER : 0;
	for (; (p = memmem(p, (size_t)(end - p), word.p, word.n)); p++) {
		w->found[i] |= !only_whole;
		if (!only_whole && !is_whole)
			break;
		size_t at = (size_t)(p - piece.p);
		if ((more && at + word.n == piece.n) || !word_is_whole(piece, at, word.n))
			continue;
		w->found[i] = w->whole[i] = true;
		break;
	}
	return is_new && w->found[i];
}

/* Searches the text for the first n words. */
static void words_search(struct words *w, struct span text, size_t n, bool is_whole)
{
	memset(w->found, 0, w->n * sizeof *w->found);
	memset(w->whole, 0, w->n * sizeof *w->whole);
	w->missing = w->partial = w->n_required;
	w->filled = 0;
	while (((is_whole ? w->partial : w->missing) > 0 || n > w->n_required) && words_next_piece(w, &text)) {
		for (size_t i = 0; i < n; i++) {
			/* A word with a newline is in no line, though a text can contain it. */
			if (w->whole[i] || (w->found[i] && !is_whole) || memchr(w->v[i].text.p, '\n', w->v[i].text.n))
				continue;
			w->missing -= words_find_in_piece(w, i, is_whole, text.n > 0) && i < w->n_required;
			w->partial -= w->whole[i];
		}
	}
}

bool words_add_text(struct words *w, struct span text)
{
	words_search(w, text, w->n, false);
	for (size_t i = 0; i < w->n; i++)
		w->seen[i] |= w->found[i];
	return w->missing < w->n_required;
}

size_t words_seen(const struct words *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_required; i++)
		n += w->seen[i];
	return n;
}

bool words_match(const struct words *w)
{
	for (size_t i = w->n_required; i < w->n; i++)
		if (w->seen[i])
			return false;
	return words_seen(w) >= w->enough;
}

unsigned words_count(struct words *w, struct span text, unsigned *ret_whole)
{
	words_search(w, text, w->n_required, true);
	*ret_whole = (unsigned)(w->n_required - w->partial);
	return (unsigned)(w->n_required - w->missing);
}

/* --- the part of a line to show ----------------------------------------------------- */

/* Offsets are in characters of the folded line. */
struct part {
	size_t most;
	size_t begin, end; /* range that it must show: the words */
	uint64_t score;    /* words, whole words, and their characters */
	struct {
		size_t length;       /* characters that the part can show */
		size_t found, whole; /* last start, counted from 1; `whole`: as a whole word */
		size_t next;         /* its next end in the piece, in bytes, or SIZE_MAX */
	} words[QUERY_TERMS];
};

static size_t count_folded(const char *p, size_t n)
{
	size_t characters = 0;

	for (size_t i = 0; i < n; i++)
		characters += (p[i] & 0xc0) != 0x80;
	return characters;
}

/* Scores the part that ends with word i, at `end`. */
static void part_score(const struct words *w, struct part *p, size_t i, size_t end, bool whole, bool is_last)
{
	/* The first character that the part can show. */
	size_t from = end < p->most ? 0 : end + 2 - is_last - p->most, begin = end;
	uint64_t score = 0;

	p->words[i].found = end - p->words[i].length + 1;
	p->words[i].whole = whole ? p->words[i].found : p->words[i].whole;
	for (size_t k = 0; k < w->n_required; k++) {
		bool as_whole = p->words[k].whole > from;
		size_t found = as_whole ? p->words[k].whole : p->words[k].found;
		if (found <= from)
			continue;
		score += UINT64_C(1) << 48 | (uint64_t)as_whole << 32 | p->words[k].length;
		begin = found - 1 < begin ? found - 1 : begin;
	}
	if (score <= p->score)
		return;
	p->score = score;
	p->begin = begin;
	p->end = end;
}

static void part_find_next(const struct words *w, struct part *p, size_t i, size_t from)
{
	struct span word = w->v[i].text;
	const char *at = memmem(w->folded + from, w->filled - from, word.p, word.n);

	p->words[i].next = at ? (size_t)(at - w->folded) + word.n : SIZE_MAX;
}

/* Judges the part at each end of a word, in order. */
static int part_choose(struct words *w, struct span rest, struct part *p)
{
	size_t characters = 0, after = 0;
	int rc = 0;

	w->filled = 0;
	while (rc == 0 && p->score >> 32 < (w->n_required << 16 | w->n_required) && words_next_piece(w, &rest)) {
		/* The character after a word at the end of the piece is unknown. */
		size_t done = w->kept - after, stop = w->filled - (rest.n > 0 ? CHARACTER : 0), i = 0;
		for (size_t k = 0; k < w->n_required; k++)
			part_find_next(w, p, k, done < w->v[k].text.n ? 0 : done + 1 - w->v[k].text.n);
		for (;; part_find_next(w, p, i, p->words[i].next - w->v[i].text.n + 1)) {
			for (size_t k = i = 0; k < w->n_required; k++)
				i = p->words[k].next < p->words[i].next ? k : i;
			size_t end = p->words[i].next, n = w->v[i].text.n;
			if (end > stop)
				break;
			bool whole = word_is_whole((struct span){w->folded, w->filled}, end - n, n);
			characters += count_folded(w->folded + done, end - done);
			done = end;
			if (whole || w->v[i].kind == TERM_WORD)
				part_score(w, p, i, characters, whole, rest.n == 0 && end == w->filled);
		}
		characters += count_folded(w->folded + done, stop - done);
		after = w->filled - stop;
		rc = cancel_check();
	}
	return rc;
}

/* Skips a number of characters of the folded text in *rest. Returns the number of characters skipped in the text
 * itself. */
static size_t skip_folded(struct words *w, struct span *rest, size_t characters)
{
	struct span begin = *rest;

	for (size_t step = WORDS_PIECE_SIZE; step > 0 && rest->n > 0 && characters > 0;) {
		struct span next = *rest;
		size_t n = count_folded(w->folded, fold_write(&next, step, w->folded));
		if (n > characters && step > 1) {
			step /= 2;
			continue;
		}
		characters -= n < characters ? n : characters;
		*rest = next;
	}
	return utf8_count((struct span){begin.p, begin.n - rest->n});
}

int words_cut(struct words *w, struct span line, size_t most, struct buf *out)
{
	struct part p = {.most = most};
	struct span rest = line;
	size_t total = utf8_count(line);

	if (total <= most) {
		buf_addspan(out, line);
		return buf_err(out);
	}
	for (size_t i = 0; i < w->n_required; i++) {
		size_t length = count_folded(w->v[i].text.p, w->v[i].text.n);
		p.words[i].length = length < most - 2 ? length : most - 2;
	}
	int rc = w->n_required > 0 ? part_choose(w, line, &p) : 0;
	size_t begin = skip_folded(w, &rest, p.begin), end = begin + skip_folded(w, &rest, p.end - p.begin);
	/* An eighth is for the text before the words, if there is room. */
	begin -= begin > most / 8 ? most / 8 : begin;
	if (end + (end < total) > begin + most)
		begin = end + (end < total) - most;
	begin = begin < total - most ? begin : total - most;
	bool cut_before = begin > 0, cut_after = begin < total - most;
	size_t skip = utf8_first(line, begin + cut_before).n;
	buf_adds(out, cut_before ? ELLIPSIS : "");
	buf_addspan(out, utf8_first((struct span){line.p + skip, line.n - skip}, most - cut_before - cut_after));
	buf_adds(out, cut_after ? ELLIPSIS : "");
	return rc < 0 ? rc : buf_err(out);
}
