/* Which session was forked from which. The header of a fork names its parent by
 * a path of the machine it was made on; sessions are copied and moved, so a path that
 * leads nowhere is taken for the file name at its end.
 *
 * Who forked from me is the same question asked of everybody, so it is answered for all at once,
 * and again when a session came or went. */
#include "catalog_impl.h"

/* Sorted views of all live sessions. */
struct lookup {
	const struct catalog *c;
	uint32_t *by_base, *by_inode; /* slots */
	size_t n;
};

static const struct file *file_of(const struct catalog *c, uint32_t slot)
{
	return &c->files[c->slots[slot].file];
}

static int order_base(const void *pa, const void *pb, void *arg)
{
	const struct file *a = file_of(arg, *(const uint32_t *)pa), *b = file_of(arg, *(const uint32_t *)pb);
	int order = strcmp(a->path + a->base, b->path + b->base);
	return order ? order : strcmp(a->path, b->path);
}

static int compare_inode(const struct file *f, dev_t dev, ino_t ino)
{
	int order = (f->dev > dev) - (f->dev < dev);
	return order ? order : (f->ino > ino) - (f->ino < ino);
}

static int order_inode(const void *pa, const void *pb, void *arg)
{
	const struct file *a = file_of(arg, *(const uint32_t *)pa), *b = file_of(arg, *(const uint32_t *)pb);
	int order = compare_inode(a, b->dev, b->ino);
	return order ? order : strcmp(a->path, b->path);
}

static void lookup_release(struct lookup *l)
{
	free(l->by_base);
	free(l->by_inode);
}

static int lookup_init(struct catalog *c, struct lookup *l)
{
	*l = (struct lookup){.c = c};
	l->by_base = calloc(c->slot_count + 1, sizeof *l->by_base);
	l->by_inode = calloc(c->slot_count + 1, sizeof *l->by_inode);
	if (!l->by_base || !l->by_inode)
		return -ENOMEM;
	for (uint32_t slot = 0; slot < c->slot_count; slot++) {
		if (c->slots[slot].file != NONE)
			l->by_base[l->n++] = slot;
	}
	if (l->n == 0)
		return 0;
	memcpy(l->by_inode, l->by_base, l->n * sizeof *l->by_inode);
	qsort_r(l->by_base, l->n, sizeof *l->by_base, order_base, c);
	qsort_r(l->by_inode, l->n, sizeof *l->by_inode, order_inode, c);
	return 0;
}

/* The session whose file that path leads to now. */
static uint32_t at_path(const struct lookup *l, struct span path, uint32_t self)
{
	const struct catalog *c = l->c;
	size_t n = strlen(c->source);
	if (path.n == 0 || path.p[0] != '/' || memchr(path.p, '\0', path.n))
		return NONE;
	if (path.n > n + 1 && memcmp(path.p, c->source, n) == 0 && path.p[n] == '/') {
		uint32_t file = map_get(&c->paths, 0, (struct span){path.p + n + 1, path.n - n - 1});
		if (file != NONE && c->files[file].slot != NONE && c->files[file].slot != self)
			return c->files[file].slot;
	}
	struct stat st;
	if (stat(path.p, &st) < 0)
		return NONE;
	size_t low = 0, high = l->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_inode(file_of(c, l->by_inode[middle]), st.st_dev, st.st_ino) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < l->n && compare_inode(file_of(c, l->by_inode[low]), st.st_dev, st.st_ino) == 0; low++) {
		if (l->by_inode[low] != self)
			return l->by_inode[low];
	}
	return NONE;
}

/* What stands after the last separator; *path becomes what stands before it. Paths may come from Windows. */
static struct span last_part(struct span *path)
{
	size_t at = path->n;
	while (at > 0 && path->p[at - 1] != '/' && path->p[at - 1] != '\\')
		at--;
	struct span part = {path->p + at, path->n - at};
	path->n = at ? at - 1 : 0;
	return part;
}

static struct span directory_of(const struct catalog *c, const struct file *f)
{
	struct span path = span_of(f->dir ? c->dirs[f->dir].name : c->source);
	return last_part(&path);
}

static int compare_base(const struct file *f, struct span base)
{
	const char *own = f->path + f->base;
	int order = strncmp(own, base.p, base.n);
	return order ? order : own[base.n] != '\0';
}

/* The only session with that file name, or the only one of them in a directory of the same name. */
static uint32_t with_name(const struct lookup *l, struct span path, uint32_t self)
{
	const struct catalog *c = l->c;
	struct span base = last_part(&path), dir = last_part(&path);
	if (base.n == 0 || memchr(base.p, '\0', base.n))
		return NONE;
	size_t low = 0, high = l->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_base(file_of(c, l->by_base[middle]), base) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	uint32_t found = NONE, beside = NONE;
	size_t named = 0, near = 0;
	for (; low < l->n && compare_base(file_of(c, l->by_base[low]), base) == 0; low++) {
		uint32_t slot = l->by_base[low];
		if (slot == self)
			continue;
		found = slot;
		named++;
		if (dir.n && span_eq(dir, directory_of(c, file_of(c, slot)))) {
			beside = slot;
			near++;
		}
	}
	if (near == 1)
		return beside;
	return named == 1 ? found : NONE;
}

static int order_fork(const void *pa, const void *pb)
{
	const struct fork *a = pa, *b = pb;
	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return (a->child > b->child) - (a->child < b->child);
}

static void forks_refresh(struct catalog *c, int64_t now)
{
	catalog_load_all(c, now);
	if (c->forks_epoch == c->epoch)
		return;
	struct lookup l CLEANUP(lookup_release) = {0};
	if (lookup_init(c, &l) < 0)
		return;
	c->fork_count = 0;
	for (size_t i = 0; i < l.n; i++) {
		uint32_t slot = l.by_base[i];
		struct span path = file_of(c, slot)->parent;
		uint32_t parent = NONE;
		if (path.p)
			parent = at_path(&l, path, slot);
		if (path.p && parent == NONE)
			parent = with_name(&l, path, slot);
		c->slots[slot].parent = parent;
		struct fork *more =
		    parent == NONE ? NULL : array_room(c->forks, c->fork_count, &c->fork_cap, sizeof *more);
		if (!more)
			continue;
		c->forks = more;
		c->forks[c->fork_count++] = (struct fork){parent, slot};
	}
	if (c->fork_count)
		qsort(c->forks, c->fork_count, sizeof *c->forks, order_fork);
	c->forks_epoch = c->epoch;
}

uint32_t catalog_parent(struct catalog *c, uint32_t slot)
{
	uint32_t parent = NO_SLOT;

	int64_t now = catalog_enter(c);
	if (slot_is_live(c, slot, now) && file_of(c, slot)->parent.p) {
		forks_refresh(c, now);
		if (slot_is_live(c, slot, now) && slot_is_live(c, c->slots[slot].parent, now))
			parent = c->slots[slot].parent;
	}
	pthread_mutex_unlock(&c->lock);
	return parent;
}

bool catalog_fork_next(struct catalog *c, uint32_t slot, uint64_t *cookie, struct slot_info *ret)
{
	bool found = false;

	int64_t now = catalog_enter(c);
	forks_refresh(c, now);
	size_t low = 0, high = c->fork_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct fork *f = &c->forks[middle];
		if (f->parent < slot || (f->parent == slot && f->child < *cookie))
			low = middle + 1;
		else
			high = middle;
	}
	for (; !found && low < c->fork_count && c->forks[low].parent == slot; low++) {
		*cookie = (uint64_t)c->forks[low].child + 1;
		found = slot_get(c, c->forks[low].child, now, ret);
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}
