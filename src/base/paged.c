/* The addresses are reserved without access. The memory is a memfd of a few frames, which is also mapped by itself all
 * the time. A fault fills a frame there and then maps it where it was wanted, so that other threads see the whole piece
 * or nothing. The piece that came first is evicted. There are enough frames for several threads that copy from one text
 * to another: none evicts a piece that another instruction still needs. */
#include "sessionfs/base/paged.h"
#include "sessionfs/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory that has two addresses counts twice. */
enum { PIECE = 256 * 1024, PIECES = PAGED_MEMORY / PIECE / 2, STEP = 64 * PIECE };

struct paged {
	struct paged *next;
	pthread_mutex_t mutex; /* guards the fields below */
	char *begin;
	size_t size; /* a multiple of PIECE */
	int fd, memory;
	char *frames;      /* where the memory is mapped by itself: PIECES pieces */
	uint64_t off, end; /* of these bytes, in the file */
	bool writable;
	size_t room;           /* reserved on the disk */
	size_t pieces[PIECES]; /* those that are resident, by frame */
	size_t n;              /* how many have come in so far */
};

/* Signal handlers belong to the process, and so does what they look at. Whoever holds the mutex touches nothing that
 * is paged, so the handler can take it. */
static struct {
	pthread_mutex_t mutex;
	struct sigaction before;
	struct paged *all;
} open_ones = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
};

static struct paged *find_paged(const char *address)
{
	pthread_mutex_lock(&open_ones.mutex);
	struct paged *p = open_ones.all;
	while (p && (address < p->begin || address >= p->begin + p->size))
		p = p->next;
	pthread_mutex_unlock(&open_ones.mutex);
	return p;
}

static void read_piece(const struct paged *p, size_t frame, size_t piece)
{
	char *to = p->frames + frame * PIECE;
	uint64_t from = p->off + (uint64_t)piece * PIECE, left = from < p->end ? p->end - from : 0;
	size_t want = left < PIECE ? (size_t)left : PIECE, got = 0;
	while (got < want) {
		ssize_t n = pread(p->fd, to + got, want - got, (off_t)(from + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	memset(to + got, 0, PIECE - got);
}

static bool write_piece(const struct paged *p, size_t frame, size_t piece)
{
	for (size_t done = 0; done < PIECE;) {
		ssize_t n =
		    pwrite(p->fd, p->frames + frame * PIECE + done, PIECE - done, (off_t)(piece * PIECE + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static bool is_resident(const struct paged *p, size_t piece)
{
	for (size_t i = 0; i < PIECES && i < p->n; i++)
		if (p->pieces[i] == piece)
			return true;
	return false;
}

static bool let_go(struct paged *p, size_t frame)
{
	size_t piece = p->pieces[frame];
	if (piece == SIZE_MAX)
		return true;
	if (p->writable && !write_piece(p, frame, piece))
		return false;
	return mmap(p->begin + piece * PIECE, PIECE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
	            -1, 0) != MAP_FAILED;
}

/* Makes the piece resident. False if that fails. */
static bool bring(struct paged *p, size_t piece)
{
	size_t frame = p->n % PIECES;
	if (is_resident(p, piece))
		return true;
	if (p->n >= PIECES && !let_go(p, frame))
		return false;
	p->pieces[frame] = SIZE_MAX;
	read_piece(p, frame, piece);
	if (mmap(p->begin + piece * PIECE, PIECE, p->writable ? PROT_READ | PROT_WRITE : PROT_READ,
	         MAP_SHARED | MAP_FIXED | MAP_POPULATE, p->memory, (off_t)(frame * PIECE)) == MAP_FAILED)
		return false;
	p->pieces[frame] = piece;
	p->n++;
	return true;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	int saved = errno;
	struct paged *p = find_paged(info->si_addr);
	bool done = false;

	(void)context;
	if (p) {
		pthread_mutex_lock(&p->mutex);
		done = bring(p, (size_t)((char *)info->si_addr - p->begin) / PIECE);
		pthread_mutex_unlock(&p->mutex);
	}
	/* The instruction runs again, and faults again, without our handler. */
	if (!done)
		sigaction(signal, &open_ones.before, NULL);
	errno = saved;
}

/* Somebody else may have set a handler since the last time. */
static void set_handler(void)
{
	struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
	struct sigaction now;
	sigemptyset(&a.sa_mask);
	if (sigaction(SIGSEGV, NULL, &now) < 0 || now.sa_sigaction == on_fault)
		return;
	open_ones.before = now;
	sigaction(SIGSEGV, &a, NULL);
}

static int make_room(struct paged *p, size_t size)
{
	p->size = (size + PIECE - 1) / PIECE * PIECE;
	p->memory = memfd_create("sessionfs", MFD_CLOEXEC);
	if (p->memory < 0 || ftruncate(p->memory, PIECES * PIECE) < 0)
		return -errno;
	p->frames = mmap(NULL, PIECES * PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, p->memory, 0);
	p->begin = mmap(NULL, p->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p->frames == MAP_FAILED || p->begin == MAP_FAILED ? -ENOMEM : 0;
}

static void paged_free(struct paged *p)
{
	if (p->begin != MAP_FAILED)
		munmap(p->begin, p->size);
	if (p->frames != MAP_FAILED)
		munmap(p->frames, PIECES * PIECE);
	if (p->memory >= 0)
		close(p->memory);
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

/* Takes over like->fd, even if it fails. */
static int open_paged(const struct paged *like, size_t size, struct paged **ret)
{
	int rc = like->fd < 0 ? -errno : 0;
	struct paged *p = malloc(sizeof *p);
	if (!p) {
		if (like->fd >= 0)
			close(like->fd);
		return -ENOMEM;
	}
	*p = *like;
	p->memory = -1;
	p->begin = p->frames = MAP_FAILED;
	if (rc == 0)
		rc = make_room(p, size);
	if (rc < 0) {
		paged_free(p);
		return rc;
	}
	pthread_mutex_init(&p->mutex, NULL);
	pthread_mutex_lock(&open_ones.mutex);
	set_handler();
	p->next = open_ones.all;
	open_ones.all = p;
	pthread_mutex_unlock(&open_ones.mutex);
	*ret = p;
	return 0;
}

int paged_map(int fd, uint64_t off, size_t n, struct paged **ret)
{
	/* Behind the last byte there is another piece at most: scanners look a little further. */
	const struct paged like = {.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3), .off = off, .end = off + n};
	return open_paged(&like, n + PIECE, ret);
}

static int open_nameless(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = dir ? open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600) : -1;
	return fd < 0 ? open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600) : fd;
}

int paged_make(size_t size, struct paged **ret)
{
	const struct paged like = {.fd = open_nameless(), .end = size, .writable = true};
	return open_paged(&like, size, ret);
}

int paged_grow(struct paged *p, size_t n)
{
	if (n <= p->room)
		return 0;
	size_t room = (n + STEP - 1) / STEP * STEP;
	int err = room > p->size ? ENOMEM : posix_fallocate(p->fd, 0, (off_t)room);
	if (err == 0)
		p->room = room;
	return -err;
}

char *paged_bytes(const struct paged *p)
{
	return p->begin;
}

void paged_close(struct paged *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&open_ones.mutex);
	struct paged **at = &open_ones.all;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	pthread_mutex_unlock(&open_ones.mutex);
	pthread_mutex_destroy(&p->mutex);
	paged_free(p);
}
