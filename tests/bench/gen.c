/* SPDX-License-Identifier: MIT */
/* gen: session files for the benchmark.
 *
 * Invented text gives misleading figures (no escapes, one line length, perfect compression), and real sessions are
 * private. So the text comes from the sample sessions: every line of their texts, still escaped as in JSON, goes into a
 * pool. Messages are made from the pool in the sizes and the order of real sessions: a line of the user, then an
 * assistant that thinks and calls a tool and a tool that answers, repeatedly, with labels, branches, compactions and
 * images in between. The same seed gives the same bytes. */
#include "sessionfs/base/buf.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define EPOCH_MS INT64_C(1704067200000) /* 2024-01-01: ten thousand sessions, one an hour, end in the past */

struct pool {
	struct buf bytes;
	size_t *starts; /* n + 1 offsets: piece i is starts[i] to starts[i + 1] */
	size_t n, cap;
};

struct shape {
	uint64_t seed;
	unsigned sessions, entries, branches, projects;
	double scale;     /* range of the sizes of texts; 1 gives lines of about 2 KB */
	bool real;        /* as many entries of the same lengths as real sessions; `entries` is not used */
	double times;     /* as many entries as real ones, times this */
	const char *word; /* put into one text in 64; NULL for none */
};

/* Of 94 real sessions: the minimum, the percentiles 10, 25, 50, 75, 90 and 99, and the maximum. Lengths are of a
 * message's texts. */
enum { RANKS = 8 };
static const double ranks[RANKS] = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
static const double real_entries[RANKS] = {3, 3, 4, 9, 15, 25, 1019, 2004};
static const double real_user[RANKS] = {12, 12, 34, 79, 163, 293, 2023, 2159};
static const double real_assistant[RANKS] = {10, 10, 10, 30, 99, 375, 2193, 18005};
static const double real_result[RANKS] = {12, 23, 107, 155, 993, 2645, 24218, 51266};

struct writer {
	const struct pool *pool;
	const struct shape *shape;
	uint64_t rng;
	uint32_t salt, written; /* entries */
	unsigned entries;       /* how many there will be */
	uint32_t last;          /* parent of the next entry, 0 for none */
	uint32_t turns[64];     /* newest ends of turns, for branches and labels */
	unsigned turn;
	unsigned left; /* tool rounds left in this turn */
	bool asked;    /* a call waits for its result */
	int64_t ms;
	struct buf out;
	FILE *file;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "gen: %s: %s\n", what, why);
	exit(1);
}

static uint64_t draw(uint64_t *rng)
{
	uint64_t z = *rng += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static unsigned below(struct writer *w, unsigned n)
{
	return (unsigned)(draw(&w->rng) % n);
}

/* Returns the value at u, from 0 to 1, of a distribution; log-linear between its ranks. */
static double quantile(const double *of, double u)
{
	size_t i = 0;
	while (i + 2 < RANKS && u >= ranks[i + 1])
		i++;
	return of[i] * pow(of[i + 1] / of[i], (u - ranks[i]) / (ranks[i + 1] - ranks[i]));
}

static double draw_unit(struct writer *w)
{
	return (double)(draw(&w->rng) >> 11) / 9007199254740992.0;
}

/* Log-uniform: many small, few large, like sizes of messages. */
static size_t size_between(struct writer *w, double lo, double hi)
{
	double n = lo * pow(hi / lo, draw_unit(w)) * w->shape->scale;
	return n < 10 ? 10 : (size_t)n;
}

/* Returns the length of a text: like real ones, or within the range. */
static size_t length_of(struct writer *w, const double *real, double lo, double hi)
{
	return w->shape->real ? (size_t)quantile(real, draw_unit(w)) : size_between(w, lo, hi);
}

/* A bijection of 32 bits: ids look random and never repeat in a session. */
static uint32_t id_of(const struct writer *w, uint32_t i)
{
	uint32_t x = i ^ w->salt;
	x = (x ^ (x >> 16)) * 0x85ebca6bU;
	x = (x ^ (x >> 13)) * 0xc2b2ae35U;
	return x ^ (x >> 16);
}

/* --- the pool --- */

static void pool_add(struct pool *p, struct span piece)
{
	if (piece.n < 12 || piece.n > 240 || !memchr(piece.p, ' ', piece.n))
		return;
	if (p->n + 2 > p->cap) {
		p->cap = p->cap ? 2 * p->cap : 1024;
		p->starts = realloc(p->starts, p->cap * sizeof(*p->starts));
		if (!p->starts)
			die("pool", "out of memory");
		p->starts[0] = 0;
	}
	buf_addspan(&p->bytes, piece);
	p->starts[++p->n] = p->bytes.n;
}

static struct span pool_piece(const struct pool *p, uint64_t i)
{
	i %= p->n;
	return (struct span){p->bytes.p + p->starts[i], p->starts[i + 1] - p->starts[i]};
}

/* Returns the length of the character at s in a JSON string, or 0 if the pool does not use it. */
static size_t plain_char(const unsigned char *s, size_t n)
{
	if (*s == '\\')
		return n > 1 && memchr("\"\\/t", s[1], 4) ? 2 : 0;
	if (*s < 0x80)
		return *s >= 0x20 && *s != '"';
	size_t len = *s >= 0xf1 ? 0 : *s >= 0xf0 ? 4 : *s >= 0xe1 && *s != 0xed ? 3 : *s >= 0xc3 && *s < 0xe0 ? 2 : 0;
	if (len == 0 || len > n || (*s == 0xf0 && s[1] < 0x90))
		return 0;
	for (size_t k = 1; k < len; k++)
		if ((s[k] & 0xc0) != 0x80)
			return 0;
	return len;
}

/* Adds every line of every string: runs of plain characters between quotes and \n. */
static void pool_take(struct pool *p, struct span line)
{
	const unsigned char *s = (const unsigned char *)line.p;
	size_t start = 0;
	for (size_t i = 0; i < line.n;) {
		size_t k = plain_char(s + i, line.n - i);
		if (k) {
			i += k;
			continue;
		}
		pool_add(p, (struct span){line.p + start, i - start});
		i += s[i] == '\\' && i + 1 < line.n ? 2 : 1;
		start = i;
	}
}

static void pool_read(struct pool *p, const char *path)
{
	FILE *f = fopen(path, "r");
	if (!f)
		die(path, strerror(errno));
	CLEANUP_FREE char *line = NULL;
	size_t cap = 0;
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0;)
		pool_take(p, (struct span){line, (size_t)n});
	fclose(f);
}

/* --- one session --- */

static void add_text(struct writer *w, size_t size)
{
	size_t end = w->out.n + size;
	uint64_t i = draw(&w->rng);
	if (w->shape->word && below(w, 64) == 0)
		buf_addf(&w->out, "About the %s, once more.\\n", w->shape->word);
	while (w->out.n < end) {
		buf_addspan(&w->out, pool_piece(w->pool, i++));
		if (w->out.n < end)
			buf_adds(&w->out, draw(&w->rng) % 8 ? "\\n" : "\\n\\n");
	}
}

static void add_base64(struct writer *w, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < size / 4; i++) {
		uint64_t z = draw(&w->rng);
		char four[4] = {digits[z & 63], digits[z >> 6 & 63], digits[z >> 12 & 63], digits[z >> 18 & 63]};
		buf_add(&w->out, four, 4);
	}
}

static void add_time(struct buf *out, int64_t ms)
{
	time_t t = (time_t)(ms / 1000);
	struct tm tm;
	char text[32];
	gmtime_r(&t, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	buf_addf(out, "%s.%03dZ", text, (int)(ms % 1000));
}

static void write_line(struct writer *w)
{
	buf_addc(&w->out, '\n');
	if (buf_err(&w->out) || fwrite(w->out.p, 1, w->out.n, w->file) != w->out.n)
		die("session", "cannot write");
	buf_reset(&w->out);
}

/* Appends the fields every entry begins with; the entry becomes the parent of the next. */
static void begin(struct writer *w, const char *type)
{
	w->ms += 1 + below(w, 20000);
	uint32_t id = id_of(w, ++w->written);
	buf_addf(&w->out, "{\"type\":\"%s\",\"id\":\"%08" PRIx32 "\",\"parentId\":", type, id);
	if (w->last)
		buf_addf(&w->out, "\"%08" PRIx32 "\",\"timestamp\":\"", id_of(w, w->last));
	else
		buf_adds(&w->out, "null,\"timestamp\":\"");
	add_time(&w->out, w->ms);
	buf_addc(&w->out, '"');
	w->last = w->written;
}

static void end_message(struct writer *w)
{
	buf_addf(&w->out, ",\"timestamp\":%" PRId64 "}}", w->ms);
	write_line(w);
}

static void write_user(struct writer *w)
{
	begin(w, "message");
	buf_adds(&w->out, ",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"");
	add_text(w, length_of(w, real_user, 60, 400));
	buf_adds(&w->out, "\"}");
	if (below(w, 50) == 0) {
		buf_adds(&w->out, ",{\"type\":\"image\",\"data\":\"iVBORw0KGgo");
		add_base64(w, w->shape->real ? size_between(w, 40000, 400000) : size_between(w, 4000, 40000));
		buf_adds(&w->out, "A\",\"mimeType\":\"image/png\"}");
	}
	buf_addc(&w->out, ']');
	end_message(w);
}

static void add_usage(struct writer *w)
{
	unsigned in = below(w, 900), out = 20 + below(w, 1500), read = below(w, 120000), wrote = below(w, 4000);
	double a = in * 5e-6, b = out * 25e-6, c = read * 5e-7, d = wrote * 625e-8;
	buf_addf(&w->out,
	         ",\"api\":\"anthropic-messages\",\"provider\":\"anthropic\",\"model\":\"claude-opus-4-5\",\"usage\":{"
	         "\"input\":%u,\"output\":%u,\"cacheRead\":%u,\"cacheWrite\":%u,\"totalTokens\":%u,\"cost\":{"
	         "\"input\":%.15g,\"output\":%.15g,\"cacheRead\":%.15g,\"cacheWrite\":%.15g,\"total\":%.15g}}",
	         in, out, read, wrote, in + out + read + wrote, a, b, c, d, a + b + c + d);
}

static void add_call(struct writer *w)
{
	static const char *const args[][2] = {{"bash", "\"command\":\""},
	                                      {"read", "\"path\":\"src/\",\"note\":\""},
	                                      {"edit", "\"path\":\"src/\",\"newText\":\""}};
	unsigned k = below(w, 3);
	buf_addf(&w->out, ",{\"type\":\"toolCall\",\"id\":\"toolu_%08" PRIx32 "\",\"name\":\"%s\",\"arguments\":{%s",
	         id_of(w, w->written), args[k][0], args[k][1]);
	add_text(w, k == 2 ? size_between(w, 200, 2500) : size_between(w, 20, 200));
	buf_adds(&w->out, "\"}}");
}

static void write_assistant(struct writer *w, bool calls)
{
	begin(w, "message");
	buf_adds(&w->out, ",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"");
	add_text(w, length_of(w, real_assistant, 80, 900));
	buf_adds(&w->out, "\",\"thinkingSignature\":\"");
	add_base64(w, size_between(w, 200, 600));
	buf_adds(&w->out, "\"},{\"type\":\"text\",\"text\":\"");
	add_text(w, calls ? length_of(w, real_assistant, 20, 300) : length_of(w, real_assistant, 200, 2000));
	buf_adds(&w->out, "\"}");
	if (calls)
		add_call(w);
	buf_addc(&w->out, ']');
	add_usage(w);
	buf_addf(&w->out, ",\"stopReason\":\"%s\"", calls ? "toolUse" : "stop");
	end_message(w);
}

static void write_result(struct writer *w)
{
	uint32_t call = id_of(w, w->last);
	begin(w, "message");
	buf_addf(&w->out,
	         ",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"toolu_%08" PRIx32 "\",\"toolName\":\"bash\","
	         "\"content\":[{\"type\":\"text\",\"text\":\"",
	         call);
	add_text(w, length_of(w, real_result, 100, 20000));
	buf_addf(&w->out, "\"}],\"isError\":%s", below(w, 12) ? "false" : "true");
	end_message(w);
}

static void write_branch(struct writer *w)
{
	uint32_t from = w->last;
	w->last = w->turns[(w->turn + 1 + below(w, 60)) % 64];
	uint32_t to = w->last;
	begin(w, "branch_summary");
	if (to)
		buf_addf(&w->out, ",\"fromId\":\"%08" PRIx32 "\",\"summary\":\"", id_of(w, from));
	else
		buf_adds(&w->out, ",\"fromId\":\"root\",\"summary\":\"");
	add_text(w, size_between(w, 300, 1500));
	buf_adds(&w->out, "\"}");
	write_line(w);
}

static void write_compaction(struct writer *w)
{
	uint32_t kept = w->turns[(w->turn + 60) % 64];
	begin(w, "compaction");
	buf_adds(&w->out, ",\"summary\":\"");
	add_text(w, size_between(w, 2000, 6000));
	buf_addf(&w->out, "\",\"firstKeptEntryId\":\"%08" PRIx32 "\",\"tokensBefore\":%u}", id_of(w, kept),
	         90000 + below(w, 60000));
	write_line(w);
}

static void write_label(struct writer *w)
{
	uint32_t target = id_of(w, w->turns[w->turn % 64]);
	begin(w, "label");
	struct span text = pool_piece(w->pool, draw(&w->rng));
	size_t n = 0;
	while (n < text.n && n < 40 && text.p[n] != '\\' && (text.p[n] & 0x80) == 0)
		n++;
	buf_addf(&w->out, ",\"targetId\":\"%08" PRIx32 "\",\"label\":\"%.*s\"}", target, (int)n, text.p);
	write_line(w);
}

/* Sometimes appends an entry without a message between turns. */
static bool write_rarity(struct writer *w)
{
	const struct shape *s = w->shape;
	unsigned r = below(w, w->entries / 8 + 8); /* a turn has about 8 entries */
	if (r < s->branches && w->turn > 2)
		write_branch(w);
	else if (w->turn % 50 == 49 && below(w, 2))
		write_compaction(w);
	else if (w->turn && below(w, 12) == 0)
		write_label(w);
	else
		return false;
	return true;
}

static void write_entry(struct writer *w)
{
	if (w->asked) {
		write_result(w);
		w->asked = false;
	} else if (w->left > 1) {
		write_assistant(w, true);
		w->asked = true;
		w->left--;
	} else if (w->left == 1) {
		write_assistant(w, false);
		w->left = 0;
		w->turns[++w->turn % 64] = w->last;
	} else if (!write_rarity(w)) {
		write_user(w);
		w->left = 1 + below(w, 6);
	}
}

static void write_header(struct writer *w, const char *sid, unsigned project)
{
	buf_addf(&w->out, "{\"type\":\"session\",\"version\":3,\"id\":\"%s\",\"timestamp\":\"", sid);
	add_time(&w->out, w->ms);
	buf_addf(&w->out, "\",\"cwd\":\"/srv/app%u\"}", project);
	write_line(w);
	begin(w, "model_change");
	buf_adds(&w->out, ",\"provider\":\"anthropic\",\"modelId\":\"claude-opus-4-5\"}");
	write_line(w);
	begin(w, "thinking_level_change");
	buf_adds(&w->out, ",\"thinkingLevel\":\"high\"}");
	write_line(w);
}

static void write_session(const struct pool *pool, const struct shape *shape, const char *dir, unsigned number)
{
	unsigned project = number % shape->projects;
	struct writer w = {.pool = pool, .shape = shape, .rng = shape->seed + number};
	w.salt = (uint32_t)draw(&w.rng);
	/* Evenly over the ranks, so that a few sessions have the distribution of many. */
	double rank = (number + 0.5) / shape->sessions;
	w.entries = shape->real ? (unsigned)(shape->times * quantile(real_entries, rank)) : shape->entries;
	w.ms = EPOCH_MS + (int64_t)number * 3600000;
	struct buf path CLEANUP_BUF = BUF_INIT, sid CLEANUP_BUF = BUF_INIT;
	buf_addf(&path, "%s/--srv-app%u--", dir, project);
	if (mkdir(buf_cstr(&path), 0755) < 0 && errno != EEXIST)
		die(path.p, strerror(errno));
	buf_addf(&sid, "%08" PRIx64 "-0000-7000-8000-%012x", (uint64_t)w.ms & 0xffffffffU, number);
	buf_addc(&path, '/');
	size_t name = path.n;
	add_time(&path, w.ms);
	for (size_t i = name; i < path.n; i++)
		if (path.p[i] == ':' || path.p[i] == '.')
			path.p[i] = '-';
	buf_addf(&path, "_%s.jsonl", buf_cstr(&sid));
	w.file = fopen(buf_cstr(&path), "w");
	if (!w.file)
		die(path.p, strerror(errno));
	setvbuf(w.file, NULL, _IOFBF, 1 << 20);
	write_header(&w, sid.p, project);
	while (w.written < w.entries)
		write_entry(&w);
	if (fflush(w.file) != 0)
		die(path.p, strerror(errno));
	struct timespec t[2] = {{w.ms / 1000, 0}, {w.ms / 1000, 0}};
	futimens(fileno(w.file), t);
	fclose(w.file);
	buf_release(&w.out);
}

int main(int argc, char **argv)
{
	struct shape s = {
	    .seed = 1, .sessions = 1, .entries = 100, .branches = 2, .projects = 1, .scale = 1, .times = 1};
	for (int c; (c = getopt(argc, argv, "s:n:m:b:p:z:rx:w:")) != -1;) {
		switch (c) {
		case 's':
			s.seed = strtoull(optarg, NULL, 10);
			break;
		case 'n':
			s.sessions = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'm':
			s.entries = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'b':
			s.branches = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'p':
			s.projects = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'z':
			s.scale = strtod(optarg, NULL);
			break;
		case 'r':
			s.real = true;
			break;
		case 'x':
			s.times = strtod(optarg, NULL);
			break;
		case 'w':
			s.word = optarg;
			break;
		default:
			return 2;
		}
	}
	if (argc - optind < 2 || s.projects == 0) {
		fputs("usage: gen [-s SEED] [-n SESSIONS] [-m ENTRIES] [-b BRANCHES] [-p PROJECTS] [-z SCALE] [-r [-x "
		      "TIMES]] DIR "
		      "SAMPLE...\n",
		      stderr);
		return 2;
	}
	struct pool pool = {.bytes = BUF_INIT};
	for (int i = optind + 1; i < argc; i++)
		pool_read(&pool, argv[i]);
	if (buf_err(&pool.bytes) || pool.n < 20)
		die("samples", "too little text in them");
	if (mkdir(argv[optind], 0755) < 0 && errno != EEXIST)
		die(argv[optind], strerror(errno));
	for (unsigned i = 0; i < s.sessions; i++)
		write_session(&pool, &s, argv[optind], i);
	free(pool.starts);
	buf_release(&pool.bytes);
	return 0;
}
