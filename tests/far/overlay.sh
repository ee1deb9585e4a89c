#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# overlayfs: one machine's writes over a given directory. It cannot be mounted twice over one directory: both mounts use
# the same.
. "$(dirname "$0")/common.sh"
mkdir "$T"/{lower,upper,work}
mount -t tmpfs tmpfs "$T/upper" # some file systems cannot hold an upper directory
mkdir "$T"/upper/{upper,work}
mount -t overlay overlay -o "lowerdir=$T/lower,upperdir=$T/upper/upper,workdir=$T/upper/work" "$A" || skip "overlayfs cannot be had here"
mount --bind "$A" "$B"
machines 1500 both
