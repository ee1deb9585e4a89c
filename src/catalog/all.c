/* SPDX-License-Identifier: MIT */
/* Lists the state of all sessions at once. */
#include "catalog_impl.h"

/* Copies the sessions in the order of their slots; returns their number. One that has no name yet appeared meanwhile:
 * skips it, and clears *serial, since it gets a name later without a change. */
static size_t sessions_copy_states(struct sync *a, struct slot_state *v, uint64_t *serial)
{
	const struct catalog *c = a->c;
	size_t n = 0;
	for (uint32_t slot = 0; slot < c->slot_count; slot++) {
		if (c->slots[slot].file == NONE)
			continue;
		const struct file *f = &c->files[c->slots[slot].file];
		const char *project = c->projects[f->project].name;
		if (f->scanned.err)
			sync_fail(a, f->scanned.err);
		else if (!f->sid_name || !project)
			*serial = 0;
		else
			v[n++] = (struct slot_state){
			    .slot = slot,
			    .project = f->project,
			    .place = c->slots[slot].file,
			    .parent = c->slots[slot].parent,
			    .is_started = slot_is_started(c, slot),
			    .has_ids = f->has_ids,
			    .stem_at = f->stem_at,
			    .project_name = project,
			    .stem = f->stem,
			    .sid = f->sid_name,
			    .file = f->path,
			    .size = f->size,
			    .mtime = f->mtime,
			    .ctime = f->ctime,
			};
	}
	return n;
}

int catalog_list_states(struct catalog *c, uint64_t *serial, struct slot_state **ret, size_t *ret_n)
{
	uint64_t known = *serial;

	if (ret) {
		*ret = NULL;
		*ret_n = 0;
	}
	struct sync a = sync_begin(c, AGE_NONE);
	names_ensure_project(&a, NO_SLOT);
	require(&a, OF_TREE, 0, ATTRS);
	names_ensure_project(&a, NO_SLOT); /* files that were replaced get a slot */
	names_ensure_projects(&a);
	if (ret)
		forks_refresh(&a);
	if (!a.err)
		failed_log(c);
	*serial = c->epoch + c->changes;
	/* The serial rises when a scan begins or ceases to fail. */
	bool is_sure = a.err == 0 || error_is_of_source(a.err);
	if (ret && (!is_sure || *serial != known)) {
		*ret = calloc(c->slot_count + 1, sizeof **ret);
		if (*ret)
			*ret_n = sessions_copy_states(&a, *ret, serial);
		else
			sync_fail(&a, -ENOMEM);
	}
	if (a.err && !error_is_of_source(a.err))
		*serial = 0;
	return sync_close(&a, a.err);
}

uint64_t catalog_serial(struct catalog *c)
{
	uint64_t serial = 0;
	catalog_list_states(c, &serial, NULL, NULL);
	return serial;
}
