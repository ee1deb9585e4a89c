/* SPDX-License-Identifier: MIT */
/* Produces a view in one step, for tests of the producer's output. */
#ifndef PRODUCE_H
#define PRODUCE_H

#include "sessionfs/render/producer.h"

/* Returns 0 or a negative errno. */
static inline int produce(const struct producer *producer, const struct session *s, uint32_t at, const char *prefix,
                          struct buf *out)
{
	const struct render_target p = {.session = s, .leaf = at, .prefix = prefix};
	struct render_totals totals = TOTALS_INIT;
	struct reader reader CLEANUP_READER = READER_INIT;
	struct buf body CLEANUP_BUF = BUF_INIT;
	void *items CLEANUP_FREE = NULL;
	size_t n = 0;

	int rc = producer->list(&p, &totals, &items, &n);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = producer->segment(&p, (const char *)items + i * producer->item_size, i == 0, &reader,
		                       &totals.usage, &body);
	if (rc == 0 && producer->front)
		rc = producer->front(&p, &totals, out);
	buf_addspan(out, buf_span(&body));
	if (rc == 0 && producer->back)
		rc = producer->back(&p, &totals, n, out);
	if (rc == 0)
		rc = buf_err(&body);
	return rc < 0 ? rc : buf_err(out);
}

#endif
