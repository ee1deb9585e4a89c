/* SPDX-License-Identifier: MIT */
/* A read of `.events` does not block a thread: events.c keeps the request and answers it at the next event. ^C in the
 * reading process arrives as an interrupt of that request.
 *
 * Lock order: libfuse holds the request's lock when it calls the interrupt function, which takes the events' lock. So
 * the function is set before the request goes to events_read, never under the events' lock. If an interrupt arrives in
 * between, stream_is_interrupted finds it. */
#include "fs_impl.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

/* If the kernel opens files without asking, a read cannot wait, so .events does not exist. */
bool stream_is_name(const struct fs *fs, node_t parent, const char *name)
{
	return parent == NODE_ROOT && !fs->no_open && strcmp(name, ".events") == 0;
}

struct tree_attr stream_attr(const struct fs *fs)
{
	return (struct tree_attr){
	    .node = NODE_EVENTS,
	    /* It reports every session, also those that other users cannot read. */
	    .mode = S_IFREG | 0400,
	    .uid = geteuid(),
	    .gid = getegid(),
	    .mtime = fs->since,
	    .name_class = TREE_FIXED,
	    .attr_class = TREE_FIXED,
	    .why = "I1: cannot change",
	};
}

static void stream_reply(void *request, int err, struct span bytes)
{
	if (err)
		fuse_reply_err(request, -err);
	else
		fuse_reply_buf(request, bytes.p, bytes.n);
}

static bool stream_is_interrupted(void *request)
{
	return fuse_req_interrupted(request) != 0;
}

static void stream_poll_ready(void *poll)
{
	fuse_lowlevel_notify_poll(poll);
	fuse_pollhandle_destroy(poll);
}

static void stream_poll_release(void *poll)
{
	fuse_pollhandle_destroy(poll);
}

const struct events_ops stream_ops = {stream_reply, stream_is_interrupted, stream_poll_ready, stream_poll_release};

static void stream_on_interrupt(fuse_req_t req, void *events)
{
	events_interrupt(events, req);
}

int stream_open(struct fs *fs, struct fuse_file_info *fi)
{
	struct handle handle = {.text = BUF_INIT};
	int rc = events_reader_open(fs->events, &handle.reader);
	if (rc)
		return rc;
	fi->fh = handles_add(&fs->handles, &handle);
	if (fi->fh == 0) {
		events_reader_close(fs->events, handle.reader);
		return -ENOMEM;
	}
	fi->direct_io = 1;
	fi->nonseekable = 1;
	fi->noflush = 1;
	return 0;
}

void stream_read(struct fs *fs, fuse_req_t req, struct events_reader *reader, size_t n, const struct fuse_file_info *fi)
{
	fuse_req_interrupt_func(req, stream_on_interrupt, fs->events);
	events_read(fs->events, reader, n, !(fi->flags & O_NONBLOCK), req);
}

void stream_poll(struct fs *fs, fuse_req_t req, struct events_reader *reader, struct fuse_pollhandle *poll)
{
	fuse_reply_poll(req, events_poll(fs->events, reader, poll) ? POLLIN | POLLRDNORM : 0);
}
