/* The names above all sessions: has, size and show of the rows of kinds.c. */
#include "kinds_impl.h"

#include <errno.h>
#include <sys/stat.h>

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

int agents_show(struct ctx *c, struct buf *out)
{
	(void)c;
	buf_adds(out, "README.md");
	return 0;
}

static bool is_session(const struct kind *k)
{
	return k && !k->name && k->make.type == S_IFDIR && k->from->scope == SCOPE_SLOT;
}

/* The names of the root and of a session that are not searched, of files or of all else. */
static void add_ignored(bool files, struct buf *out)
{
	for (const struct kind *k = NULL; (k = kind_next(k));) {
		bool top = kind_is_in(k, tree_root_kind);
		if (!k->name || k->name[0] == '.' || (k->flags & SEARCHED) || !(top || is_session(kind_at(k->in[0]))))
			continue;
		if ((k->make.type == S_IFREG) == files)
			buf_addf(out, "%s%s\n", top ? "/" : "", k->name);
	}
}

/* The last pattern that fits counts. ripgrep 13 looks for the names below a directory that was given by hand in the
 * wrong place of the patterns of the directories above it. So a session's names stand here without their place, which
 * is right in any; a project or session may be called like that, too. */
int ignore_show(struct ctx *c, struct buf *out)
{
	(void)c;
	buf_adds(out, "# For rg and fd: of each session all.txt, name and title. Everything: rg -uu, fd -I\n");
	add_ignored(true, out);
	buf_adds(out, "![!.]*/\n");
	add_ignored(false, out);
	buf_adds(out, "!/projects/*/\n!/projects/*/[!.]*/\n");
	return buf_err(out);
}
