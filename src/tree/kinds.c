/* The table: one row for each name of the namespace, and the few lines that each
 * needs. A new file is one row and one function. Families (names that come from
 * the data) are in families.c. */
#include "sessionfs/base/name.h"
#include "sessionfs/session/part.h"
#include "sessionfs/render/producer.h"
#include "write_impl.h"

#include <errno.h>

/* --- links ---------------------------------------------------------------------- */

static int link_session(struct ctx *c, const char *up, const struct slot_info *s, struct buf *out)
{
	struct project_info p;
	if (!catalog_project(c->tree->catalog, s->project, &p))
		return -ESTALE;
	buf_addf(out, "%s%s/%s", up, p.name, s->stem);
	return 0;
}

static void link_entry(struct ctx *c, const char *up, uint32_t i, struct buf *out)
{
	buf_adds(out, up);
	session_entry_name(c->session, i, out);
}

static bool latest_has(struct ctx *c)
{
	return catalog_latest(c->tree->catalog, NO_SLOT, &c->slot);
}

static int latest_show(struct ctx *c, struct buf *out)
{
	return link_session(c, "projects/", &c->slot, out);
}

static bool project_latest_has(struct ctx *c)
{
	return catalog_latest(c->tree->catalog, c->node.slot, &c->slot);
}

static int project_latest_show(struct ctx *c, struct buf *out)
{
	buf_adds(out, c->slot.stem);
	return 0;
}

static int session_link_show(struct ctx *c, struct buf *out)
{
	return link_session(c, "../projects/", &c->slot, out);
}

static bool parent_session_has(struct ctx *c)
{
	return catalog_parent(c->tree->catalog, c->node.slot) != NO_SLOT;
}

static int parent_session_show(struct ctx *c, struct buf *out)
{
	struct slot_info s;
	uint32_t slot = catalog_parent(c->tree->catalog, c->node.slot);
	int rc = slot == NO_SLOT ? -ESTALE : catalog_slot(c->tree->catalog, slot, &s);
	return rc < 0 ? rc : link_session(c, "../../", &s, out);
}

static bool forks_has(struct ctx *c)
{
	struct slot_info s;
	uint64_t cookie = 0;
	uint32_t n;
	return catalog_fork_next(c->tree->catalog, c->node.slot, &cookie, &s, &n);
}

static int fork_show(struct ctx *c, struct buf *out)
{
	return link_session(c, "../../../", &c->slot, out);
}

static bool any_entry(struct ctx *c)
{
	return session_leaf(c->session) != NO_ENTRY;
}

static int leaf_show(struct ctx *c, struct buf *out)
{
	link_entry(c, "entries/", session_leaf(c->session), out);
	return 0;
}

static bool position_has(struct ctx *c)
{
	return session_position(c->session) != NO_ENTRY;
}

static int current_show(struct ctx *c, struct buf *out)
{
	branch_name(c, session_position(c->session), out);
	return 0;
}

static int to_entry_show(struct ctx *c, struct buf *out)
{
	link_entry(c, "../entries/", c->node.entry, out);
	return 0;
}

static int path_link_show(struct ctx *c, struct buf *out)
{
	link_entry(c, "../../entries/", c->node.entry, out);
	return 0;
}

static int child_show(struct ctx *c, struct buf *out)
{
	link_entry(c, "../../", c->node.entry, out);
	return 0;
}

static bool parent_has(struct ctx *c)
{
	return session_entry(c->session, c->node.entry)->parent != NO_ENTRY;
}

static int parent_show(struct ctx *c, struct buf *out)
{
	link_entry(c, "../", session_entry(c->session, c->node.entry)->parent, out);
	return 0;
}

/* The metadata at the end of a branch's path go when the branch does; what stands above them stays. */
static bool path_link_may_go(const struct ctx *c)
{
	return !(session_entry(c->session, c->node.entry)->flags & ENTRY_CONVERSATION);
}

static bool result_has(struct ctx *c)
{
	return session_result(c->session, c->node.entry, c->node.part) != NO_ENTRY;
}

static int result_show(struct ctx *c, struct buf *out)
{
	link_entry(c, "../../../", session_result(c->session, c->node.entry, c->node.part), out);
	return 0;
}

static bool call_link_has(struct ctx *c)
{
	unsigned n;
	return session_entry(c->session, c->node.entry)->role == ROLE_TOOL_RESULT &&
	       session_call(c->session, c->node.entry, &n) != NO_ENTRY;
}

static int call_link_show(struct ctx *c, struct buf *out)
{
	unsigned n;
	uint32_t caller = session_call(c->session, c->node.entry, &n);
	if (caller == NO_ENTRY)
		return -ESTALE;
	link_entry(c, "../", caller, out);
	buf_adds(out, "/tool-calls/");
	return call_name_of(c, caller, n, out);
}

/* --- a session's files ------------------------------------------------------------- */

static int readme_show(struct ctx *c, struct buf *out)
{
	(void)c;
	buf_addspan(out, readme_text());
	return 0;
}

static int readme_size(struct ctx *c, uint64_t *ret)
{
	(void)c;
	*ret = readme_text().n;
	return 0;
}

static int jsonl_size(struct ctx *c, uint64_t *ret)
{
	*ret = session_size(c->session);
	return 0;
}

/* Appends up to n bytes of the session file. What is paged is not for the kernel. */
static int add_bytes(struct ctx *c, uint64_t off, size_t n, struct buf *out)
{
	char piece[65536];
	bool direct = out->n + n <= BUF_PAGED;
	while (n > 0) {
		size_t want = direct || n < sizeof piece ? n : sizeof piece;
		char *to = direct ? buf_reserve(out, want) : piece;
		ssize_t got = to ? session_pread(c->session, to, want, off) : buf_err(out);
		if (got <= 0)
			return (int)got;
		if (direct)
			out->n += (size_t)got;
		else
			buf_add(out, piece, (size_t)got);
		off += (uint64_t)got;
		n -= (size_t)got;
	}
	return buf_err(out);
}

static int jsonl_part(struct ctx *c, uint64_t off, size_t n, struct buf *out)
{
	return add_bytes(c, off, n, out);
}

static int header_show(struct ctx *c, struct buf *out)
{
	return render_header_json(c->session, out);
}

static int info_show(struct ctx *c, struct buf *out)
{
	return render_info_json(c->session, c->slot.file, out);
}

static int title_show(struct ctx *c, struct buf *out)
{
	return render_title(c->session, out);
}

static int name_show(struct ctx *c, struct buf *out)
{
	return render_name(c->session, out);
}

static bool name_has(struct ctx *c)
{
	struct buf name CLEANUP_BUF = BUF_INIT;
	return session_name(c->session, &name);
}

static int cwd_show(struct ctx *c, struct buf *out)
{
	return render_cwd(c->session, out);
}

static bool cwd_has(struct ctx *c)
{
	struct buf cwd CLEANUP_BUF = BUF_INIT;
	return render_cwd(c->session, &cwd) == 0 && cwd.n > 0;
}

static int tree_show(struct ctx *c, struct buf *out)
{
	return render_tree_txt(c->session, out);
}

/* Whether there is a conversation entry that has these flags and a row to show. The first is rarely far. */
static bool any_row(struct ctx *c, unsigned flags)
{
	uint32_t n = session_count(c->session);
	for (uint32_t i = 0; i < n; i++) {
		unsigned f = session_entry(c->session, i)->flags;
		if ((f & flags) == flags && !(f & ENTRY_NO_MESSAGE))
			return true;
	}
	return false;
}

static bool tree_has(struct ctx *c)
{
	return any_row(c, ENTRY_CONVERSATION);
}

static bool labels_tsv_has(struct ctx *c)
{
	return session_label_count(c->session) > 0 || any_row(c, ENTRY_CONVERSATION | ENTRY_ADDRESSED);
}

static int problems_show(struct ctx *c, struct buf *out)
{
	return render_problems(c->session, out);
}

static bool problems_has(struct ctx *c)
{
	return session_problem_count(c->session) > 0;
}

static int labels_tsv_show(struct ctx *c, struct buf *out)
{
	return render_labels_tsv(c->session, out);
}

static int errors_show(struct ctx *c, struct buf *out)
{
	state_errors(c->tree, c->node.slot, out);
	return 0;
}

static bool errors_has(struct ctx *c)
{
	struct buf b CLEANUP_BUF = BUF_INIT;
	state_errors(c->tree, c->node.slot, &b);
	return b.n > 0;
}

/* A failure is for the one who reads it. */
static bool context_md_has(struct ctx *c)
{
	bool any = true;
	return context_any_sent(c->session, ctx_position(c), &any) < 0 || any;
}

static bool transcript_has(struct ctx *c)
{
	return render_transcript_has(c->session, ctx_position(c));
}

/* --- an entry's files ---------------------------------------------------------------- */

/* Small files: made to be measured. */
static size_t made_size(void (*make)(const struct record *, struct buf *), const struct record *r)
{
	struct buf b CLEANUP_BUF = BUF_INIT;
	make(r, &b);
	return b.n;
}

static int entry_json_size(struct ctx *c, uint64_t *ret)
{
	*ret = (uint64_t)session_entry(c->session, c->node.entry)->length + 1;
	return 0;
}

/* The line as it stands in the file; a newline of ours ends it. */
static int entry_json_part(struct ctx *c, uint64_t off, size_t n, struct buf *out)
{
	const struct entry *e = session_entry(c->session, c->node.entry);
	if (off > e->length || n == 0)
		return 0;
	size_t left = e->length - (size_t)off, k = n < left ? n : left;
	size_t before = out->n;
	int rc = add_bytes(c, e->offset + off, k, out);
	if (rc < 0 || out->n - before != k)
		return rc < 0 ? rc : -ESTALE;
	if (k < n)
		buf_addc(out, '\n');
	return 0;
}

#define RECORD_FILE(file, make, measure)                                                                               \
	static int file##_show(struct ctx *c, struct buf *out)                                                         \
	{                                                                                                              \
		make(&c->record, out);                                                                                 \
		return 0;                                                                                              \
	}                                                                                                              \
	static int file##_size(struct ctx *c, uint64_t *ret)                                                           \
	{                                                                                                              \
		*ret = measure;                                                                                        \
		return 0;                                                                                              \
	}                                                                                                              \
	static bool file##_has(struct ctx *c)                                                                          \
	{                                                                                                              \
		uint64_t n;                                                                                            \
		return file##_size(c, &n) == 0 && n > 0;                                                               \
	}

RECORD_FILE(type, part_type, made_size(part_type, &c->record))
RECORD_FILE(role, part_role, made_size(part_role, &c->record))
RECORD_FILE(model, part_model, made_size(part_model, &c->record))
RECORD_FILE(text, part_text, part_text_size(&c->record))
RECORD_FILE(thinking, part_thinking, part_thinking_size(&c->record))

static bool usage_has(struct ctx *c)
{
	return part_usage(&c->record).kind != JSON_NONE;
}

static int usage_size(struct ctx *c, uint64_t *ret)
{
	*ret = json_raw(part_usage(&c->record)).n + 1;
	return 0;
}

static int usage_show(struct ctx *c, struct buf *out)
{
	buf_addspan(out, json_raw(part_usage(&c->record)));
	buf_addc(out, '\n');
	return 0;
}

static bool tool_calls_has(struct ctx *c)
{
	struct part_call call = {0};
	return part_call_next(&c->record, &call);
}

static bool arguments_has(struct ctx *c)
{
	struct part_call call;
	return call_find(c, c->node.part, &call) && call.arguments.kind != JSON_NONE;
}

static int arguments_show(struct ctx *c, struct buf *out)
{
	struct part_call call;
	if (!call_find(c, c->node.part, &call))
		return -ESTALE;
	part_arguments(&call, out);
	return 0;
}

static bool call_has(struct ctx *c)
{
	struct part_call call;
	return call_find(c, c->node.part, &call);
}

static bool images_has(struct ctx *c)
{
	struct part_image image = {0};
	while (part_image_next(&c->record, &image))
		if (image.size > 0)
			return true;
	return false;
}

static bool image_has(struct ctx *c)
{
	struct part_image image;
	return image_find(c, c->node.part, &image);
}

static int image_size(struct ctx *c, uint64_t *ret)
{
	struct part_image image;
	if (!image_find(c, c->node.part, &image))
		return -ESTALE;
	*ret = image.size;
	return 0;
}

static int image_show(struct ctx *c, struct buf *out)
{
	struct part_image image;
	if (!image_find(c, c->node.part, &image))
		return -ESTALE;
	part_image(&image, out);
	return 0;
}

static bool children_has(struct ctx *c)
{
	return session_entry(c->session, c->node.entry)->child != NO_ENTRY;
}

static bool label_has(struct ctx *c)
{
	return session_label_record(c->session, c->node.entry) != NO_ENTRY;
}

/* The text of another record's field, as a text file: of the label or summary that was set last. */
static int field_show(struct ctx *c, uint32_t record, bool label, struct buf *out)
{
	if (record == NO_ENTRY)
		return -ESTALE;
	struct line line CLEANUP_LINE = LINE_INIT;
	struct record r;
	int rc = session_load(c->session, record, &line, &r);
	if (rc < 0)
		return rc;
	struct json_value v = label ? r.label : r.summary;
	size_t before = out->n;
	json_decode(v.kind == JSON_STRING ? v.text : json_raw(v), JSON_CLEAN, out);
	if (out->n > before && out->p[out->n - 1] != '\n')
		buf_addc(out, '\n');
	return 0;
}

static int label_show(struct ctx *c, struct buf *out)
{
	return field_show(c, session_label_record(c->session, c->node.entry), true, out);
}

static bool branch_summary_has(struct ctx *c)
{
	return session_branch_record(c->session, c->node.entry) != NO_ENTRY;
}

static int branch_summary_show(struct ctx *c, struct buf *out)
{
	return field_show(c, session_branch_record(c->session, c->node.entry), false, out);
}

/* --- the table ------------------------------------------------------------------------- */

/* One for each row, in any order. */
enum kind_id {
	K_NONE,
	K_ROOT,
	K_README,
	K_PROJECTS,
	K_SESSIONS,
	K_LATEST,
	K_SESSION_LINK,
	K_PROJECT,
	K_PROJECT_LATEST,
	K_SESSION,
	K_SESSION_JSONL,
	K_HEADER_JSON,
	K_INFO_JSON,
	K_TITLE,
	K_CWD,
	K_TREE_TXT,
	K_CONTEXT_MD,
	K_CONTEXT_JSON,
	K_TRANSCRIPT_MD,
	K_PARENT_SESSION,
	K_PROBLEMS,
	K_ERRORS,
	K_FORKS,
	K_FORK,
	K_ENTRIES,
	K_BRANCHES,
	K_CURRENT,
	K_LABELS,
	K_LABEL_LINK,
	K_NAME,
	K_LEAF,
	K_LABELS_TSV,
	K_BRANCH,
	K_BRANCH_CONTEXT_MD,
	K_BRANCH_CONTEXT_JSON,
	K_BRANCH_TRANSCRIPT_MD,
	K_PATH_LINK,
	K_ENTRY,
	K_ENTRY_JSON,
	K_TYPE,
	K_ROLE,
	K_MODEL,
	K_TEXT,
	K_THINKING,
	K_USAGE,
	K_TOOL_CALLS,
	K_CALL,
	K_ARGUMENTS,
	K_RESULT,
	K_CALL_LINK,
	K_IMAGES,
	K_IMAGE,
	K_PARENT,
	K_CHILDREN,
	K_CHILD,
	K_BRANCH_SUMMARY,
	K_LABEL,
};

#define DIR_ROW .type = S_IFDIR
#define FILE_ROW .type = S_IFREG
#define LINK_ROW .type = S_IFLNK
#define IN_SESSION .in = {K_SESSION}, .scope = SCOPE_INDEX, .stamp = STAMP_SESSION
#define IN_BRANCH .in = {K_BRANCH}, .scope = SCOPE_ENTRY, .stamp = STAMP_SESSION
#define IN_ENTRY .in = {K_ENTRY}, .scope = SCOPE_RECORD
#define OWN .stamp = STAMP_ENTRY, .class = TREE_FIXED
#define MADE_BY(by) .rewritten = true, .producer = &producer_##by

const struct kind tree_kinds[] = {
    [K_ROOT] = {"/", DIR_ROW, .class = TREE_WATCHED, .stamp = STAMP_ALL, .tells_new = true},
    [K_README] = {"README.md", FILE_ROW, .class = TREE_WATCHED, .in = {K_ROOT}, .size = readme_size,
                  .show = readme_show},
    [K_PROJECTS] = {"projects", DIR_ROW, .class = TREE_WATCHED, .in = {K_ROOT}},
    [K_SESSIONS] = {"sessions", DIR_ROW, .class = TREE_WATCHED, .in = {K_ROOT}, .gathers = true, .tells_new = true},
    [K_LATEST] = {"latest", LINK_ROW, .class = TREE_WATCHED, .in = {K_ROOT}, .stamp = STAMP_SESSION, .has = latest_has,
                  .moves_with = latest_moves, .show = latest_show},
    [K_SESSION_LINK] = {NULL, LINK_ROW, .class = TREE_WATCHED, .in = {K_SESSIONS}, .scope = SCOPE_SLOT,
                        .stamp = STAMP_SESSION, .moves_with = session_link_moves, .show = session_link_show,
                        .list = session_link_list, .match = session_link_match},

    [K_PROJECT] = {NULL, DIR_ROW, .class = TREE_WATCHED, .in = {K_PROJECTS}, .scope = SCOPE_PROJECT,
                   .stamp = STAMP_PROJECT, .tells_new = true, .moves_with = project_moves, .list = project_list,
                   .match = project_match},
    [K_PROJECT_LATEST] = {"latest", LINK_ROW, .class = TREE_WATCHED, .in = {K_PROJECT}, .stamp = STAMP_SESSION,
                          .has = project_latest_has, .moves_with = project_latest_moves, .show = project_latest_show},
    [K_SESSION] = {NULL, DIR_ROW, .class = TREE_WATCHED, .in = {K_PROJECT}, .scope = SCOPE_SLOT, .stamp = STAMP_SESSION,
                   .takes_names = true, .moves_with = session_moves, .list = session_list, .match = session_match},

    [K_SESSION_JSONL] = {"session.jsonl", FILE_ROW, IN_SESSION, .class = TREE_WATCHED, .size = jsonl_size,
                         .part = jsonl_part},
    [K_HEADER_JSON] = {"header.json", FILE_ROW, IN_SESSION, .class = TREE_WATCHED, .show = header_show},
    [K_INFO_JSON] = {"info.json", FILE_ROW, IN_SESSION, .class = TREE_WATCHED, .rewritten = true, .show = info_show},
    [K_TITLE] = {"title", FILE_ROW, IN_SESSION, .class = TREE_WATCHED, .rewritten = true, .show = title_show},
    [K_NAME] = {"name", FILE_ROW, IN_SESSION, .rewritten = true, .write = &writable_name, .has = name_has,
                .show = name_show},
    [K_CWD] = {"cwd", FILE_ROW, IN_SESSION, .class = TREE_WATCHED, .has = cwd_has, .show = cwd_show},
    [K_TREE_TXT] = {"tree.txt", FILE_ROW, IN_SESSION, .class = TREE_WATCHED, .whole = true, .rewritten = true,
                    .has = tree_has, .show = tree_show},
    [K_CONTEXT_MD] = {"context.md", FILE_ROW, IN_SESSION, .class = TREE_WATCHED, .has = context_md_has,
                      MADE_BY(context_md)},
    [K_CONTEXT_JSON] = {"context.json", FILE_ROW, IN_SESSION, .class = TREE_WATCHED, MADE_BY(context_json)},
    [K_TRANSCRIPT_MD] = {"transcript.md", FILE_ROW, IN_SESSION, .class = TREE_WATCHED, .has = transcript_has,
                         MADE_BY(transcript_md)},
    [K_LEAF] = {"leaf", LINK_ROW, IN_SESSION, .class = TREE_WATCHED, .write = &writable_leaf, .has = any_entry,
                .show = leaf_show},
    [K_PARENT_SESSION] = {"parent", LINK_ROW, .in = {K_SESSION}, .scope = SCOPE_SLOT, .stamp = STAMP_SESSION,
                          .has = parent_session_has, .show = parent_session_show},
    [K_FORKS] = {"forks", DIR_ROW, .in = {K_SESSION}, .scope = SCOPE_SLOT, .stamp = STAMP_SESSION, .gathers = true,
                 .has = forks_has},
    [K_FORK] = {NULL, LINK_ROW, .in = {K_FORKS}, .scope = SCOPE_SLOT, .stamp = STAMP_SESSION, .show = fork_show,
                .list = fork_list, .match = fork_match},
    [K_PROBLEMS] = {"problems.txt", FILE_ROW, IN_SESSION, .rewritten = true, .has = problems_has,
                    .show = problems_show},
    [K_LABELS_TSV] = {"labels.tsv", FILE_ROW, IN_SESSION, .class = TREE_WATCHED, .rewritten = true,
                      .write = &writable_labels_tsv, .has = labels_tsv_has, .show = labels_tsv_show},

    [K_ERRORS] = {"errors", FILE_ROW, .in = {K_SESSION}, .scope = SCOPE_SLOT, .stamp = STAMP_SESSION, .rewritten = true,
                  .untimed = true, .has = errors_has, .is_small = true, .show = errors_show},

    [K_LABELS] = {"labels", DIR_ROW, IN_SESSION, .class = TREE_WATCHED, .lasts = true, .takes_names = true},
    [K_LABEL_LINK] = {NULL, LINK_ROW, .in = {K_LABELS}, .scope = SCOPE_ENTRY, .stamp = STAMP_SESSION,
                      .write = &writable_label_link, .has = label_has, .show = to_entry_show, .list = label_list,
                      .match = label_match},

    [K_ENTRIES] = {"entries", DIR_ROW, IN_SESSION, .class = TREE_WATCHED, .lasts = true},
    [K_ENTRY] = {NULL, DIR_ROW, .in = {K_ENTRIES}, .scope = SCOPE_ENTRY, .stamp = STAMP_SESSION, .class = TREE_LEASE,
                 .takes_names = true, .takes_no_links = true, .is_target = true, .called = entry_called,
                 .list = entry_list, .match = entry_match},

    [K_BRANCHES] = {"branches", DIR_ROW, IN_SESSION, .class = TREE_WATCHED, .lasts = true},
    [K_CURRENT] = {"current", LINK_ROW, .in = {K_BRANCHES}, .scope = SCOPE_INDEX, .stamp = STAMP_SESSION,
                   .class = TREE_WATCHED, .has = position_has, .show = current_show},
    [K_BRANCH] = {NULL, DIR_ROW, .in = {K_BRANCHES}, .scope = SCOPE_ENTRY, .stamp = STAMP_SESSION, .class = TREE_LEASE,
                  .list = branch_list, .match = branch_match},
    [K_BRANCH_CONTEXT_MD] = {"context.md", FILE_ROW, IN_BRANCH, .class = TREE_LEASE, .has = context_md_has,
                             MADE_BY(context_md)},
    [K_BRANCH_CONTEXT_JSON] = {"context.json", FILE_ROW, IN_BRANCH, .class = TREE_LEASE, MADE_BY(context_json)},
    [K_BRANCH_TRANSCRIPT_MD] = {"transcript.md", FILE_ROW, IN_BRANCH, .class = TREE_LEASE, .has = transcript_has,
                                MADE_BY(transcript_md)},
    [K_PATH_LINK] = {NULL, LINK_ROW, IN_BRANCH, .class = TREE_LEASE, .may_go = path_link_may_go, .show = path_link_show,
                     .list = path_list, .match = path_match},

    [K_ENTRY_JSON] = {"entry.json", FILE_ROW, .in = {K_ENTRY}, .scope = SCOPE_ENTRY, OWN, .size = entry_json_size,
                      .part = entry_json_part},
    [K_TYPE] = {"type", FILE_ROW, IN_ENTRY, OWN, .has = type_has, .size = type_size, .show = type_show},
    [K_ROLE] = {"role", FILE_ROW, IN_ENTRY, OWN, .has = role_has, .size = role_size, .show = role_show},
    [K_MODEL] = {"model", FILE_ROW, IN_ENTRY, OWN, .has = model_has, .size = model_size, .show = model_show},
    [K_TEXT] = {"text.md", FILE_ROW, IN_ENTRY, OWN, .has = text_has, .size = text_size, .show = text_show},
    [K_THINKING] = {"thinking.md", FILE_ROW, IN_ENTRY, OWN, .has = thinking_has, .size = thinking_size,
                    .show = thinking_show},
    [K_USAGE] = {"usage.json", FILE_ROW, IN_ENTRY, OWN, .has = usage_has, .size = usage_size, .show = usage_show},
    [K_TOOL_CALLS] = {"tool-calls", DIR_ROW, IN_ENTRY, .stamp = STAMP_SESSION, .class = TREE_LEASE,
                      .has = tool_calls_has},
    [K_CALL] = {NULL, DIR_ROW, .in = {K_TOOL_CALLS}, .scope = SCOPE_RECORD, .stamp = STAMP_SESSION, .class = TREE_LEASE,
                .has = call_has, .list = call_list, .match = call_match},
    [K_ARGUMENTS] = {"arguments.json", FILE_ROW, .in = {K_CALL}, .scope = SCOPE_RECORD, OWN, .has = arguments_has,
                     .is_small = true, .show = arguments_show},
    [K_RESULT] = {"result", LINK_ROW, .in = {K_CALL}, .scope = SCOPE_ENTRY, .stamp = STAMP_SESSION, .class = TREE_LEASE,
                  .has = result_has, .show = result_show},
    [K_CALL_LINK] = {"call", LINK_ROW, IN_ENTRY, .stamp = STAMP_SESSION, .class = TREE_LEASE, .has = call_link_has,
                     .show = call_link_show},
    [K_IMAGES] = {"images", DIR_ROW, IN_ENTRY, .stamp = STAMP_SESSION, .class = TREE_LEASE, .has = images_has},
    [K_IMAGE] = {NULL, FILE_ROW, .in = {K_IMAGES}, .scope = SCOPE_RECORD, OWN, .has = image_has, .size = image_size,
                 .show = image_show, .list = image_list, .match = image_match},
    [K_PARENT] = {"parent", LINK_ROW, .in = {K_ENTRY}, .scope = SCOPE_ENTRY, .stamp = STAMP_SESSION,
                  .class = TREE_LEASE, .has = parent_has, .show = parent_show},
    [K_CHILDREN] = {"children", DIR_ROW, .in = {K_ENTRY}, .scope = SCOPE_ENTRY, .stamp = STAMP_SESSION,
                    .class = TREE_LEASE, .has = children_has},
    [K_CHILD] = {NULL, LINK_ROW, .in = {K_CHILDREN}, .scope = SCOPE_ENTRY, .stamp = STAMP_SESSION, .class = TREE_LEASE,
                 .show = child_show, .list = child_list, .match = child_match},
    [K_LABEL] = {"label", FILE_ROW, .in = {K_ENTRY}, .scope = SCOPE_ENTRY, .stamp = STAMP_LABEL, .rewritten = true,
                 .write = &writable_label, .has = label_has, .is_small = true, .show = label_show},
    [K_BRANCH_SUMMARY] = {"branch", FILE_ROW, .in = {K_ENTRY}, .scope = SCOPE_ENTRY, .stamp = STAMP_BRANCH,
                          .rewritten = true, .write = &writable_summary, .has = branch_summary_has, .is_small = true,
                          .show = branch_summary_show},
};

_Static_assert(sizeof tree_kinds / sizeof *tree_kinds <= KIND_CALL_VIEW, "kinds fit their bits of a node id");

const size_t tree_kind_count = sizeof tree_kinds / sizeof *tree_kinds;
const unsigned tree_root_kind = K_ROOT;
