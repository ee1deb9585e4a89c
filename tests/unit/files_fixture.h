/* SPDX-License-Identifier: MIT */
/* files_fixture: calls that concern files. */
#ifndef FILES_FIXTURE_H
#define FILES_FIXTURE_H

#include "render_fixture.h"
#include "sessionfs/render/files.h"

#define CALL(id, name, arguments)                                                                                      \
	"{\"type\":\"toolCall\",\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":" arguments "}"
#define ASSISTANT(id, parent, calls) MESSAGE(id, parent, "\"role\":\"assistant\",\"content\":[" calls "]")
#define RESULT(id, parent, call, rest)                                                                                 \
	MESSAGE(id, parent, "\"role\":\"toolResult\",\"toolCallId\":\"" call "\",\"content\":[]" rest)
#define EDIT "{\"path\":\"f\",\"oldText\":\"a\\nb\",\"newText\":\"c\"}"

#endif
