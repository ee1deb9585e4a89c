/* SPDX-License-Identifier: MIT */
/* Computes which bits of a mode the directories above a session grant.
 *
 * The user that we run as can read every file we have read: the directories do not limit that user's own classes. */
#include "catalog_impl.h"

#include "sessionfs/base/log.h"

/* Returns the classes of (uid, gid) that have all of `bits` in the directory, as bits 0700, 0070 and 0007. */
static mode_t dir_classes_allowed(const struct catalog *c, uint32_t dir, unsigned bits, uid_t uid, gid_t gid)
{
	mode_t in = mode_for_classes(rights_mode(&c->dirs[dir].rights, uid, gid), bits, 0777);
	return uid == c->uid ? in | 0700 : in;
}

mode_t rights_of_slot(const struct catalog *c, const struct file *f)
{
	mode_t in = f->shown & dir_classes_allowed(c, 0, RIGHTS_X, f->uid, f->gid);
	for (uint32_t dir = f->dir; dir != 0; dir = c->dirs[dir].parent)
		in &= dir_classes_allowed(c, dir, RIGHTS_X, f->uid, f->gid);
	return in;
}

/* Returns the mode of a directory of this group in the mount: r to list names, x to reach one. */
static mode_t names_mode(const struct catalog *c, uint32_t dir, gid_t gid)
{
	mode_t list = dir_classes_allowed(c, dir, RIGHTS_R, c->uid, gid) & 0444;
	return list | (dir_classes_allowed(c, dir, RIGHTS_X, c->uid, gid) & 0111);
}

mode_t rights_of_project(const struct catalog *c, uint32_t project, gid_t *ret_gid)
{
	uint32_t dir = c->projects[project].dir;
	uint32_t own = dir == NONE ? 0 : dir;
	*ret_gid = c->dirs[own].rights.gid;
	return dir_classes_allowed(c, 0, RIGHTS_X, c->uid, *ret_gid) & names_mode(c, own, *ret_gid);
}

/* Returns the classes that may list the name of the file: its stem has the directory names from `stem_at` on. */
static mode_t rights_to_stem(const struct catalog *c, const struct file *f, gid_t gid)
{
	mode_t in = dir_classes_allowed(c, f->dir, RIGHTS_R, c->uid, gid);
	for (uint32_t dir = f->dir; dir != 0 && (c->dirs[dir].depth > 1 || f->stem_at == 0);) {
		dir = c->dirs[dir].parent;
		in &= dir_classes_allowed(c, dir, RIGHTS_R | RIGHTS_X, c->uid, gid);
	}
	return in;
}

/* Returns the classes that may list the names of all its sessions. All files of a directory are alike. */
static mode_t rights_to_stems(const struct catalog *c, uint32_t project, gid_t gid)
{
	struct project_walk at = {0};
	mode_t in = 0777;
	uint32_t file, dir = NONE;
	while ((file = project_next_file(c, project, &at)) != NONE) {
		if (c->files[file].dir == dir)
			continue;
		dir = c->files[file].dir;
		in &= rights_to_stem(c, &c->files[file], gid);
	}
	return in;
}

mode_t rights_to_list(struct catalog *c, uint32_t project, gid_t gid)
{
	struct project *p = &c->projects[project];
	if (p->names_mode.scans != c->dir_scans || p->names_mode.epoch != c->epoch) {
		p->names_mode.mode = rights_to_stems(c, project, gid);
		p->names_mode.scans = c->dir_scans;
		p->names_mode.epoch = c->epoch;
	}
	return p->names_mode.mode;
}

mode_t catalog_root_mode(struct catalog *c, const gid_t *gid, gid_t *ret_gid)
{
	struct sync a = sync_begin(c, AGE_ANY);
	require(&a, OF_TREE, FLAT, NAMES);
	*ret_gid = gid ? *gid : c->dirs[0].rights.gid;
	mode_t mode = names_mode(c, 0, *ret_gid);
	sync_close(&a, 0);
	return mode;
}

mode_t catalog_list_all_mode(struct catalog *c, uid_t uid, gid_t gid)
{
	mode_t all = 0777;
	struct sync a = sync_begin(c, AGE_ANY);
	require(&a, OF_TREE, 0, NAMES);
	if (c->dir_scans != c->names_mode.scans || c->names_mode.uid != uid || c->names_mode.gid != gid) {
		for (uint32_t i = 0; i < c->dir_count && all & 077; i++)
			if (c->dirs[i].scanned.began > 0 && !c->dirs[i].err && !c->dirs[i].gone)
				all &= dir_classes_allowed(c, i, RIGHTS_R | RIGHTS_X, uid, gid);
		c->names_mode.scans = c->dir_scans;
		c->names_mode.uid = uid;
		c->names_mode.gid = gid;
		c->names_mode.mode = all;
	}
	all = c->names_mode.mode;
	sync_close(&a, 0);
	return all;
}
