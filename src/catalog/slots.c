/* SPDX-License-Identifier: MIT */
/* Numbers projects and slots, and retires slots. names.c gives the names. */
#include "catalog_impl.h"

#include "sessionfs/base/log.h"
#include "sessionfs/base/name.h"

#ifndef SLOTS_MAX
#define SLOTS_MAX (NODE_SLOTS - 1)
#endif
/* Warns this early that numbers run out: a file that is replaced each second uses up the rest in three days. */
#define SLOTS_WARN_AT (SLOTS_MAX / 8 * 7)

uint32_t project_for(struct catalog *c, struct span key)
{
	uint32_t found = map_get(&c->project_keys, 0, key);
	if (found != NONE)
		return found;
	if (c->project_count >= NODE_SLOTS - 1)
		return NONE;
	if (!vec_grow(&c->projects, &c->project_cap, c->project_count + 1, sizeof *c->projects))
		return NONE;
	const char *kept = pool_copy(c->strings, key, (struct span){0});
	uint32_t number = (uint32_t)c->project_count;
	if (!kept || map_put(&c->project_keys, 0, (struct span){kept, key.n}, number) < 0)
		return NONE;
	c->projects[c->project_count++] =
	    (struct project){.key = {kept, key.n}, .dir = NONE, .newest = {{.file = NONE}, {.file = NONE}}};
	return number;
}

uint32_t project_next_file(const struct catalog *c, uint32_t project, struct project_walk *at)
{
	const struct project *p = &c->projects[project];
	if (at->dir == 0)
		at->dir = p->dir == NONE || dir_is_flat(c, p->dir) ? NONE : p->dir;
	for (; at->dir != NONE; at->dir = dir_next(c, p->dir, at->dir), at->file = 0) {
		const struct u32_list *files = &c->dirs[at->dir].files;
		while (at->file < files->n) {
			uint32_t file = files->v[at->file++];
			if (file_may_be_session(&c->files[file]))
				return file;
		}
	}
	while (at->waiting < p->waiting.n) {
		uint32_t file = p->waiting.v[at->waiting++];
		if (c->files[file].project == project && file_may_be_session(&c->files[file]))
			return file;
	}
	while (at->slot < p->slots.n) {
		uint32_t file = c->slots[p->slots.v[at->slot++]].file;
		if (file != NONE)
			return file;
	}
	return NONE;
}

/* Returns the name of the directory in which pi keeps the sessions of `cwd`. */
struct span flat_project_key(struct span cwd, struct buf *scratch)
{
	if (cwd.n == 0)
		return SPAN_LIT("unknown");
	buf_reset(scratch);
	buf_adds(scratch, "--");
	for (size_t i = cwd.p[0] == '/' || cwd.p[0] == '\\'; i < cwd.n; i++)
		buf_addc(scratch, strchr("/\\:", cwd.p[i]) && cwd.p[i] ? '-' : cwd.p[i]);
	buf_adds(scratch, "--");
	return buf_span(scratch);
}

bool slot_create(struct catalog *c, uint32_t file)
{
	struct project *p = &c->projects[c->files[file].project];
	if (c->slot_count >= SLOTS_MAX) {
		if (log_once(&c->logged, LOGGED_FULL, ""))
			log_error("%s: no numbers left for new sessions; unmount and mount again to see them",
			          c->source);
		return true;
	}
	uint32_t slot = (uint32_t)c->slot_count;
	if (!vec_grow(&c->slots, &c->slot_cap, c->slot_count + 1, sizeof *c->slots) ||
	    list_add(&c->nameless, file) < 0 || list_add(&p->slots, slot) < 0)
		return false;
	c->slots[slot] =
	    (struct slot){.file = file, .place = file, .parent = NONE, .first_fork = NONE, .next_fork = NONE};
	c->files[file].slot = slot;
	if (c->files[file].key == 0)
		c->files[file].key = name_hash64(span_of(c->files[file].path));
	if (++c->slot_count == SLOTS_WARN_AT)
		log_warning("%s: 7/8 of the numbers for sessions are used; unmount and mount again before they run out",
		            c->source);
	c->epoch++;
	return true;
}

void slot_retire(struct catalog *c, uint32_t slot)
{
	struct slot *s = &c->slots[slot];
	struct file *f = &c->files[s->file];
	open_indexes_forget(c, slot);
	watch_add_change(c, s->file, slot, true);
	s->file = NONE;
	f->slot = NONE;
	/* Otherwise `tail -F` would not notice that it reads another file. */
	f->key = hash_word(f->key);
	f->state = FILE_UNKNOWN;
	mark_dir_stale(c, f->dir);
	c->epoch++;
}
