/* Looks that may block: at a link or directory that leads to another file system, or at any name of a
 * source on a file system that asks a server.
 *
 * A thread of the pool (probe.h) makes such a look. It has its own copies and needs nothing of the catalog. A call that
 * needs a look starts it under the lock and goes on as if the file were unavailable. Before it
 * answers, it gives the lock back, waits for the looks that it started, and does everything again with their
 * results (call.c). A look that does not return is waited for once; until it returns, the file is unavailable. */
#include "catalog_impl.h"

#include <fcntl.h>

int names_read(int fd, struct buf *out)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names CLEANUP_CLOSEDIR = own < 0 ? NULL : fdopendir(own);
	if (!names) {
		int err = errno;
		cleanup_close(&own);
		return -err;
	}
	for (;;) {
		errno = 0;
		const struct dirent *e = readdir(names);
		if (!e)
			return errno ? -errno : buf_err(out);
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		buf_add(out, (const char *)&e->d_ino, sizeof e->d_ino);
		buf_addc(out, (char)e->d_type);
		buf_add(out, e->d_name, strlen(e->d_name) + 1);
	}
}

bool names_next(struct span *rest, struct name *ret)
{
	if (rest->n <= sizeof ret->ino + 1)
		return false;
	memcpy(&ret->ino, rest->p, sizeof ret->ino);
	ret->type = (unsigned char)rest->p[sizeof ret->ino];
	ret->text = rest->p + sizeof ret->ino + 1;
	size_t n = sizeof ret->ino + 1 + strlen(ret->text) + 1;
	rest->p += n;
	rest->n -= n;
	return true;
}

/* ---- on a thread of the pool ---- */

static void look_at_file(struct look *l)
{
	struct reached got = REACHED_INIT;
	const struct reach_at at = {l->reach, l->path};
	l->rc = reach_stat(&at, REACH_WAIT, &got);
	l->st = got.st;
	if (l->rc == 0 && S_ISREG(got.st.st_mode))
		l->is_session = header_read(&at, REACH_WAIT, &l->header);
}

static void look_at_dir(struct look *l)
{
	struct reached got = REACHED_INIT;
	const struct reach_at at = {l->reach, l->path};
	l->rc = reach_dir(&at, REACH_WAIT, O_RDONLY, &got);
	if (l->rc == 0) {
		l->st = got.st;
		int rc = l->acl_err = rights_read(got.fd, got.st.st_uid, got.st.st_gid, got.st.st_mode, &l->rights);
		l->rc = is_transient(rc) && rc != -EIO ? rc : names_read(got.fd, &l->names);
	}
	reached_release(l->reach, &got);
}

static void look_run(struct probe *p)
{
	struct look *l = (struct look *)p;
	if (l->is_dir)
		look_at_dir(l);
	else
		look_at_file(l);
}

static void look_free(struct probe *p)
{
	struct look *l = (struct look *)p;
	header_release(&l->header);
	rights_release(&l->rights);
	buf_release(&l->names);
	reach_put(l->reach);
	free(l);
}

/* ---- under the lock ---- */

static struct look *look_start(struct catalog *c, const char *path, bool is_dir)
{
	struct look *l = malloc(sizeof *l + strlen(path) + 1);
	if (!l)
		return NULL;
	*l = (struct look){.probe = {.run = look_run, .free = look_free},
	                   .reach = reach_get(c->reach),
	                   .began = catalog_now(),
	                   .is_dir = is_dir,
	                   .header = HEADER_INIT,
	                   .names = BUF_INIT};
	strcpy(l->path, path);
	if (probe_start(reach_probes(c->reach), &l->probe) == 0)
		return l;
	look_free(&l->probe);
	return NULL;
}

void catalog_misses(struct catalog *c, int err)
{
	if (c->missed == 0 || c->missed == -ETIMEDOUT)
		c->missed = err;
}

void catalog_doubts(struct catalog *c, int err)
{
	if (c->doubt == 0)
		c->doubt = err;
}

bool catalog_is_void(const struct catalog *c)
{
	return c->missed && (c->may_repeat || (c->may_wait && c->wanted_count));
}

struct look *look_elsewhere(struct catalog *c, struct look **at, const char *path, bool is_dir)
{
	struct probes *ps = reach_probes(c->reach);
	if (*at && probe_is_done(ps, &(*at)->probe)) {
		struct look *l = *at;
		*at = NULL;
		if (l->began >= c->begin || !c->may_wait)
			return l;
		look_put(c, l);
	}
	if (!*at)
		*at = look_start(c, path, is_dir);
	if (*at && c->may_wait && !(*at)->late &&
	    vec_grow(&c->wanted, &c->wanted_cap, c->wanted_count + 1, sizeof(struct look *))) {
		probe_get(ps, &(*at)->probe);
		c->wanted[c->wanted_count++] = *at;
	}
	catalog_misses(c, -ETIMEDOUT);
	return NULL;
}

void look_put(struct catalog *c, struct look *l)
{
	if (l)
		probe_put(reach_probes(c->reach), &l->probe);
}
