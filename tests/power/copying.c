/* SPDX-License-Identifier: MIT */
#include "copying.h"
#include "reading.h"

#include "sessionfs/base/cleanup.h"
#include "sessionfs/base/vec.h"
#include "sessionfs/cmd/cli.h"

#include "cases.h"
#include "files.h"

#define TO "copy"
/* Of the states of a name that the next copy cannot tell apart, those that it is run with. */
#define ALIKE_MAX 2

struct seen_state {
	bool exists;
	mode_t mode;
	struct timespec time;
	struct buf bytes;
	unsigned class;
};

/* A name in the recorded directory. */
struct name {
	char *path;
	struct seen_state whole; /* at the end */
	VEC(struct seen_state) states;
};

struct names {
	struct copying *of;
	const struct disk *disk;
	VEC(struct name) all;
	struct name *now;
	size_t from, without; /* calls, as for disk_each_state */
	size_t bad;
};

static void load_state(const char *dir, const char *path, struct seen_state *ret)
{
	char *place;
	struct stat st;
	*ret = (struct seen_state){.bytes = BUF_INIT};
	assert_true(asprintf(&place, "%s/%s", dir, path) > 0);
	ret->exists = lstat(place, &st) == 0;
	ret->mode = ret->exists ? st.st_mode : 0;
	ret->time = ret->exists ? st.st_mtim : (struct timespec){0};
	if (S_ISLNK(ret->mode)) {
		char *to = buf_reserve(&ret->bytes, (size_t)st.st_size + 1);
		assert_non_null(to);
		ret->bytes.n = (size_t)readlink(place, to, (size_t)st.st_size + 1);
	} else if (S_ISREG(ret->mode)) {
		assert_true(read_file(place, &ret->bytes));
	}
	free(place);
}

/* Creates it below the directory, if the directory that it is in exists. */
static void store_state(const char *dir, const char *path, const struct seen_state *s)
{
	char *place;
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, s->time};
	const struct span bytes = buf_span(&s->bytes);
	assert_true(asprintf(&place, "%s/%s", dir, path) > 0);
	if (s->exists && S_ISDIR(s->mode)) {
		mkdir(place, 0755);
	} else if (s->exists && S_ISLNK(s->mode)) {
		char *target = strndup(bytes.p, bytes.n);
		if (target && symlink(target, place) == 0 && s->time.tv_nsec >= 0)
			utimensat(AT_FDCWD, place, times, AT_SYMLINK_NOFOLLOW);
		free(target);
	} else if (s->exists) {
		int fd CLEANUP_CLOSE = open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0) {
			assert_true(write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
			assert_true(fchmod(fd, s->mode & 07777) == 0);
			assert_true(s->time.tv_nsec < 0 || futimens(fd, times) == 0);
		}
	}
	free(place);
}

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* A directory has no bytes here. Its time and mode, and a link's, can be lost: the next copy sets them again. */
static bool is_whole(const struct name *n, const struct disk_state *s)
{
	return s->exists == n->whole.exists &&
	       (!s->exists ||
	        (((s->mode ^ n->whole.mode) & S_IFMT) == 0 && span_eq(s->bytes, buf_span(&n->whole.bytes)) &&
	         (!S_ISREG(s->mode) || (s->mode == n->whole.mode && is_same_time(s->time, n->whole.time)))));
}

/* The next copy would keep it, with wrong bytes. */
static bool is_mistaken(const struct name *n, const struct disk_state *s)
{
	return s->exists && n->whole.exists && S_ISREG(s->mode) && is_same_time(s->time, n->whole.time) &&
	       s->bytes.n == n->whole.bytes.n && !span_eq(s->bytes, buf_span(&n->whole.bytes));
}

static void keep_state(struct name *n, const struct disk_state *s)
{
	const struct span whole = buf_span(&n->whole.bytes);
	unsigned class = s->exists | (unsigned)(s->bytes.n == whole.n) << 1 |
	                 (unsigned)is_same_time(s->time, n->whole.time) << 2 | (unsigned)span_eq(s->bytes, whole) << 3;
	size_t alike = 0;
	for (size_t i = 0; i < n->states.n; i++)
		alike += n->states.v[i].class == class;
	if (alike >= ALIKE_MAX)
		return;
	assert_true(vec_reserve(&n->states, 1));
	struct seen_state *k = &n->states.v[n->states.n++];
	*k = (struct seen_state){
	    .exists = s->exists, .mode = s->mode, .time = s->time, .bytes = BUF_INIT, .class = class};
	buf_addspan(&k->bytes, s->bytes);
}

static void check_state(void *arg, const struct disk_state *s)
{
	struct names *all = arg;
	bool lost = s->all_promised && !is_whole(all->now, s), mistaken = is_mistaken(all->now, s);
	all->bad += lost || mistaken;
	if (all->without != DISK_EVERY_SYNC)
		return;
	all->of->states++;
	if (mistaken)
		fail_msg("%s: a file of which a part was lost has the size and time of the whole", all->now->path);
	if (lost)
		fail_msg("%s: lost after the copy has ended (%s)", all->now->path,
		         s->exists ? "it differs" : "no name");
	keep_state(all->now, s);
}

static void add_name(void *arg, const char *path)
{
	struct names *all = arg;
	assert_true(vec_reserve(&all->all, 1));
	all->all.v[all->all.n++] = (struct name){.path = strdup(path)};
}

static void check_name(void *arg, const char *path)
{
	struct names *all = arg;
	for (size_t i = 0; i < all->all.n; i++)
		if (strcmp(all->all.v[i].path, path) == 0)
			all->now = &all->all.v[i];
	disk_each_state(all->disk, path, all->from, all->without, check_state, all);
}

/* Each sync is needed. */
static void check_syncs(struct names *all)
{
	for (size_t i = 0; i < disk_count_calls(all->disk); i++) {
		if (!disk_is_sync(all->disk, i))
			continue;
		all->without = i;
		all->bad = 0;
		disk_each_name(all->disk, i, check_name, all);
		if (all->bad == 0)
			fail_msg("nothing is lost without the sync that is call %zu of the copy", i);
		all->of->bad += all->bad;
		all->of->syncs++;
	}
}

static bool copy(const struct copying *c, const char *above)
{
	struct opened_session o;
	struct tree_attr what;
	char *to;
	FILE *out = fopen("/dev/null", "w");
	assert_true(out && asprintf(&to, "%s/" TO, above) > 0);
	opened_session_begin(&o, c->source);
	assert_int_equal(tree_resolve(o.tree, c->path, true, &what), 0);
	bool ok = cli_copy(o.tree, c->path, &what, to, false, out);
	opened_session_end(&o);
	fclose(out);
	free(to);
	return ok;
}

/* Makes directories that have the i-th state of each name, and copies to each of them once more. */
static void copy_again(const struct names *all)
{
	size_t most = 0;
	for (size_t i = 0; i < all->all.n; i++)
		most = all->all.v[i].states.n > most ? all->all.v[i].states.n : most;
	for (size_t state = 0; state < most; state++) {
		char dir[] = "/tmp/sessionfs-power-XXXXXX";
		assert_non_null(mkdtemp(dir));
		for (size_t i = 0; i < all->all.n; i++) {
			const struct name *n = &all->all.v[i];
			store_state(dir, n->path, &n->states.v[(state + i) % n->states.n]);
		}
		store_state(dir, TO, &(struct seen_state){.exists = true, .mode = S_IFDIR, .bytes = BUF_INIT});
		if (!copy(all->of, dir))
			fail_msg("the next copy failed");
		for (size_t i = 0; i < all->all.n; i++) {
			const struct name *n = &all->all.v[i];
			struct seen_state got;
			load_state(dir, n->path, &got);
			struct disk_state s = {
			    .exists = got.exists, .mode = got.mode, .bytes = buf_span(&got.bytes), .time = got.time};
			if (!is_whole(n, &s))
				fail_msg("%s: the next copy left it wrong", n->path);
			buf_release(&got.bytes);
		}
		remove_all(dir);
	}
}

static void release(struct names *all)
{
	for (size_t i = 0; i < all->all.n; i++) {
		struct name *n = &all->all.v[i];
		for (size_t k = 0; k < n->states.n; k++)
			buf_release(&n->states.v[k].bytes);
		vec_release(&n->states);
		buf_release(&n->whole.bytes);
		free(n->path);
	}
	vec_release(&all->all);
}

/* Copies, after a copy that was killed after that number of calls, unless it is 0. Returns the disk, which is not
 * recorded any more, and the names. */
static struct disk *record(struct copying *c, size_t killed, const char *dir, struct names *ret)
{
	struct disk *d = disk_open(dir);
	*ret = (struct names){.of = c, .disk = d, .without = DISK_EVERY_SYNC};
	disk_make_dir(d, TO);
	if (killed > 0) {
		disk_kill(d, killed);
		assert_false(copy(c, dir));
		disk_kill(d, 0);
	}
	assert_true(copy(c, dir));
	disk_promise_all(d);
	disk_stop(d);
	disk_each_name(d, DISK_EVERY_SYNC, add_name, ret);
	for (size_t i = 0; i < ret->all.n; i++)
		load_state(dir, ret->all.v[i].path, &ret->all.v[i].whole);
	return d;
}

/* The first copy is killed before its n-th call; everything is there after the second. */
static void check_resumed(struct copying *c, size_t n)
{
	char dir[] = "/tmp/sessionfs-power-XXXXXX";
	struct names all;
	assert_non_null(mkdtemp(dir));
	struct disk *d = record(c, n - 1, dir, &all);
	all.from = disk_count_calls(d);
	disk_each_name(d, DISK_EVERY_SYNC, check_name, &all);
	release(&all);
	disk_close(d);
	remove_all(dir);
}

void copying_run(struct copying *c)
{
	char dir[] = "/tmp/sessionfs-power-XXXXXX";
	struct names all;
	assert_non_null(mkdtemp(dir));
	struct disk *d = record(c, 0, dir, &all);
	disk_each_name(d, DISK_EVERY_SYNC, check_name, &all);
	copy_again(&all);
	check_syncs(&all);
	/* The first recorded call made the directory. */
	for (size_t i = 2; i < disk_count_calls(d); i++)
		if (disk_is_dir_sync(d, i))
			check_resumed(c, i);
	release(&all);
	disk_close(d);
	remove_all(dir);
}
