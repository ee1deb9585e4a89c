/* SPDX-License-Identifier: MIT */
#include "sessionfs/base/progress.h"

#include "sessionfs/base/clock.h"

#include <sched.h>
#include <stdarg.h>
#include <unistd.h>

/* A longer line would wrap, and could not be erased. */
#define PROGRESS_COLUMNS 79
/* The time left is known once this part is done. */
#define PROGRESS_PART_MIN 0.02

static struct progress *progress_get(void)
{
	const struct cancel *c = cancel_get();

	return c && c->progress && c->progress->out ? c->progress : NULL;
}

void progress_init(struct progress *p, FILE *out, unsigned delay_ms, bool always)
{
	int64_t now = clock_ms(CLOCK_MONOTONIC);

	*p = (struct progress){.out = out && (always || isatty(fileno(out))) ? out : NULL,
	                       .began_ms = now,
	                       .next_ms = now + delay_ms,
	                       .is_used = ATOMIC_FLAG_INIT};
}

void progress_show(double part, const char *format, ...)
{
	struct progress *p = progress_get();
	char text[PROGRESS_COLUMNS + 1];
	va_list ap;

	/* Another thread draws: its line is as good. */
	if (!p || atomic_flag_test_and_set(&p->is_used))
		return;
	int64_t now = clock_ms(CLOCK_MONOTONIC);
	if (p->format && p->format != format) {
		p->began_ms = now;
		p->began_part = part;
	}
	p->format = format;
	if (now >= p->next_ms) {
		p->next_ms = now + PROGRESS_STEP_MS;
		va_start(ap, format);
		int n = vsnprintf(text, sizeof text, format, ap);
		va_end(ap);
		double done = part - p->began_part;
		double left = done > 0 ? (double)(now - p->began_ms) / 1000 * (1 - part) / done : 0;
		if (n < PROGRESS_COLUMNS && done >= PROGRESS_PART_MIN)
			n += snprintf(text + n, sizeof text - (size_t)n,
			              left < 100 ? ", %.0f s left" : ", %.0f min left", left < 100 ? left : left / 60);
		fprintf(p->out, "\r%-*s", p->shown, text);
		fflush(p->out);
		n = n < PROGRESS_COLUMNS ? n : PROGRESS_COLUMNS;
		p->shown = n > p->shown ? n : p->shown;
	}
	atomic_flag_clear(&p->is_used);
}

void progress_clear(void)
{
	struct progress *p = progress_get();

	if (!p)
		return;
	while (atomic_flag_test_and_set(&p->is_used))
		sched_yield();
	if (p->shown) {
		fprintf(p->out, "\r%*s\r", p->shown, "");
		fflush(p->out);
	}
	p->shown = 0;
	atomic_flag_clear(&p->is_used);
}
