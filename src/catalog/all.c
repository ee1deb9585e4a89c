/* All sessions at once, for what is asked about all of them. */
#include "catalog_impl.h"

/* Has the names, headers and attributes of all files looked at, as far as they are not known. */
static void look_at_all(struct catalog *c, int64_t now)
{
	catalog_load_projects(c, now);
	catalog_load_all(c, now);
	catalog_stat_all(c, now);
	/* A file may have turned out to be another one. */
	catalog_load_all(c, now);
}

static uint64_t catalog_serial_now(const struct catalog *c)
{
	return 1 + c->epoch + c->changes;
}

uint64_t catalog_serial(struct catalog *c)
{
	struct call call = {0};
	uint64_t serial = 0;

	while (call_round(c, &call)) {
		look_at_all(c, call.now);
		serial = c->missed ? 0 : catalog_serial_now(c);
	}
	return serial;
}

/* The sessions in the order of their slots; returns how many. */
static size_t take_all(struct catalog *c, struct slot_state *v)
{
	size_t n = 0;
	for (uint32_t slot = 0; slot < c->slot_count; slot++) {
		if (c->slots[slot].file == NONE)
			continue;
		const struct file *f = &c->files[c->slots[slot].file];
		const char *project = c->projects[f->project].name;
		if (f->trouble)
			catalog_misses(c, f->trouble);
		else if (!f->sid_name || !project)
			catalog_misses(c, -ENOMEM);
		else
			v[n++] = (struct slot_state){
			    .slot = slot,
			    .project = f->project,
			    .place = c->slots[slot].file,
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

int catalog_all(struct catalog *c, uint64_t *serial, struct slot_state **ret, size_t *ret_n)
{
	struct call call = {0};
	uint64_t known = *serial;

	*ret = NULL;
	while (call_round(c, &call)) {
		free(*ret);
		*ret = NULL;
		*ret_n = 0;
		look_at_all(c, call.now);
		if (c->said && !c->missed)
			call_says(c);
		*serial = catalog_serial_now(c);
		if (c->missed == 0 && *serial == known)
			continue;
		*ret = calloc(c->slot_count + 1, sizeof **ret);
		if (*ret)
			*ret_n = take_all(c, *ret);
		else
			catalog_misses(c, -ENOMEM);
	}
	if (call.missed)
		*serial = 0;
	return call.missed;
}
