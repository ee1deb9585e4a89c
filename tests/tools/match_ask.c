/* SPDX-License-Identifier: MIT */
/* match_ask: queries on one session, for tests. Queries come on stdin, each ended by a NUL. The answer: for each
 * matching entry `entry LINE NAME`, then `end N M`, N bytes of hits.txt and M of entries.tsv; or a line with the error.
 *
 * usage: match_ask FILE; exit status 3 if it is not a session */
#include "sessionfs/find/match.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

static ssize_t read_fd(void *arg, void *p, size_t n, uint64_t off)
{
	ssize_t got = pread(*(const int *)arg, p, n, (off_t)off);
	return got < 0 ? -errno : got;
}

/* The raw file can match if the session does from `from` on; without index it is queried, too. */
static int ask(const char *path, const struct session *s, struct matcher *m, struct found_list *found)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct match_file file = {read_fd, &fd};
	uint32_t next = 0;
	uint64_t at = 0;

	int may = match_next_candidate(m, &file, session_format(s)->has_ids, 0, NULL, &at);
	/* In steps, as a search with enough results stops. */
	while (next < session_count(s)) {
		int rc = match_session(m, s, next, found->n + 3, found, &next, NULL);
		if (rc < 0)
			return rc;
	}
	if (may < 0 || (found->n && (!may || match_entry_at(s, at) > found->v[0].entry)))
		return -EBADMSG;
	return 0;
}

static void answer(const struct session *s, const struct found_list *found)
{
	CLEANUP_BUF struct buf name = BUF_INIT;
	const struct buf *texts = found->texts;

	for (size_t i = 0; i < found->n; i++) {
		uint32_t entry = found->v[i].entry;
		buf_reset(&name);
		session_entry_name(s, entry, &name);
		printf("entry %" PRIu32 " %s\n", session_entry(s, entry)->line, buf_cstr(&name));
	}
	printf("end %zu %zu\n", texts[FOUND_HITS].n, texts[FOUND_ROWS].n);
	for (int k = 0; k < FOUND_NAMES; k++)
		if (texts[k].n)
			fwrite(texts[k].p, 1, texts[k].n, stdout);
}

int main(int argc, char **argv)
{
	struct session *s;
	char *text = NULL;
	size_t room = 0;
	ssize_t n;

	if (argc != 2)
		return 2;
	if (session_open(&(struct source_path){NULL, argv[1]}, false, &s) < 0)
		return 3;
	while ((n = getdelim(&text, &room, '\0', stdin)) > 0) {
		struct query *q = NULL;
		struct matcher *m = NULL;
		struct found_list found = {.project = "", .stem = ""};
		int rc = query_parse((struct span){text, (size_t)n - 1}, 0, &q, NULL);
		rc = rc < 0 ? rc : matcher_open(q, &m);
		rc = rc < 0 ? rc : ask(argv[1], s, m, &found);
		if (rc == 0)
			answer(s, &found);
		if (rc < 0)
			printf("failed %d\n", rc);
		fflush(stdout);
		found_release(&found);
		matcher_close(m);
		query_put(q);
	}
	free(text);
	session_close(s);
	return 0;
}
