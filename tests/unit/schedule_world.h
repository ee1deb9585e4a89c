/* SPDX-License-Identifier: MIT */
/* schedule_world: a source with two directories of sessions, all states that its files ever had, and the writer that
 * changes them; the program appends lines, too. A state begins with one system call of either, so the states have the
 * order of the disk. */
#ifndef SCHEDULE_WORLD_H
#define SCHEDULE_WORLD_H

#include "files.h"
#include "schedule_disk.h"

/* A name in a directory; a path in the source, which is a name in one of two directories, or the flat file. */
enum { A, B, C, LINK, DEEP, NAME_COUNT };
enum { DIRS = 2, FLAT_PATH = DIRS * NAME_COUNT, PATHS };
enum { SERVER_FILES = 2, OBJECTS = 6, STATES = 2048 };

static const char *const name_texts[NAME_COUNT] = {"a.jsonl", "b.jsonl", "c.jsonl", "x.jsonl", "d/s.jsonl"};
static const char *const dir_texts[DIRS] = {"--v--", "--w--"};

/* The contents of a file; `file` 0: none. A file that is rewritten is another one. */
struct version {
	uint32_t file;
	uint64_t ino;
	off_t size;
	unsigned entries;
	bool is_session;
	bool is_rewritten; /* the same inode was another file */
	bool is_written;   /* the writer has it open */
	bool is_torn;      /* it ends in a part of a line, which will be taken back */
	int64_t mtime;     /* ms; only in states */
};

/* A file, or (server not 0) a link to a file of the server, counted from 1. */
struct named {
	struct version v;
	unsigned server;
};

/* A directory: in the source, or moved away. */
struct object {
	bool exists, has_deep;
	uint64_t ino, deep_ino;
	char path[128];
	struct named names[NAME_COUNT];
};

struct state {
	int64_t at; /* the time at which it began, in ms */
	struct named paths[PATHS];
	struct version server[SERVER_FILES + 1]; /* the last: no file */
};

static struct {
	char root[64], source[80];
	uint64_t source_ino;
	uint32_t serial;
	struct object objects[OBJECTS + 1]; /* the last is on the server */
	int in[DIRS];                       /* the object at each directory's path; -1: none; OBJECTS: a link */
	struct named flat;
	struct version server[SERVER_FILES + 1]; /* the last: no file */
	unsigned reading[PATHS];                 /* calls that read the index of a path */
	bool read_torn[PATHS];                   /* one perhaps read a part of a line, which was taken back */
	struct state states[STATES];
	unsigned state_count;
	bool writes_far;  /* the writer also changes links and files of the server */
	bool writes_dirs; /* it changes directories most of the time */
} world;

static int64_t world_ms(void)
{
	return schedule.now / 1000000;
}

static void world_add_state(void)
{
	if (world.state_count == STATES)
		schedule_fail("too many states");
	struct state *s = &world.states[world.state_count++];
	memset(s, 0, sizeof *s);
	s->at = world_ms();
	for (int d = 0; d < DIRS; d++)
		if (world.in[d] >= 0)
			memcpy(&s->paths[d * NAME_COUNT], world.objects[world.in[d]].names,
			       sizeof world.objects[0].names);
	s->paths[FLAT_PATH] = world.flat;
	memcpy(s->server, world.server, sizeof s->server);
	for (unsigned i = 0; i < PATHS; i++)
		s->paths[i].v.mtime = disk_inode(s->paths[i].v.ino)->mtime;
	for (unsigned i = 0; i < SERVER_FILES; i++)
		s->server[i].mtime = disk_inode(s->server[i].ino)->mtime;
}

static const struct state *world_now(void)
{
	return &world.states[world.state_count - 1];
}

/* The contents at a path in a state, through a link, too. */
static const struct version *state_version(const struct state *s, unsigned path)
{
	const struct named *n = &s->paths[path];
	return n->server ? &s->server[n->server - 1] : &n->v;
}

static void world_path_text(unsigned path, char *to, size_t n)
{
	if (path == FLAT_PATH)
		snprintf(to, n, "f.jsonl");
	else
		snprintf(to, n, "%s/%s", dir_texts[path / NAME_COUNT], name_texts[path % NAME_COUNT]);
}

/* Returns PATHS for another path. */
static unsigned world_path_of(const char *text)
{
	char own[64];
	for (unsigned i = 0; i < PATHS; i++) {
		world_path_text(i, own, sizeof own);
		if (strcmp(text, own) == 0)
			return i;
	}
	return PATHS;
}

/* The last states: for each path the number of the file and its size, or of the file of the server. */
static inline void world_print(FILE *out)
{
	for (unsigned i = world.state_count > 24 ? world.state_count - 24 : 0; i < world.state_count; i++) {
		const struct state *s = &world.states[i];
		fprintf(out, "  state %u, %jd ms:", i, (intmax_t)s->at);
		for (unsigned p = 0; p < PATHS; p++) {
			const struct version *v = state_version(s, p);
			if (v->file)
				fprintf(out, " %u:%s%u/%jd", p, s->paths[p].server ? "@" : "", v->file,
				        (intmax_t)v->size);
		}
		fputc('\n', out);
	}
}

/* ---- the writer's system calls ---- */

static void must(int rc, const char *what)
{
	if (rc < 0)
		schedule_fail(what);
}

static uint64_t ino_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* The text of a new file: a header with a new id, and entries. */
static struct version version_make(char *to, size_t size, unsigned entries)
{
	static const char entry[] =
	    "{\"type\":\"message\",\"id\":\"e\",\"parentId\":null,\"message\":{\"role\":\"user\","
	    "\"content\":\"hi\"}}\n";
	struct version v = {.file = ++world.serial, .entries = entries, .is_session = true};
	int n = snprintf(to, size, "{\"type\":\"session\",\"version\":3,\"id\":\"id%u\",\"cwd\":\"/w\"%*s}\n", v.file,
	                 (int)(v.file % 97), "");
	for (unsigned i = 0; i < entries; i++)
		n += snprintf(to + n, size - (size_t)n, "%s", entry);
	v.size = n;
	return v;
}

/* Makes a file outside of the source. */
static struct version world_make_file(const char *path)
{
	char text[1024];
	struct version v = version_make(text, sizeof text, (unsigned)schedule_draw(3));
	write_at(path, O_CREAT | O_EXCL, text, (size_t)v.size);
	v.ino = ino_of(path);
	disk_touched(v.ino);
	return v;
}

/* A directory of the world, and one of its names. */
struct target {
	struct object *o; /* NULL: the source, for the flat file */
	struct named *n;
	uint64_t dir_ino;
	char path[160];
};

static bool target_draw(struct target *t)
{
	int dir = (int)schedule_draw(DIRS + 1);
	struct object *o = NULL;
	if (schedule_draw(8) == 0)
		o = &world.objects[schedule_draw(OBJECTS)]; /* perhaps one that was moved away */
	else if (dir < DIRS)
		o = world.in[dir] < 0 ? NULL : &world.objects[world.in[dir]];
	if (o ? !o->exists : dir < DIRS)
		return false;
	unsigned name = schedule_draw(3) ? (unsigned)schedule_draw(C + 1) : (unsigned)schedule_draw(NAME_COUNT);
	if (o && ((name == DEEP && !o->has_deep) || (name == LINK && !world.writes_far)))
		name = A;
	t->o = o;
	t->n = o ? &o->names[name] : &world.flat;
	t->dir_ino = !o ? world.source_ino : name == DEEP ? o->deep_ino : o->ino;
	snprintf(t->path, sizeof t->path, "%s/%s", o ? o->path : world.source, o ? name_texts[name] : "f.jsonl");
	return true;
}

static void target_set(struct target *t, struct named n, bool names)
{
	*t->n = n;
	if (names)
		disk_touched(t->dir_ino);
	world_add_state();
}

/* A new file, or a link to one of the server, takes the name in one call. */
static void writer_replaces(struct target *t)
{
	char other[100];
	struct named n = {.server = 0};
	snprintf(other, sizeof other, "%s/new", world.root);
	if (t->o && t->n == &t->o->names[LINK] && schedule_draw(4) != 0) {
		char to[120];
		n.server = 1 + (unsigned)schedule_draw(SERVER_FILES);
		snprintf(to, sizeof to, "%s/server/%u", world.root, n.server);
		must(symlink(to, other), "symlink");
	} else {
		n.v = world_make_file(other);
	}
	schedule_point("rename", t->path + strlen(world.source));
	if (rename(other, t->path) == 0)
		target_set(t, n, true);
	else
		unlink(other);
}

static void writer_removes(struct target *t)
{
	schedule_point("unlink", t->path + strlen(world.source));
	if (unlink(t->path) == 0)
		target_set(t, (struct named){.server = 0}, true);
}

/* Writes into the open file: an appended entry, or (rewrites) other contents from the beginning. */
static void writer_writes(struct target *t, bool rewrites)
{
	char text[1024], *begin = text;
	struct named n = *t->n;
	if (n.server || (!n.v.file && !rewrites))
		return;
	bool is_new = n.v.file == 0;
	schedule_point(is_new ? "create" : rewrites ? "truncate" : "open", t->path + strlen(world.source));
	n = *t->n;
	if (n.v.is_torn || (!n.v.file && !rewrites))
		return;
	int fd = open(t->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (rewrites ? O_TRUNC | O_CREAT : O_APPEND), 0644);
	if (fd < 0)
		return;
	n.v.ino = ino_of(t->path);
	struct version v = version_make(text, sizeof text, rewrites ? (unsigned)schedule_draw(3) : 1);
	if (rewrites) {
		n.v = (struct version){.file = v.file, .ino = n.v.ino, .is_rewritten = !is_new, .is_written = true};
		disk_touched(n.v.ino);
		target_set(t, n, is_new);
	} else {
		begin = strchr(text, '\n') + 1;
		t->n->v.is_written = n.v.is_written = true;
	}
	size_t bytes = strlen(begin);
	schedule_point("write", NULL);
	if (write(fd, begin, bytes) != (ssize_t)bytes)
		schedule_fail("write");
	close(fd);
	n.v.size += (off_t)bytes;
	n.v.entries += v.entries;
	n.v.is_session = true;
	n.v.is_written = false;
	disk_touched(n.v.ino);
	target_set(t, n, false);
}

/* The time of the file goes back. */
static void writer_sets_time(struct target *t)
{
	if (t->n->server || !t->n->v.file)
		return;
	schedule_point("touch", t->path + strlen(world.source));
	if (utimensat(AT_FDCWD, t->path, NULL, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	disk_set_mtime(t->n->v.ino, disk_inode(t->n->v.ino)->mtime - 1 - (int64_t)schedule_draw(5000));
	world_add_state();
}

/* ---- commits ---- */

/* Returns the file of an inode; NULL: it has no name, or is not a file of the writer. */
static struct version *world_file_of(int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return NULL;
	for (unsigned i = 0; i < OBJECTS * NAME_COUNT; i++) {
		struct object *o = &world.objects[i / NAME_COUNT];
		struct version *v = &o->names[i % NAME_COUNT].v;
		if (o->exists && v->file && v->ino == st.st_ino)
			return v;
	}
	return world.flat.v.file && world.flat.v.ino == st.st_ino ? &world.flat.v : NULL;
}

/* The program appends a line. The disk has room for all of it, or for a part; a file that the writer has open cannot be
 * written, so that their bytes do not mix. */
static ssize_t world_write(int fd, const void *p, size_t n)
{
	schedule_point("append", NULL);
	struct version *v = world_file_of(fd);
	if (v && (v->is_written || v->is_torn)) {
		errno = ENOSPC;
		return -1;
	}
	bool is_part = v && schedule_draw(4) == 0;
	ssize_t done = write(fd, p, is_part ? n / 2 : n);
	if (!v)
		return done;
	v->size += done;
	v->entries += !is_part;
	v->is_torn = is_part;
	for (unsigned i = 0; i < PATHS; i++)
		world.read_torn[i] = world.read_torn[i] || (is_part && world.reading[i]);
	disk_touched(v->ino);
	world_add_state();
	return done;
}
__typeof__(write) *const sys_write = world_write;

static int world_ftruncate(int fd, off_t size)
{
	schedule_point("truncate", NULL);
	struct version *v = world_file_of(fd);
	must(ftruncate(fd, size), "ftruncate");
	if (!v)
		return 0;
	v->size = size;
	v->is_torn = false;
	disk_touched(v->ino);
	world_add_state();
	return 0;
}
__typeof__(ftruncate) *const sys_ftruncate = world_ftruncate;

/* The file gets another name, which it may take from another file. */
static void writer_renames(struct target *t)
{
	struct target to;
	if (!target_draw(&to) || to.n == t->n || t->n->server || to.n->server || !t->n->v.file)
		return;
	schedule_point("move", t->path + strlen(world.source));
	if (rename(t->path, to.path) < 0)
		return;
	disk_touched(t->dir_ino);
	disk_touched(to.dir_ino);
	disk_renamed(t->n->v.ino);
	*to.n = *t->n;
	*t->n = (struct named){.server = 0};
	world_add_state();
}

/* ---- directories ---- */

/* Makes a directory outside of the source; NULL: there are enough. */
static struct object *object_make(void)
{
	struct object *o = world.objects;
	while (o < world.objects + OBJECTS && o->exists)
		o++;
	if (o == world.objects + OBJECTS)
		return NULL;
	*o = (struct object){.exists = true};
	snprintf(o->path, sizeof o->path, "%s/away/%u", world.root, (unsigned)(o - world.objects));
	must(mkdir(o->path, 0755), "mkdir");
	o->ino = ino_of(o->path);
	disk_touched(o->ino);
	if (schedule_draw(2)) {
		char path[160];
		snprintf(path, sizeof path, "%s/d", o->path);
		must(mkdir(path, 0755), "mkdir");
		o->has_deep = true;
		o->deep_ino = ino_of(path);
		disk_touched(o->deep_ino);
	}
	for (unsigned i = 0; i < NAME_COUNT; i++) {
		char path[160];
		if (i == LINK || (i == DEEP && !o->has_deep) || schedule_draw(2) == 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", o->path, name_texts[i]);
		o->names[i].v = world_make_file(path);
	}
	return o;
}

/* Moves the directory out of the source, if one is there. */
static void writer_moves_away(int dir)
{
	char away[128];
	if (world.in[dir] < 0 || world.in[dir] == OBJECTS)
		return;
	struct object *o = &world.objects[world.in[dir]];
	snprintf(away, sizeof away, "%s/away/%u", world.root, (unsigned)(o - world.objects));
	schedule_point("move away", dir_texts[dir]);
	must(rename(o->path, away), "rename of a directory");
	snprintf(o->path, sizeof o->path, "%s", away);
	world.in[dir] = -1;
	disk_touched(world.source_ino);
	world_add_state();
}

/* Moves a directory to an unused path in the source. */
static void writer_moves_in(int dir)
{
	struct object *o = &world.objects[schedule_draw(OBJECTS)];
	if (!o->exists || schedule_draw(2))
		o = object_make();
	if (!o || world.in[dir] >= 0)
		return;
	for (int i = 0; i < DIRS; i++)
		if (world.in[i] == o - world.objects)
			return;
	char path[128];
	snprintf(path, sizeof path, "%s/%s", world.source, dir_texts[dir]);
	schedule_point("move in", dir_texts[dir]);
	must(rename(o->path, path), "rename of a directory");
	snprintf(o->path, sizeof o->path, "%s", path);
	world.in[dir] = (int)(o - world.objects);
	disk_touched(world.source_ino);
	world_add_state();
}

/* Removes a directory with its files, one system call after the other. */
static void writer_removes_dir(struct object *o)
{
	char path[160];
	for (unsigned i = 0; i < NAME_COUNT; i++) {
		if (!o->names[i].v.file && !o->names[i].server)
			continue;
		snprintf(path, sizeof path, "%s/%s", o->path, name_texts[i]);
		schedule_point("unlink", path + strlen(world.source));
		must(unlink(path), "unlink");
		o->names[i] = (struct named){.server = 0};
		disk_touched(i == DEEP ? o->deep_ino : o->ino);
		world_add_state();
	}
	if (o->has_deep) {
		snprintf(path, sizeof path, "%s/d", o->path);
		schedule_point("rmdir", path + strlen(world.source));
		must(rmdir(path), "rmdir");
		o->has_deep = false;
		disk_touched(o->ino);
	}
	schedule_point("rmdir", o->path + strlen(world.source));
	must(rmdir(o->path), "rmdir");
	for (int i = 0; i < DIRS; i++) {
		if (world.in[i] != o - world.objects)
			continue;
		world.in[i] = -1;
		disk_touched(world.source_ino);
		world_add_state();
	}
	o->exists = false;
}

/* Makes an empty directory at an unused path. */
static void writer_makes_dir(int dir)
{
	struct object *o = world.objects;
	while (o < world.objects + OBJECTS && o->exists)
		o++;
	if (world.in[dir] >= 0 || o == world.objects + OBJECTS)
		return;
	*o = (struct object){.exists = true};
	snprintf(o->path, sizeof o->path, "%s/%s", world.source, dir_texts[dir]);
	schedule_point("mkdir", dir_texts[dir]);
	must(mkdir(o->path, 0755), "mkdir");
	o->ino = ino_of(o->path);
	disk_touched(o->ino);
	disk_touched(world.source_ino);
	world.in[dir] = (int)(o - world.objects);
	world_add_state();
}

/* Makes or removes the directory in one of the directories. */
static void writer_changes_deep(struct object *o)
{
	char path[160];
	if (o->names[DEEP].v.file)
		return;
	snprintf(path, sizeof path, "%s/d", o->path);
	schedule_point(o->has_deep ? "rmdir" : "mkdir", path + strlen(world.source));
	if ((o->has_deep ? rmdir(path) : mkdir(path, 0755)) < 0)
		schedule_fail("directory in a directory");
	o->has_deep = !o->has_deep;
	o->deep_ino = o->has_deep ? ino_of(path) : 0;
	if (o->has_deep)
		disk_touched(o->deep_ino);
	disk_touched(o->ino);
}

/* ---- the server ---- */

/* A link to the server's directory takes an unused path, or is removed. */
static void writer_links(int dir)
{
	char path[128];
	bool is_link = world.in[dir] == OBJECTS;
	if (!is_link && world.in[dir] >= 0)
		return;
	snprintf(path, sizeof path, "%s/%s", world.source, dir_texts[dir]);
	schedule_point(is_link ? "unlink" : "link", dir_texts[dir]);
	must(is_link ? unlink(path) : symlink(world.objects[OBJECTS].path, path), "link");
	world.in[dir] = is_link ? -1 : OBJECTS;
	disk_touched(world.source_ino);
	world_add_state();
}

static void server_changes(unsigned i)
{
	char path[120], text[1024];
	struct version v = version_make(text, sizeof text, 1 + (unsigned)schedule_draw(3));
	struct version *old = &world.server[i];
	snprintf(path, sizeof path, "%s/server/%u", world.root, i + 1);
	const char *begin = old->file ? strchr(text, '\n') + 1 : text;
	schedule_point("server", NULL);
	write_at(path, O_CREAT | O_APPEND, begin, strlen(begin));
	v.size = (off_t)strlen(begin) + old->size;
	v.entries += old->entries;
	v.file = old->file ? old->file : v.file;
	v.ino = ino_of(path);
	disk_put_on_server(v.ino);
	disk_touched(v.ino);
	*old = v;
	world_add_state();
}

/* The files of the server, and a directory with the first one. */
static void server_begin(void)
{
	struct object *far = &world.objects[OBJECTS];
	char file[120], name[160];
	for (unsigned i = 0; i < SERVER_FILES; i++)
		server_changes(i);
	snprintf(far->path, sizeof far->path, "%s/server/d", world.root);
	snprintf(file, sizeof file, "%s/server/1", world.root);
	snprintf(name, sizeof name, "%s/%s", far->path, name_texts[LINK]);
	must(mkdir(far->path, 0755), "mkdir");
	must(link(file, name), "link");
	disk_put_on_server(ino_of(far->path));
	for (unsigned i = 0; i < NAME_COUNT; i++)
		far->names[i].server = i == LINK ? 1 : SERVER_FILES + 1;
}

static void writer_appends(struct target *t)
{
	writer_writes(t, false);
}

static void writer_rewrites(struct target *t)
{
	writer_writes(t, true);
}

/* One change: of a directory, of the server, or of a file, each as often as it is in the list. */
static void writer_change(void)
{
	static void (*const of_file[])(struct target *) = {
	    writer_removes, writer_removes, writer_appends,   writer_appends,  writer_appends, writer_rewrites,
	    writer_renames, writer_renames, writer_sets_time, writer_replaces, writer_replaces};
	enum { FILE_CHANGES = 5, SERVER_CHANGES = FILE_CHANGES + sizeof of_file / sizeof *of_file };
	struct target t;
	int dir = (int)schedule_draw(DIRS);
	struct object *o = world.in[dir] < 0 || world.in[dir] == OBJECTS ? NULL : &world.objects[world.in[dir]];
	uint64_t what = schedule_draw(world.writes_dirs && schedule_draw(4) ? FILE_CHANGES
	                              : world.writes_far                    ? 21
	                                                                    : SERVER_CHANGES);
	if (what < 2)
		writer_moves_away(dir);
	if (what == 1 || what == 2)
		writer_moves_in(dir);
	if (what == 3 && o && schedule_draw(2))
		writer_removes_dir(o);
	if (what == 3)
		writer_makes_dir(dir);
	else if (what == 4 && o)
		writer_changes_deep(o);
	else if (what == SERVER_CHANGES)
		server_changes((unsigned)schedule_draw(SERVER_FILES));
	else if (what == SERVER_CHANGES + 1 && disk.dead)
		disk_revive_server();
	else if (what == SERVER_CHANGES + 1)
		disk.dead = disk.has_died = true;
	else if (what > SERVER_CHANGES + 2)
		writer_links(dir);
	else if (what >= FILE_CHANGES && target_draw(&t))
		(what < SERVER_CHANGES ? of_file[what - FILE_CHANGES] : writer_replaces)(&t);
}

/* ---- the beginning and the end ---- */

static void world_begin(bool writes_far)
{
	static const char *const base = "/dev/shm";
	memset(&world, 0, offsetof(__typeof__(world), states));
	world.state_count = 0;
	world.writes_far = writes_far;
	world.in[0] = world.in[1] = -1;
	snprintf(world.root, sizeof world.root, "%s/test_schedules.XXXXXX", access(base, W_OK) == 0 ? base : "/tmp");
	make_temporary(world.root);
	snprintf(world.source, sizeof world.source, "%s/src", world.root);
	char path[100];
	snprintf(path, sizeof path, "%s/away", world.root);
	must(mkdir(world.source, 0755) < 0 || mkdir(path, 0755), "mkdir");
	snprintf(path, sizeof path, "%s/server", world.root);
	must(mkdir(path, 0755), "mkdir");
	disk_put_on_server(ino_of(path));
	world.source_ino = ino_of(world.source);
	disk_touched(world.source_ino);
	world_add_state();
	if (writes_far)
		server_begin();
	for (int i = 0; i < DIRS; i++)
		while (world.in[i] < 0)
			writer_moves_in(i);
}

static void world_end(void)
{
	remove_all(world.root);
}

#endif
