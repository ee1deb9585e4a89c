/* The names above all sessions: has, size and show of the rows of kinds.c. */
#include "kinds_impl.h"

#include <errno.h>

int link_session(struct ctx *c, const char *up, const struct slot_info *s, struct buf *out)
{
	struct project_info p;
	if (!catalog_project(c->tree->catalog, s->project, &p))
		return -ESTALE;
	buf_addf(out, "%s%s/%s", up, p.name, s->stem);
	return 0;
}

bool latest_has(struct ctx *c)
{
	return catalog_latest(c->tree->catalog, NO_SLOT, &c->slot);
}

int latest_show(struct ctx *c, struct buf *out)
{
	return link_session(c, "projects/", &c->slot, out);
}

bool project_latest_has(struct ctx *c)
{
	return catalog_latest(c->tree->catalog, c->node.slot, &c->slot);
}

int project_latest_show(struct ctx *c, struct buf *out)
{
	buf_adds(out, c->slot.stem);
	return 0;
}

int session_link_show(struct ctx *c, struct buf *out)
{
	return link_session(c, "../projects/", &c->slot, out);
}

int readme_show(struct ctx *c, struct buf *out)
{
	(void)c;
	buf_addspan(out, readme_text());
	return 0;
}

int readme_size(struct ctx *c, uint64_t *ret)
{
	(void)c;
	*ret = readme_text().n;
	return 0;
}
