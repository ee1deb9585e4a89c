/* SPDX-License-Identifier: MIT */
/* The thread that follows the catalog, with very many changes. */
#include "fixture.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* Replaces the catalog: once begun, it reports this many sessions, all changed. */
#define CHANGED 600000
static atomic_uint waits;  /* calls of catalog_wait since then */
static atomic_bool begun;  /* it reports them */
static atomic_uint looked; /* sessions that were looked up again */
static atomic_int failure; /* its next wait returns this; 0: it waits */

ssize_t __real_catalog_wait(struct catalog *c, int timeout_ms, int output, bool look, struct catalog_change **ret);
ssize_t __wrap_catalog_wait(struct catalog *c, int timeout_ms, int output, bool look, struct catalog_change **ret);
bool __real_catalog_session_at_place(struct catalog *c, uint32_t place, struct slot_info *ret);
bool __wrap_catalog_session_at_place(struct catalog *c, uint32_t place, struct slot_info *ret);
int __real_catalog_slot(struct catalog *c, uint32_t slot, struct slot_info *ret);
int __wrap_catalog_slot(struct catalog *c, uint32_t slot, struct slot_info *ret);

ssize_t __wrap_catalog_wait(struct catalog *c, int timeout_ms, int output, bool look, struct catalog_change **ret)
{
	if (atomic_load(&failure))
		return atomic_exchange(&failure, 0);
	if (!atomic_load(&begun) || atomic_fetch_add(&waits, 1) > 0)
		return __real_catalog_wait(c, timeout_ms, output, look, ret);
	*ret = calloc(CHANGED, sizeof **ret);
	assert_non_null(*ret);
	for (uint32_t i = 0; i < CHANGED; i++)
		(*ret)[i] = (struct catalog_change){.place = i, .died = NO_SLOT};
	return CHANGED;
}

bool __wrap_catalog_session_at_place(struct catalog *c, uint32_t place, struct slot_info *ret)
{
	if (!atomic_load(&begun))
		return __real_catalog_session_at_place(c, place, ret);
	*ret = (struct slot_info){.slot = place, .place = place};
	return true;
}

int __wrap_catalog_slot(struct catalog *c, uint32_t slot, struct slot_info *ret)
{
	if (!atomic_load(&begun))
		return __real_catalog_slot(c, slot, ret);
	atomic_fetch_add(&looked, 1);
	return -ESTALE;
}

/* Nothing is notified from then on. */
WIRED(i2_no_lease_after_follower_failed)
{
	atomic_store(&failure, -EIO);
	catalog_wake(w->catalog);
	while (atomic_load(&failure))
		usleep(10000);
	fs_stop(w->fs);
	assert_int_equal(wire_walk(w, SESSION "/title").attr_valid, 0);
}

/* Comparing each with all others would take a minute of CPU time. */
WIRED(many_changes_take_linear_time)
{
	wire_walk(w, SESSION "/title");
	clock_t begin = clock();
	atomic_store(&begun, true);
	catalog_wake(w->catalog);
	while (atomic_load(&waits) < 2 || atomic_load(&looked) < CHANGED) {
		assert_true(clock() - begin < 10 * CLOCKS_PER_SEC);
		usleep(10000);
	}
	assert_int_equal(atomic_load(&looked), CHANGED);
}

RUN_CASES(NULL, NULL)
