/* SPDX-License-Identifier: MIT */
/* files_fixture: calls that concern files. */
#ifndef FILES_FIXTURE_H
#define FILES_FIXTURE_H

#include "render_fixture.h"
#include "sessionfs/render/files.h"

#endif
