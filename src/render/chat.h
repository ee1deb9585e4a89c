/* chat: the lines of chat.md for what was run between two messages. */
#ifndef SESSIONFS_RENDER_CHAT_H
#define SESSIONFS_RENDER_CHAT_H

#include "sessionfs/render/render.h"
#include "sessionfs/render/tool.h"

#define CHAT_FAILED "\u2717 "

/* Appends what a line says of a call; a call_text. */
void chat_gist(const struct session *s, struct tool_use *u, struct buf *out);

/* Each returns 0 or a negative errno. `reader` keeps what is known of the message whose calls were shown last. */

/* Appends the line of a toolResult: what its call did. */
int chat_result(const struct session *s, uint32_t i, struct reader *reader, struct buf *out);
/* Appends a line, with `end` at its end, for each call that no result answers on the way from `above` (or NO_ENTRY) up
 * to the last assistant message, if none can come any more. `goes_on`: an assistant message follows, or nothing. */
int chat_unanswered(const struct session *s, uint32_t above, bool goes_on, const char *end, struct reader *reader,
                    struct buf *out);
/* Appends the line of a command that the user ran. */
int chat_bash(const struct session *s, uint32_t i, const struct record *r, struct buf *out);

/* Appends the line of an error that says most, shortened. */
void chat_reason(struct span clean, struct buf *out);

/* Whether the entry is there for people: it has a heading, a line or a mark. Custom messages must be read to know. */
enum chat_shown { CHAT_NOT, CHAT_SURELY, CHAT_MAYBE };
enum chat_shown chat_shows(const struct session *s, uint32_t i);

/* Appends the entry's label and ID, and ends the line. */
void chat_end_line(const struct session *s, uint32_t i, struct buf *out);

#endif
