/* SPDX-License-Identifier: MIT */
/* Short-lived states of writable names, the reasons of refused writes, and the processes that must not remove names for
 * a while. All of it is small: fixed arrays with linear search. A full array drops its oldest element, which only makes
 * a hidden name visible again. */
#include "sessionfs/base/log.h"
#include "sessionfs/base/number.h"
#include "sessionfs/base/process.h"
#include "sessionfs/base/sys.h"
#include "write_impl.h"

#include <errno.h>

#define HIDDEN_MS 10000
#define REMOVAL_BLOCK_MS 10000

/* Returns the element of this name, or the one that expires first. */
static struct hidden_name *recently_removed_slot(struct tree *t, node_t node)
{
	struct hidden_name *first = &t->hidden[0];
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
	*recently_removed_slot(t, node_pack(n)) =
	    (struct hidden_name){node_pack(n), clock_ms(CLOCK_MONOTONIC) + HIDDEN_MS};
}

void state_set_written(struct tree *t, struct node n)
{
	LOCKED(&t->state_lock);
	struct hidden_name *h = recently_removed_slot(t, node_pack(n));
	if (h->node == node_pack(n))
		*h = (struct hidden_name){0};
	for (size_t i = 0; i < TREE_REMOVAL_BLOCKS; i++)
		if (t->removal_blocks[i].failed_write == node_pack(n))
			t->removal_blocks[i] = (struct removal_block){0};
}

static bool created_is_unwritten(const struct tree *t, node_t node)
{
	const struct tree_handle *h = t->handles;
	while (h && !(h->is_new && node_pack(h->node) == node))
		h = h->next;
	return h;
}

bool state_is_created(struct tree *t, struct node n)
{
	LOCKED(&t->state_lock);
	return created_is_unwritten(t, node_pack(n));
}

bool state_is_hidden(struct tree *t, struct node n)
{
	LOCKED(&t->state_lock);
	const struct hidden_name *h = recently_removed_slot(t, node_pack(n));
	return h->node == node_pack(n) && h->until_ms > clock_ms(CLOCK_MONOTONIC) && !created_is_unwritten(t, h->node);
}

void state_drop_created(struct tree *t, struct node n)
{
	LOCKED(&t->state_lock);
	for (struct tree_handle *h = t->handles; h; h = h->next) {
		if (h->is_new && node_pack(h->node) == node_pack(n)) {
			h->is_new = false;
			h->removed = true;
		}
	}
}

static bool hidden_is_in_dir(struct node n, struct node dir)
{
	return kind_is_in(kind_of(n), dir) && n.slot == dir.slot && n.entry == dir.entry;
}

bool tree_is_listing_volatile(struct tree *t, node_t id)
{
	struct node dir = tree_node(id);
	LOCKED(&t->state_lock);
	int64_t now = clock_ms(CLOCK_MONOTONIC);
	for (size_t i = 0; i < TREE_HIDDEN; i++)
		if (t->hidden[i].until_ms > now && hidden_is_in_dir(node_unpack(t->hidden[i].node), dir))
			return true;
	for (const struct tree_handle *h = t->handles; h; h = h->next)
		if (h->is_new && hidden_is_in_dir(h->node, dir))
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

/* Returns the session of the refusal that this one replaces, or NO_SLOT. */
static uint32_t refusal_store(struct tree *t, const struct slot_info *slot, const char *what, int rc, const char *why)
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

/* `errors` appears or disappears without a change of a file, so the catalog records a change. */
void state_add_refusal(struct tree *t, struct node n, const char *what, int rc, const char *why)
{
	struct slot_info slot;
	const struct kind *k = kind_of(n);
	if (!k || k->from->scope < SCOPE_SLOT || commit_slot(t, n.slot, &slot) < 0) {
		log_warning("%s%s: %s", k && k->from->scope >= SCOPE_SLOT ? "session: " : "", what, why);
		return;
	}
	log_warning("%s: %s: %s", slot.file, what, why);
	uint32_t forgotten = refusal_store(t, &slot, what, rc, why);
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
void state_append_errors(struct tree *t, uint32_t place, struct buf *out)
{
	LOCKED(&t->state_lock);
	for (size_t i = 0; i < TREE_REFUSALS; i++) {
		const struct refusal *r = &t->refusals[(t->refused - 1 - i) % TREE_REFUSALS];
		if (r->text.n > 0 && r->place == place)
			buf_addspan(out, buf_span(&r->text));
	}
}

/* --- who may remove ---------------------------------------------------------------- */

static bool removal_block_is_active(const struct removal_block *w)
{
	return w->at_ms != 0 && w->at_ms > clock_ms(CLOCK_MONOTONIC) - REMOVAL_BLOCK_MS;
}

/* Renews the element of the same process and name, or replaces the oldest. Each refused removal renews its element, so
 * a process that keeps removing is not the one replaced. */
void state_block_removals(struct tree *t, pid_t thread, node_t spoilt)
{
	pid_t process = process_of_thread(thread);
	LOCKED(&t->state_lock);
	struct removal_block *to = &t->removal_blocks[0];
	for (struct removal_block *w = t->removal_blocks; w < t->removal_blocks + TREE_REMOVAL_BLOCKS; w++) {
		if (removal_block_is_active(w) && w->process == process && w->failed_write == spoilt) {
			w->at_ms = clock_ms(CLOCK_MONOTONIC);
			return;
		}
		if (w->at_ms < to->at_ms)
			to = w;
	}
	*to = (struct removal_block){.process = process, .failed_write = spoilt, .at_ms = clock_ms(CLOCK_MONOTONIC)};
}

const char *state_removal_is_blocked(struct tree *t, pid_t thread, struct node n, node_t dir, bool *ret_tell)
{
	pid_t process = process_of_thread(thread);
	uint32_t where = tree_is_of_session(dir) ? tree_node(dir).slot + 1 : NO_SLOT;
	LOCKED(&t->state_lock);
	for (size_t i = 0; i < TREE_REMOVAL_BLOCKS; i++) {
		struct removal_block *w = &t->removal_blocks[i];
		if (!removal_block_is_active(w) || w->process != process ||
		    (w->failed_write != 0 && w->failed_write != node_pack(n)))
			continue;
		*ret_tell = w->reported_in != where;
		w->reported_in = where;
		return w->failed_write ? "not removed: a write to it by this process failed"
		                       : "not removed: another removal by this process was refused";
	}
	return NULL;
}

/* --- labels saved from tables ------------------------------------------------------- */

static uint64_t saved_label_hash(const struct tree *t, struct span label)
{
	return hash_bytes(&t->secret, 0, label.p, label.n);
}

static bool saved_label_is(const struct saved_label *s, uint32_t slot, uint32_t line, uint32_t entry)
{
	return s->order != 0 && s->slot == slot && s->line == line && s->entry == entry;
}

/* Returns the element of this label of the table, or the oldest one that it can replace. */
static struct saved_label *saved_label_find(struct tree *t, uint32_t slot, uint32_t line, uint32_t entry)
{
	uint64_t h = hash_word(hash_word((uint64_t)slot << 32 | entry) ^ line);
	struct saved_label *set = &t->saved_labels[h % TREE_SAVED_SETS * TREE_SAVED_WAYS], *oldest = set;
	for (size_t i = 0; i < TREE_SAVED_WAYS; i++) {
		if (saved_label_is(&set[i], slot, line, entry))
			return &set[i];
		if (set[i].order < oldest->order)
			oldest = &set[i];
	}
	return oldest;
}

void state_add_saved_label(struct tree *t, uint32_t slot, uint32_t line, uint32_t entry, struct span label)
{
	LOCKED(&t->state_lock);
	if (!t->saved_labels)
		t->saved_labels = calloc((size_t)TREE_SAVED_SETS * TREE_SAVED_WAYS, sizeof *t->saved_labels);
	if (t->saved_labels)
		*saved_label_find(t, slot, line, entry) =
		    (struct saved_label){slot, line, entry, ++t->saved_count, saved_label_hash(t, label)};
}

bool state_label_is_saved(struct tree *t, uint32_t slot, uint32_t line, uint32_t entry, struct span label)
{
	LOCKED(&t->state_lock);
	const struct saved_label *s = t->saved_labels ? saved_label_find(t, slot, line, entry) : NULL;
	return s && saved_label_is(s, slot, line, entry) && s->label == saved_label_hash(t, label);
}

void state_close(struct tree *t)
{
	free(t->saved_labels);
	for (size_t i = 0; i < TREE_REFUSALS; i++)
		buf_release(&t->refusals[i].text);
	lock_destroy(&t->state_lock);
}
