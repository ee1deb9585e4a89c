/* SPDX-License-Identifier: MIT */
/* Short-lived states of writable names, the reasons of refused writes, and the processes that may remove nothing for a
 * while. All of it is small: fixed arrays, searched from end to end. If an array is full, the oldest is forgotten,
 * which only means that a name is there again. */
#include "sessionfs/base/log.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/process.h"
#include "sessionfs/base/sys.h"
#include "write_impl.h"

#include <errno.h>

#define HIDDEN_MS 10000
#define WARNED_MS 10000

/* The place of this name, or the one that is shown again first. */
static struct hidden *hidden_place(struct tree *t, node_t node)
{
	struct hidden *first = &t->hidden[0];
	for (size_t i = 0; i < TREE_HIDDEN; i++) {
		if (t->hidden[i].node == node)
			return &t->hidden[i];
		if (t->hidden[i].until_ms < first->until_ms)
			first = &t->hidden[i];
	}
	return first;
}

void state_hide(struct tree *t, struct node n)
{
	LOCKED(&t->state_lock);
	*hidden_place(t, node_pack(n)) = (struct hidden){node_pack(n), clock_ms(CLOCK_MONOTONIC) + HIDDEN_MS};
}

void state_show(struct tree *t, struct node n)
{
	LOCKED(&t->state_lock);
	struct hidden *h = hidden_place(t, node_pack(n));
	if (h->node == node_pack(n))
		*h = (struct hidden){0};
}

static bool is_fresh(const struct tree *t, node_t node)
{
	const struct tree_handle *h = t->handles;
	while (h && !(h->fresh && node_pack(h->node) == node))
		h = h->next;
	return h;
}

bool state_is_fresh(struct tree *t, struct node n)
{
	LOCKED(&t->state_lock);
	return is_fresh(t, node_pack(n));
}

bool state_is_hidden(struct tree *t, struct node n)
{
	LOCKED(&t->state_lock);
	const struct hidden *h = hidden_place(t, node_pack(n));
	return h->node == node_pack(n) && h->until_ms > clock_ms(CLOCK_MONOTONIC) && !is_fresh(t, h->node);
}

void state_forget(struct tree *t, struct node n)
{
	LOCKED(&t->state_lock);
	for (struct tree_handle *h = t->handles; h; h = h->next) {
		if (h->fresh && node_pack(h->node) == node_pack(n)) {
			h->fresh = false;
			h->removed = true;
		}
	}
}

static bool is_in(struct node n, struct node dir)
{
	return kind_is_in(kind_of(n), dir) && n.slot == dir.slot && n.entry == dir.entry;
}

bool state_is_in(struct tree *t, struct node dir)
{
	LOCKED(&t->state_lock);
	int64_t now = clock_ms(CLOCK_MONOTONIC);
	for (size_t i = 0; i < TREE_HIDDEN; i++)
		if (t->hidden[i].until_ms > now && is_in(node_unpack(t->hidden[i].node), dir))
			return true;
	for (const struct tree_handle *h = t->handles; h; h = h->next)
		if (h->fresh && is_in(h->node, dir))
			return true;
	return false;
}

struct stat state_synced(struct tree *t)
{
	LOCKED(&t->state_lock);
	return t->synced;
}

void state_note_synced(struct tree *t, const struct stat *synced)
{
	LOCKED(&t->state_lock);
	t->synced = *synced;
}

/* --- refusals ---------------------------------------------------------------------- */

/* Returns the session of the refusal that is forgotten for it, NO_SLOT if none is. */
static uint32_t add_refusal(struct tree *t, const struct slot_info *slot, const char *what, int rc, const char *why)
{
	LOCKED(&t->state_lock);
	struct refusal *r = &t->refusals[t->refused++ % TREE_REFUSALS];
	uint32_t forgotten = r->text.n > 0 ? r->slot : NO_SLOT;
	buf_release(&r->text);
	r->slot = slot->slot;
	r->place = slot->place;
	number_add_time((double)clock_ms(CLOCK_REALTIME), &r->text);
	buf_addf(&r->text, " %s: %s", what, why);
	if (rc < 0)
		buf_addf(&r->text, " (%s)", sys_error_name(-rc) ? sys_error_name(-rc) : "error");
	buf_addc(&r->text, '\n');
	return forgotten;
}

/* `errors` comes or goes with no change of a file: it is noted in the catalog as one. */
void state_refuse(struct tree *t, struct node n, const char *what, int rc, const char *why)
{
	struct slot_info slot;
	const struct kind *k = kind_of(n);
	if (!k || k->from->scope < SCOPE_SLOT || commit_slot(t, n.slot, &slot) < 0) {
		log_warning("%s%s: %s", k && k->from->scope >= SCOPE_SLOT ? "session: " : "", what, why);
		return;
	}
	log_warning("%s: %s: %s", slot.file, what, why);
	uint32_t forgotten = add_refusal(t, &slot, what, rc, why);
	atomic_fetch_add(&t->commits, 1);
	catalog_add_change(t->catalog, slot.slot);
	if (forgotten != slot.slot)
		catalog_add_change(t->catalog, forgotten);
}

uint64_t state_serial(struct tree *t)
{
	LOCKED(&t->state_lock);
	return t->refused;
}

/* Newest first. */
void state_errors(struct tree *t, uint32_t place, struct buf *out)
{
	LOCKED(&t->state_lock);
	for (size_t i = 0; i < TREE_REFUSALS; i++) {
		const struct refusal *r = &t->refusals[(t->refused - 1 - i) % TREE_REFUSALS];
		if (r->text.n > 0 && r->place == place)
			buf_addspan(out, buf_span(&r->text));
	}
}

/* --- who may remove ---------------------------------------------------------------- */

static bool is_warned(const struct warned *w)
{
	return w->at_ms != 0 && w->at_ms > clock_ms(CLOCK_MONOTONIC) - WARNED_MS;
}

/* Renews the same process and name, or replaces the oldest. A process that keeps removing is warned again and again, so
 * it is not the one that is forgotten. */
void state_warn(struct tree *t, pid_t thread, node_t spoilt)
{
	pid_t process = process_of_thread(thread);
	LOCKED(&t->state_lock);
	struct warned *to = &t->warned[0];
	for (struct warned *w = t->warned; w < t->warned + TREE_WARNED; w++) {
		if (is_warned(w) && w->process == process && w->spoilt == spoilt) {
			w->at_ms = clock_ms(CLOCK_MONOTONIC);
			return;
		}
		if (w->at_ms < to->at_ms)
			to = w;
	}
	*to = (struct warned){.process = process, .spoilt = spoilt, .at_ms = clock_ms(CLOCK_MONOTONIC)};
}

void state_mended(struct tree *t, struct node n)
{
	LOCKED(&t->state_lock);
	for (size_t i = 0; i < TREE_WARNED; i++)
		if (t->warned[i].spoilt == node_pack(n))
			t->warned[i] = (struct warned){0};
}

const char *state_keeps(struct tree *t, pid_t thread, struct node n, uint32_t slot, bool *ret_tell)
{
	pid_t process = process_of_thread(thread);
	LOCKED(&t->state_lock);
	for (size_t i = 0; i < TREE_WARNED; i++) {
		struct warned *w = &t->warned[i];
		if (!is_warned(w) || w->process != process || (w->spoilt != 0 && w->spoilt != node_pack(n)))
			continue;
		if (w->spoilt)
			return "a write of it was refused to this process";
		*ret_tell = w->told != slot + 1;
		w->told = slot + 1;
		return "not removed, since another removal was refused to this process";
	}
	return NULL;
}

/* --- what was saved from tables ------------------------------------------------------ */

static uint64_t hash_label(const struct tree *t, struct span label)
{
	return hash_bytes(&t->secret, 0, label.p, label.n);
}

/* The place of this label of the table, if it is kept. */
static struct saved *set_of(struct tree *t, uint32_t slot, uint32_t line, uint32_t entry)
{
	uint64_t h = hash_word(hash_word((uint64_t)slot << 32 | entry) ^ line);
	return &t->saved[h % TREE_SAVED_SETS * TREE_SAVED_WAYS];
}

static bool is_place(const struct saved *s, uint32_t slot, uint32_t line, uint32_t entry)
{
	return s->turn != 0 && s->slot == slot && s->line == line && s->entry == entry;
}

void state_saved(struct tree *t, uint32_t slot, uint32_t line, uint32_t entry, struct span label)
{
	LOCKED(&t->state_lock);
	if (!t->saved)
		t->saved = calloc((size_t)TREE_SAVED_SETS * TREE_SAVED_WAYS, sizeof *t->saved);
	if (!t->saved)
		return;
	struct saved *set = set_of(t, slot, line, entry), *to = set;
	for (size_t i = 0; i < TREE_SAVED_WAYS; i++) {
		if (is_place(&set[i], slot, line, entry)) {
			to = &set[i];
			break;
		}
		if (set[i].turn < to->turn)
			to = &set[i];
	}
	*to = (struct saved){slot, line, entry, ++t->saves, hash_label(t, label)};
}

bool state_is_saved(struct tree *t, uint32_t slot, uint32_t line, uint32_t entry, struct span label)
{
	LOCKED(&t->state_lock);
	const struct saved *set = t->saved ? set_of(t, slot, line, entry) : NULL;
	for (size_t i = 0; set && i < TREE_SAVED_WAYS; i++)
		if (is_place(&set[i], slot, line, entry))
			return set[i].label == hash_label(t, label);
	return false;
}

void state_close(struct tree *t)
{
	free(t->saved);
	for (size_t i = 0; i < TREE_REFUSALS; i++)
		buf_release(&t->refusals[i].text);
	lock_destroy(&t->state_lock);
}
