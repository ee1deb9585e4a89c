/* html/PROJECT/STEM.html: a session as a page. */
#include "pieces.h"

static int page_front(const struct place *p, const struct totals *t, struct buf *out)
{
	(void)p, (void)t;
	buf_adds(
	    out,
	    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Session</title></head>\n<body>\n");
	return buf_err(out);
}

static int page_segment(const struct place *p, const void *item, bool is_first, struct reader *reader,
                        struct render_usage *usage, struct buf *out)
{
	(void)p, (void)item, (void)is_first, (void)reader, (void)usage, (void)out;
	return 0;
}

static int page_back(const struct place *p, const struct totals *t, size_t n, struct buf *out)
{
	(void)p, (void)t, (void)n;
	buf_adds(out, "</body></html>\n");
	return buf_err(out);
}

const struct producer producer_page_html = {
    .item = sizeof(uint32_t),
    .list = items_path,
    .has_labels = true,
    .front = page_front,
    .segment = page_segment,
    .back = page_back,
};
