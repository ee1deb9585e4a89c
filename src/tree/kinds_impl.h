/* kinds_impl: what each row of the table (kinds.c) needs beside its family's functions. NAME_has says whether the name
 * exists, NAME_size how large it is, NAME_show adds contents or target, NAME_part a range of the contents (struct
 * kind). */
#ifndef SESSIONFS_TREE_KINDS_IMPL_H
#define SESSIONFS_TREE_KINDS_IMPL_H

#include "write_impl.h"

/* kinds_top.c */
int link_session(struct ctx *c, const char *up, const struct slot_info *s, struct buf *out);
bool latest_has(struct ctx *c);
int latest_show(struct ctx *c, struct buf *out);
bool project_latest_has(struct ctx *c);
int project_latest_show(struct ctx *c, struct buf *out);
int session_link_show(struct ctx *c, struct buf *out);
int agents_show(struct ctx *c, struct buf *out);
int ignore_show(struct ctx *c, struct buf *out);
int readme_show(struct ctx *c, struct buf *out);
int readme_size(struct ctx *c, uint64_t *ret);

/* kinds_find.c */
int usage_svg(const struct fact_list *all, struct buf *out);
bool date_has(struct ctx *c);
int date_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int date_match(struct ctx *dir, struct span name, struct node *ret);
int date_link_show(struct ctx *c, struct buf *out);
int date_link_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int date_link_match(struct ctx *dir, struct span name, struct node *ret);

/* kinds_search.c */
int query_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int query_match(struct ctx *dir, struct span name, struct node *ret);
bool query_has(struct ctx *c);
bool hits_txt_has(struct ctx *c);
uint64_t hits_txt_serial(struct ctx *c);
int hits_txt_size(struct ctx *c, uint64_t *ret);
struct tree_held *hits_txt_hold(struct ctx *c, uint64_t *ret_size, int *ret_err);
int hits_txt_part(struct ctx *c, uint64_t off, size_t n, struct buf *out);
int hit_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int hit_match(struct ctx *dir, struct span name, struct node *ret);
int hit_show(struct ctx *c, struct buf *out);

/* kinds_html.c */
bool html_project_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name);
int html_index_show(struct ctx *c, struct buf *out);
int html_project_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int html_project_match(struct ctx *dir, struct span name, struct node *ret);
bool page_moves(struct tree *t, const struct slot_info *s, uint32_t *slot, struct buf *name);
int page_list(struct ctx *dir, uint64_t cookie, const struct lister *l);
int page_match(struct ctx *dir, struct span name, struct node *ret);
int page_to_session(struct ctx *c, struct buf *out);

/* kinds_session.c */
bool parent_session_has(struct ctx *c);
int parent_session_show(struct ctx *c, struct buf *out);
bool forks_has(struct ctx *c);
int forks_show(struct ctx *c, struct buf *out);
int last_show(struct ctx *c, struct buf *out);
bool any_entry(struct ctx *c);
int leaf_show(struct ctx *c, struct buf *out);
bool position_has(struct ctx *c);
int current_show(struct ctx *c, struct buf *out);
int to_entry_show(struct ctx *c, struct buf *out);
int path_link_show(struct ctx *c, struct buf *out);
bool path_link_may_go(const struct ctx *c);
int jsonl_size(struct ctx *c, uint64_t *ret);
int add_bytes(struct ctx *c, uint64_t off, size_t n, struct buf *out);
int jsonl_part(struct ctx *c, uint64_t off, size_t n, struct buf *out);
int info_show(struct ctx *c, struct buf *out);
bool name_has(struct ctx *c);
bool cwd_has(struct ctx *c);
int path_show(struct ctx *c, struct buf *out);
int resume_show(struct ctx *c, struct buf *out);
int tree_show(struct ctx *c, struct buf *out);
bool tree_has(struct ctx *c);
bool labels_tsv_has(struct ctx *c);
bool problems_has(struct ctx *c);
int errors_show(struct ctx *c, struct buf *out);
bool errors_has(struct ctx *c);
bool context_md_has(struct ctx *c);
bool transcript_has(struct ctx *c);
bool chat_has(struct ctx *c);
bool all_has(struct ctx *c);

/* kinds_entry.c */
size_t usage_size(const struct record *r);
void usage_show(const struct record *r, struct buf *out);
void link_entry(struct ctx *c, const char *up, uint32_t i, struct buf *out);
bool parent_has(struct ctx *c);
int parent_show(struct ctx *c, struct buf *out);
bool result_has(struct ctx *c);
int result_show(struct ctx *c, struct buf *out);
int entry_json_size(struct ctx *c, uint64_t *ret);
int entry_json_part(struct ctx *c, uint64_t off, size_t n, struct buf *out);
bool tool_calls_has(struct ctx *c);
bool arguments_has(struct ctx *c);
int arguments_show(struct ctx *c, struct buf *out);
bool arguments_txt_has(struct ctx *c);
int arguments_txt_show(struct ctx *c, struct buf *out);
bool call_has(struct ctx *c);
bool images_has(struct ctx *c);
bool image_has(struct ctx *c);
int image_size(struct ctx *c, uint64_t *ret);
int image_show(struct ctx *c, struct buf *out);
bool children_has(struct ctx *c);
int children_size(struct ctx *c, uint64_t *ret);
int children_show(struct ctx *c, struct buf *out);
bool output_has(struct ctx *c);
int output_show(struct ctx *c, struct buf *out);
bool call_of_has(struct ctx *c);
int call_of_show(struct ctx *c, struct buf *out);
bool label_has(struct ctx *c);
int label_show(struct ctx *c, struct buf *out);
bool branch_summary_has(struct ctx *c);
int branch_summary_show(struct ctx *c, struct buf *out);

#endif
