/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t open_events(struct wire *w, uint64_t *ret_node)
{
	struct fuse_open_out open;
	struct fuse_entry_out e = wire_walk(w, ".events");
	assert_int_equal(e.attr.mode, S_IFREG | 0400);
	assert_int_equal(e.attr.size, 0);
	assert_int_equal(wire_open_file(w, e.nodeid, O_RDONLY, &open), 0);
	assert_true(open.open_flags & FOPEN_DIRECT_IO);
	assert_true(open.open_flags & FOPEN_NONSEEKABLE);
	*ret_node = e.nodeid;
	return open.fh;
}

static uint64_t send_read(struct wire *w, uint64_t node, uint64_t fh, uint32_t flags)
{
	struct fuse_read_in in = {.fh = fh, .size = 4096, .flags = flags};
	return wire_send(w, FUSE_READ, node, &in, sizeof in, NULL, 0);
}

static void events_wake_blocked_read(void **state)
{
	struct wire *w = *state;
	struct reply r;
	uint64_t node, fh = open_events(w, &node);
	uint64_t waiting = send_read(w, node, fh, 0);
	assert_false(wire_wait(w, 100));
	/* Other requests are answered meanwhile. */
	wire_walk(w, SESSION "/title");
	wire_append(w, FILE_ONE, more);
	assert_int_equal(wire_receive(w, &r), waiting);
	assert_int_equal(r.error, 0);
	r.p[r.n] = '\0';
	assert_non_null(
	    strstr(r.p, "\"event\":\"appended\",\"session\":\"one\",\"path\":\"" SESSION "\",\"entries\":[{\"id\":"));

	waiting = send_read(w, node, fh, 0);
	wire_remove(w, FILE_ONE);
	assert_int_equal(wire_receive(w, &r), waiting);
	r.p[r.n] = '\0';
	assert_non_null(strstr(r.p, "\"event\":\"deleted\",\"session\":\"one\""));
	struct fuse_release_in release = {.fh = fh};
	assert_int_equal(wire_call(w, FUSE_RELEASE, node, &release, sizeof release, &r), 0);
}

static unsigned polled(struct wire *w, uint64_t node, uint64_t fh, uint64_t kh)
{
	static struct reply r;
	struct fuse_poll_in in = {.fh = fh, .kh = kh, .flags = FUSE_POLL_SCHEDULE_NOTIFY, .events = POLLIN};
	assert_int_equal(wire_call(w, FUSE_POLL, node, &in, sizeof in, &r), 0);
	return ((const struct fuse_poll_out *)(const void *)r.p)->revents;
}

static void events_can_be_polled(void **state)
{
	struct wire *w = *state;
	struct reply r;
	uint64_t node, fh = open_events(w, &node);
	assert_int_equal(polled(w, node, fh, 7), 0);
	assert_int_equal(polled(w, node, fh, 8), 0);
	wire_append(w, FILE_ONE, more);
	/* The newest poll is woken; other notifications are counted. */
	for (int i = 0; i < 200 && w->woken == 0; i++) {
		usleep(10000);
		wire_walk(w, SESSION "/title");
	}
	assert_int_equal(w->woken, 8);
	assert_int_equal(polled(w, node, fh, 9) & POLLIN, POLLIN);
	assert_int_equal(wire_receive_of(w, send_read(w, node, fh, O_NONBLOCK), &r), 0);
	assert_int_equal(polled(w, node, fh, 10), 0);
	/* Any other file is always readable. */
	struct fuse_open_out open;
	uint64_t title = wire_walk(w, SESSION "/title").nodeid;
	assert_int_equal(wire_open_file(w, title, O_RDONLY, &open), 0);
	assert_int_equal(polled(w, title, open.fh, 11) & POLLIN, POLLIN);
}

static void events_can_be_interrupted(void **state)
{
	struct wire *w = *state;
	struct reply r;
	uint64_t node, fh = open_events(w, &node);
	uint64_t waiting = send_read(w, node, fh, 0);
	assert_false(wire_wait(w, 50));
	struct fuse_interrupt_in interrupt = {.unique = waiting};
	wire_send(w, FUSE_INTERRUPT, 0, &interrupt, sizeof interrupt, NULL, 0);
	assert_int_equal(wire_receive(w, &r), waiting);
	assert_int_equal(r.error, -EINTR);
	send_read(w, node, fh, O_NONBLOCK);
	wire_receive(w, &r);
	assert_int_equal(r.error, -EAGAIN);
	waiting = send_read(w, node, fh, 0);
	struct fuse_release_in release = {.fh = fh};
	uint64_t released = wire_send(w, FUSE_RELEASE, node, &release, sizeof release, NULL, 0);
	assert_int_equal(wire_receive(w, &r), waiting);
	assert_int_equal(r.error, -EINTR);
	assert_int_equal(wire_receive(w, &r), released);
}

static void unmount_ends_event_stream(void **state)
{
	struct wire *w = prepare();
	struct reply r;
	wire_open(w, false, ALL_FLAGS);
	uint64_t node, fh = open_events(w, &node);
	uint64_t waiting = send_read(w, node, fh, 0);
	assert_false(wire_wait(w, 50));
	wire_stop(w);
	assert_int_equal(wire_receive(w, &r), waiting);
	assert_int_equal(r.error, 0);
	assert_int_equal(r.n, 0);
	wire_close(w);
	free(w);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    WIRED(events_wake_blocked_read),
	    WIRED(events_can_be_polled),
	    WIRED(events_can_be_interrupted),
	    cmocka_unit_test(unmount_ends_event_stream),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
