/* SPDX-License-Identifier: MIT */
/* Checks attributes before they go to the kernel. The rules are in coherence.h. */
#include "fs_impl.h"

#include "sessionfs/base/log.h"

#include <inttypes.h>
#include <sys/stat.h>

struct stat attr_to_stat(const struct tree_attr *a)
{
	return (struct stat){
	    .st_ino = a->ino,
	    .st_mode = a->mode,
	    .st_nlink = 1,
	    .st_uid = a->uid,
	    .st_gid = a->gid,
	    .st_size = (off_t)a->size,
	    .st_blocks = (blkcnt_t)((a->size + 511) / 512),
	    .st_atim = a->atime.tv_sec ? a->atime : a->mtime,
	    .st_mtim = a->mtime,
	    .st_ctim = a->mtime,
	};
}

struct fuse_entry_param coherence_entry(const struct tree_attr *a)
{
	return (struct fuse_entry_param){
	    .ino = a->node,
	    .attr = attr_to_stat(a),
	    .attr_timeout = cache_class_seconds(a->attr_class),
	    .entry_timeout = cache_class_seconds(a->name_class),
	};
}

const char *cache_class_name(enum tree_class class)
{
	/* In the order of enum tree_class. */
	static const char *const names[] = {"uncached", "live", "watched", "leased", "fixed"};
	return names[class];
}

void log_entry(const char *request, node_t dir, const char *name, const struct tree_attr *a)
{
	log_debug("%s %" PRIu64 "/%s: %" PRIu64 " (inode %" PRIu64 "): name %s, attributes %s (%s)", request, dir, name,
	          a->node, a->ino, cache_class_name(a->name_class), cache_class_name(a->attr_class), a->why);
}

void log_attr(const char *request, const struct tree_attr *a)
{
	log_debug("%s %" PRIu64 " (inode %" PRIu64 "): attributes %s (%s)", request, a->node, a->ino,
	          cache_class_name(a->attr_class), a->why);
}

static void coherence_limit_class(struct fs *fs, struct tree_attr *a)
{
	leases_grant(fs, a);
	if (listings_are_uncached(fs, a->node))
		limit_attr(a, TREE_UNCACHED, "I7: names can change unnoticed");
}

void coherence_check_attr(struct fs *fs, fuse_req_t req, node_t asked, struct tree_attr *a)
{
	coherence_limit_class(fs, a);
	listings_drop_stale(fs, req, asked, a);
	sizes_drop_stale_pages(fs, req, a);
}

bool coherence_check_listed_attr(struct fs *fs, struct tree_attr *a)
{
	bool given = sizes_are_current(fs, a);
	if (given)
		coherence_limit_class(fs, a);
	return given;
}

void coherence_init(struct coherence *c)
{
	*c = (struct coherence){.follow.running = false};
	lock_init(&c->leases.lock, LOCK_LEASES);
	lock_init(&c->listings.lock, LOCK_LISTINGS);
	lock_init(&c->sizes.lock, LOCK_SIZES);
	lock_init(&c->sizes.drop_lock, LOCK_DROP_PAGES);
}

void coherence_release(struct coherence *c)
{
	leases_release(&c->leases);
	free(c->listings.cells);
	free(c->sizes.sent);
	lock_destroy(&c->leases.lock);
	lock_destroy(&c->listings.lock);
	lock_destroy(&c->sizes.lock);
	lock_destroy(&c->sizes.drop_lock);
}
