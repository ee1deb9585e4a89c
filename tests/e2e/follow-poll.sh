#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The same checks without inotify, as on a network filesystem.
FOLLOW_OPTIONS="-o poll=0.3" exec "$(dirname "$0")/following.sh"
