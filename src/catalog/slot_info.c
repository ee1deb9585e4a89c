/* SPDX-License-Identifier: MIT */
/* Describes a session by the attributes of its file. */
#include "catalog_impl.h"

void slot_fill_info(const struct catalog *c, uint32_t slot, struct slot_info *ret)
{
	const struct file *f = &c->files[c->slots[slot].file];
	*ret = (struct slot_info){
	    .slot = slot,
	    .project = f->project,
	    .stem = f->stem,
	    .sid = f->sid_name,
	    .file = f->path,
	    .stem_at = f->stem_at,
	    .place = c->slots[slot].file,
	    .key = f->key,
	    .watched = file_is_watched(c, f),
	    .mode = rights_of_slot(c, f),
	};
	ret->st.st_dev = f->dev;
	ret->st.st_ino = f->ino;
	ret->st.st_nlink = 1;
	ret->st.st_mode = f->mode;
	ret->st.st_uid = f->uid;
	ret->st.st_gid = f->gid;
	ret->st.st_size = f->size;
	ret->st.st_mtim = f->mtime;
	ret->st.st_atim = f->mtime;
	ret->st.st_ctim = f->ctime;
}

int slot_check_file(struct sync *a, uint32_t slot)
{
	const struct catalog *c = a->c;
	if (slot >= c->slot_count || c->slots[slot].file == NONE)
		return -ESTALE;
	uint32_t file = c->slots[slot].file;
	require(a, OF_FILE, file, ATTRS);
	return c->slots[slot].file == NONE ? -ESTALE : file_error(&c->files[file]);
}

int slot_get(struct sync *a, uint32_t slot, struct slot_info *ret)
{
	int rc = slot_check_file(a, slot);
	if (rc == 0)
		slot_fill_info(a->c, slot, ret);
	return rc;
}
