/* One call of the catalog, in as many rounds as it takes: what may wait for somebody else is looked at between them,
 * without the lock (look.c). */
#include "catalog_impl.h"

#include "sessionfs/base/fault.h"
#include "sessionfs/base/log.h"
#include "sessionfs/base/stop.h"

#define MOST_ROUNDS 8

int64_t catalog_enter(struct catalog *c)
{
	lock_take(&c->lock);
	c->begin = catalog_now();
	c->call = ++c->calls;
	c->missed = c->doubt = 0;
	c->may_wait = c->may_repeat = false;
	watch_drain(c);
	return catalog_now();
}

/* ---- rounds ---- */

/* Waits, without the lock, for the looks that the last round started. */
static int wait_for_wanted(struct catalog *c)
{
	struct look **v CLEANUP_FREE = c->wanted;
	size_t n = c->wanted_count;
	c->wanted = NULL;
	c->wanted_count = c->wanted_cap = 0;
	lock_give(&c->lock);
	struct probes *ps = reach_probes(c->reach);
	int rc = probe_wait(ps, (struct probe *const *)(void *)v, n);
	lock_take(&c->lock);
	for (size_t i = 0; i < n; i++) {
		if (!probe_is_done(ps, &v[i]->probe))
			v[i]->late = rc != -EINTR || v[i]->late;
		look_put(c, v[i]);
	}
	return rc;
}

/* Whether another round can find out more than the last one. */
static bool call_goes_on(struct catalog *c, struct call *call, int *ret_rc)
{
	if (call->rounds > MOST_ROUNDS)
		return false;
	if (c->wanted_count > 0) {
		*ret_rc = wait_for_wanted(c);
		return *ret_rc != -EINTR;
	}
	/* Most failures are gone a moment later, so try once more before reporting them. */
	if (call->repeated || c->missed == 0 || c->missed == -ETIMEDOUT || stop_check() < 0)
		return false;
	call->repeated = true;
	call->number = ++c->calls;
	return true;
}

/* ---- what fails ---- */

static void call_say(struct catalog *c, const char *path, int err, const struct look *on_its_way, bool *said)
{
	bool fails = on_its_way && !on_its_way->late ? *said : fault_is_of_file(err);
	if (fails && !*said)
		log_warning("%s: %s", path, strerror(-err));
	*said = fails;
	c->said = c->said || fails;
}

void call_says(struct catalog *c)
{
	struct dir *root = &c->dirs[0];
	int err = root->trouble;
	c->said = false;
	for (size_t i = 0; i < c->file_count; i++) {
		struct file *f = &c->files[i];
		if (f->trouble == -ETIMEDOUT && root->foreign)
			err = err || (f->look && !f->look->late) ? err : f->trouble;
		else if (!root->trouble && !c->dirs[f->dir].trouble)
			call_say(c, f->path, f->trouble, f->look, &f->said);
	}
	call_say(c, c->source, err, root->look, &root->said);
	for (size_t i = 1; i < c->dir_count && !err; i++)
		call_say(c, c->dirs[i].name, c->dirs[i].trouble, c->dirs[i].look, &c->dirs[i].said);
}

bool call_round(struct catalog *c, struct call *call)
{
	int rc = 0;
	if (call->rounds++ == 0) {
		call->now = catalog_enter(c);
		call->number = c->call;
	} else if (!call_goes_on(c, call, &rc)) {
		call->missed = rc == -EINTR ? rc : c->missed;
		call->doubt = c->doubt;
		c->may_repeat = false;
		if (c->missed)
			call_says(c);
		lock_give(&c->lock);
		return false;
	}
	c->begin = call->now;
	c->call = call->number;
	c->missed = c->doubt = 0;
	c->may_wait = call->rounds < MOST_ROUNDS;
	c->may_repeat = c->may_wait && !call->repeated;
	return true;
}

bool call_answer(const struct call *call, bool found)
{
	fault_note(found ? call->doubt : call->missed);
	return found;
}
