# SPDX-License-Identifier: MIT
# sessionfs: make, make check, make demo, make install. See README.md.

CC ?= cc
CFLAGS ?= -O2 -g
CPPFLAGS ?=
LDFLAGS ?=
PREFIX ?= /usr/local
DESTDIR ?=
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/sessionfs
# Where systemd looks for units.
ifeq ($(PREFIX),$(HOME)/.local)
UNITDIR ?= $(PREFIX)/share/systemd/user
endif
UNITDIR ?= $(PREFIX)/lib/systemd/user
PKG_CONFIG ?= pkg-config
BUILD ?= build
# Where each shell looks for completions: fish looks below /usr/local only if XDG_DATA_DIRS names it.
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(if $(filter /usr/local,$(PREFIX)$(other)),/etc/fish/completions,$(PREFIX)/share/fish/vendor_completions.d)

# macOS has no nproc.
cores = $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
# On all cores, unless -j is given. Two goals, as in `make clean all`, are made one after the other.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS) $(shell echo "$$MAKEFLAGS"))$(word 2,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(cores)
endif

# Those of the newest heading of NEWS.md, which is the one place for them.
VERSION := $(shell sed -n '/^[^ ]* [0-9]/{s/^[^ ]* \([0-9.]*\), .*/\1/p;q;}' NEWS.md)
RELEASED := $(shell sed -n '/^[^ ]* [0-9]/{s/.*, //p;q;}' NEWS.md)

warnings := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith -Werror=incompatible-pointer-types
# Those of the flags that the compiler has for this processor.
known = $(foreach flag,$(1),$(shell $(CC) -Werror $(flag) -fsyntax-only -x c /dev/null 2>/dev/null && echo $(flag)))
hardening := -fstack-protector-strong $(call known,-fstack-clash-protection -fcf-protection) -fPIE \
	$(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,-D_FORTIFY_SOURCE=2)
linking := -pie -Wl,-z,relro,-z,now
ifdef SAN
BUILD := build/san
hardening := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
linking := -fsanitize=address,undefined
endif
ifdef TSAN
BUILD := build/tsan
hardening := -fsanitize=thread -fno-omit-frame-pointer -fPIE
linking := -fsanitize=thread -pie
# Where threads meet; the rest would be the same code once more, ten times slower.
ONLY ?= unit/ wire/ events follow quiet write-following
endif
ifdef COVERAGE
BUILD := build/coverage
hardening := --coverage -O0
linking := --coverage
coverage = @scripts/coverage $(BUILD)
endif

# What is kept, and for how long, is little (base/limits.h), so that tests go past it.
ifdef SMALL
BUILD := build/small
limits := -DSESSIONFS_SMALL_LIMITS
endif

# Other systems than Linux: no mount, and names of Linux that they lack. The compiler does not look in Homebrew's prefix.
machine := $(shell $(CC) -dumpmachine 2>/dev/null)
other := $(if $(findstring linux,$(machine)),,$(machine))
ifneq ($(other),)
PORTABLE := 1
FUSE := 0
linking :=
brew := $(shell brew --prefix 2>/dev/null)
endif

# All commands but the mount, without libfuse.
ifeq ($(FUSE),0)
BUILD := build/no-fuse
no_fuse := -DSESSIONFS_NO_FUSE
endif

# With the calls of POSIX alone, as on systems other than Linux.
ifdef PORTABLE
BUILD := build/portable
posix := -DSESSIONFS_PORTABLE
endif
other_sys := src/base/sys_$(if $(PORTABLE),linux,portable).c

ifdef FUZZ
BUILD := build/fuzz
CC := clang
# Nothing after no bytes at all (NULL + 0) is what C will allow, and a span without bytes has.
hardening := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-recover=undefined \
	-fno-omit-frame-pointer
linking := -fsanitize=address,undefined
fuzzing := -fsanitize=fuzzer
endif

own_cppflags := -Iinclude -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DSESSIONFS_VERSION='"$(VERSION)"' $(limits) $(no_fuse) $(posix) \
	$(if $(other),-include sessionfs/base/sys_other.h $(brew:%=-I%/include))
own_cflags := -std=c17 $(warnings) $(hardening) -MMD -MP
# The registers of the x87 keep more digits than a double has, so that sums and what is printed of them would differ.
ifneq ($(filter i386-% i486-% i586-% i686-%,$(machine)),)
own_cflags += -msse2 -mfpmath=sse
endif
# All is built again when these change: $(BUILD)/flags has those of the last time.
flags := $(CC) $(own_cppflags) $(CPPFLAGS) $(own_cflags) $(CFLAGS) $(linking) $(LDFLAGS)
# macOS has GNU make 3.81, without the function `file`.
ifneq ($(shell cat $(BUILD)/flags 2>/dev/null),$(flags))
.PHONY: $(BUILD)/flags
endif
fuse_cflags = $(if $(no_fuse),,$(shell $(PKG_CONFIG) --cflags fuse3))
fuse_libs = $(if $(no_fuse),,$(shell $(PKG_CONFIG) --libs fuse3))
libs = $(if $(other),$(brew:%=-L%/lib) -lutf8proc,$(shell $(PKG_CONFIG) --libs libutf8proc) -lmd) -lmd4c -pthread

# Only these files may see libfuse (scripts/check-layers holds them to it).
fuse_sources := $(wildcard src/fuse/*.c) src/cmd/main.c
core_sources := $(filter-out $(fuse_sources) $(other_sys),$(wildcard src/*/*.c))
core_objects := $(core_sources:src/%.c=$(BUILD)/%.o)
fuse_objects := $(patsubst src/%.c,$(BUILD)/%.o,$(if $(no_fuse),src/cmd/main.c,$(fuse_sources)))
# Tests that name a limit hold with the one that they name.
other_limits := $(if $(SMALL),$(addprefix tests/,unit/test_cache.c unit/test_catalog_open.c unit/test_catalog_oracle.c \
	unit/test_secrets.c $(patsubst %,wire/test_%.c,coherence loop sizes wire write)),tests/wire/test_limits.c)
unit_sources := $(filter-out $(other_limits),$(wildcard tests/unit/test_*.c))
unit_tests := $(unit_sources:tests/unit/%.c=$(BUILD)/unit/%)
wire_sources := $(filter-out $(other_limits),$(wildcard tests/wire/test_*.c))
wire_tests := $(wire_sources:tests/wire/%.c=$(BUILD)/wire/%)
power_test := $(BUILD)/power/test_power
# These run with small limits, too; so does the mount, in tests/e2e/limits.sh. `make check SMALL=1` runs all so.
small := $(if $(SMALL),$(BUILD),$(BUILD)/small)
small_tests := wire/test_limits wire/test_listing unit/test_catalog_watch unit/test_catalog_writers unit/test_facts unit/test_gather unit/test_groups unit/test_search unit/test_secret unit/test_session_memory unit/test_tree unit/test_tree_grown \
	unit/test_tree_files unit/test_views_random
golden_tools := $(BUILD)/golden/dump $(BUILD)/golden/brief
match_ask := $(BUILD)/match_ask
slowfs := $(BUILD)/slowfs
fuzz_sources := $(wildcard tests/fuzz/fuzz_*.c)
fuzz_targets := $(fuzz_sources:tests/fuzz/%.c=$(BUILD)/targets/%)
fuzz_shared := $(BUILD)/targets/fuzz.o $(BUILD)/targets/portable.o $(BUILD)/targets/walk.o $(BUILD)/targets/wire.o

# V=1 shows the commands.
say = $(if $(filter-out 0,$(V)),,@echo '$(1) $(@:$(BUILD)/%=%)'; )

#: make		the program
all: $(BUILD)/sessionfs
	$(coverage)

$(BUILD)/sessionfs: $(fuse_objects) $(BUILD)/libsessionfs.a
	$(call say,LD)$(CC) $(linking) $(LDFLAGS) -o $@ $^ $(fuse_libs) $(libs)

$(BUILD)/libsessionfs.a: $(core_objects)
	@rm -f $@
	$(call say,AR)$(AR) qcs $@ $^

$(BUILD)/flags:
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(flags))' >$@

$(core_objects): $(BUILD)/%.o: src/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(own_cppflags) $(CPPFLAGS) $(utf8proc_cflags) $(own_cflags) $(CFLAGS) -c -o $@ $<
$(BUILD)/base/fold.o: utf8proc_cflags = $(if $(other),,$(shell $(PKG_CONFIG) --cflags libutf8proc))

# What is embedded.
$(BUILD)/render/html.o: $(wildcard src/render/pages/*)
$(BUILD)/cmd/pick.o: scripts/sessionfs-pick

$(fuse_objects): $(BUILD)/%.o: src/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(own_cppflags) $(CPPFLAGS) $(fuse_cflags) $(own_cflags) $(CFLAGS) -c -o $@ $<

# A case of a test, and what stands for a call of the system, need not use their arguments.
$(BUILD)/unit/% $(BUILD)/wire/% $(BUILD)/power/% $(BUILD)/targets/% $(BUILD)/mistakes/%: private own_cflags += -Wno-unused-parameter

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/libsessionfs.a | $(BUILD)/unit
	$(call say,CC)$(CC) $(own_cppflags) -Itests/unit $(CPPFLAGS) $(own_cflags) $(CFLAGS) $(linking) $(LDFLAGS) -o $@ $< $(BUILD)/libsessionfs.a -lcmocka $(libs)

# Allocations that fail.
allocs := malloc calloc realloc reallocarray strdup
failing_alloc := $(shell grep -l 'failing_alloc.h' $(unit_sources))
failing_alloc := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(failing_alloc) $(failing_alloc:.c=_portable.c))
$(failing_alloc): private linking += $(allocs:%=-Wl,--wrap=%)

# Sessions that are replaced before they are read.
$(BUILD)/unit/test_facts: private linking += -Wl,--wrap=budget_clock -Wl,--wrap=cached_facts_read

# Days that go by in between, and a directory that is removed.
$(BUILD)/unit/test_search $(BUILD)/unit/test_catalog_trouble: private linking += -Wl,--wrap=lock_release

# Sessions that are searched, counted.
$(BUILD)/unit/test_gather: private linking += -Wl,--wrap=match_session

# More sessions than files can be made of, sessions that cannot be read, and how long a wait is.
events_calls := catalog_slot_next catalog_project catalog_session_at_place catalog_session_get catalog_wait session_load \
	session_read
$(BUILD)/unit/test_events: private linking += $(events_calls:%=-Wl,--wrap=%)

# Threads that run one at a time, in a drawn order; and the same with one mistake in the catalog, which that order shows.
schedule_wraps := pthread_mutex_lock pthread_mutex_unlock pthread_cond_wait pthread_cond_timedwait pthread_cond_signal \
	pthread_cond_broadcast inotify_init1 poll
mistakes := $(patsubst tests/unit/mistakes/%.sed,$(BUILD)/mistakes/%,$(wildcard tests/unit/mistakes/*.sed))
$(BUILD)/unit/test_catalog_schedules $(mistakes): private linking += $(schedule_wraps:%=-Wl,--wrap=%)
$(BUILD)/unit/test_catalog_schedules $(BUILD)/mistakes/schedules.o: $(wildcard tests/unit/schedule*.h)
$(BUILD)/mistakes/schedules.o: tests/unit/test_catalog_schedules.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(own_cppflags) $(CPPFLAGS) $(own_cflags) $(CFLAGS) -c -o $@ $<
$(mistakes): $(BUILD)/mistakes/%: tests/unit/mistakes/%.sed $(BUILD)/mistakes/schedules.o $(BUILD)/libsessionfs.a
	@source=$$(sed -n '1s/^# \(.*\): .*/\1/p' $<); sed -f $< $$source >$@.c; \
		! cmp -s $$source $@.c || { echo '$<: changes nothing' >&2; exit 1; }
	$(call say,CC)$(CC) $(own_cppflags) -Isrc/catalog $(CPPFLAGS) $(own_cflags) -w $(CFLAGS) $(linking) $(LDFLAGS) -o $@ $@.c $(filter %.o %.a,$^) -lcmocka $(libs)
$(BUILD)/unit/test_catalog_mistakes: $(mistakes)

# Messages, counted.
$(BUILD)/unit/test_buf: private linking += -Wl,--wrap=log_message

# Lines that are read, counted.
$(BUILD)/unit/test_reads: private linking += -Wl,--wrap=session_load -Wl,--wrap=session_read

# How long a server may take.
$(BUILD)/unit/test_resolver: private linking += -Wl,--wrap=blocking_pool_open

# Texts that are made, counted.
$(BUILD)/unit/test_tree: private linking += -Wl,--wrap=part_text

# Lines that are parsed, counted.
$(BUILD)/unit/test_session: private linking += -Wl,--wrap=record_head

# Steps up the tree, counted.
$(BUILD)/unit/test_render_chat: private linking += -Wl,--wrap=session_walk_parent

# What fails after a write, in a listing or a thread.
after_calls := commit_labels commit_change tree_lookup tree_getattr session_label
$(BUILD)/unit/test_tree_trouble: private linking += $(after_calls:%=-Wl,--wrap=%)

# The whole filesystem but for main, behind a socket.
$(BUILD)/wire/%: tests/wire/%.c tests/wire/wire.c $(wildcard tests/wire/*.h) $(filter-out $(BUILD)/cmd/main.o,$(fuse_objects)) $(BUILD)/libsessionfs.a | $(BUILD)/wire
	$(call say,CC)$(CC) $(own_cppflags) -Itests/unit $(CPPFLAGS) $(fuse_cflags) $(own_cflags) $(CFLAGS) $(linking) $(LDFLAGS) -o $@ $(filter %.c %.o %.a,$^) -lcmocka $(fuse_libs) $(libs)
$(BUILD)/wire/test_follow: private linking += -Wl,--wrap=catalog_wait -Wl,--wrap=catalog_session_at_place -Wl,--wrap=catalog_slot
$(BUILD)/wire/test_coherence: private linking += -Wl,--wrap=tree_negative_class -Wl,--wrap=tree_getattr

# The same, with a disk that can lose power: the calls of the program, and only those, go to tests/power/disk_calls.c.
power_objects := $(filter-out $(BUILD)/cmd/main.o,$(fuse_objects)) $(BUILD)/libsessionfs.a
tool = $(shell $(CC) -print-prog-name=$(1))
$(BUILD)/power/program.o: $(power_objects) $(BUILD)/cmd/main.o tests/power/calls tests/power/make-calls | $(BUILD)/power
	@tests/power/make-calls $(BUILD)/power/calls.h $(call tool,nm) $(power_objects) $(BUILD)/cmd/main.o >$(BUILD)/power/symbols
	$(call say,LD)$(CC) -nostdlib -r -o $@ $(filter %.o,$(power_objects)) -Wl,--whole-archive $(filter %.a,$(power_objects)) -Wl,--no-whole-archive
	@$(call tool,objcopy) --redefine-syms=$(BUILD)/power/symbols $@
$(BUILD)/power/%: tests/power/%.c $(wildcard tests/power/*.[ch]) tests/wire/wire.c $(wildcard tests/wire/*.h) $(BUILD)/power/program.o
	$(call say,CC)$(CC) $(own_cppflags) -Itests/unit -Itests/wire -I$(BUILD)/power $(CPPFLAGS) $(fuse_cflags) $(own_cflags) $(CFLAGS) $(linking) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) -lcmocka $(fuse_libs) $(libs)
$(power_test): private linking += -Wl,--wrap=getrandom

$(golden_tools): $(BUILD)/golden/%: tests/golden/%.c $(BUILD)/libsessionfs.a | $(BUILD)/golden
	$(call say,CC)$(CC) $(own_cppflags) $(CPPFLAGS) $(own_cflags) $(CFLAGS) $(linking) $(LDFLAGS) -o $@ $< $(BUILD)/libsessionfs.a $(libs)

# Asks queries, for tests/e2e/search-words.sh.
$(match_ask): tests/tools/match_ask.c $(BUILD)/libsessionfs.a
	$(call say,CC)$(CC) $(own_cppflags) $(CPPFLAGS) $(own_cflags) $(CFLAGS) $(linking) $(LDFLAGS) -o $@ $< $(BUILD)/libsessionfs.a $(libs)

# A source that is slow, for tests/e2e/slow-source.sh. It is no part of what a sanitizer is to look at.
$(slowfs): tests/lib/slowfs.c $(BUILD)/flags | $(BUILD)/golden
	$(call say,CC)$(CC) -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(CPPFLAGS) $(fuse_cflags) -std=c17 $(warnings) $(CFLAGS) $(LDFLAGS) -o $@ $< $(fuse_libs)

# By libFuzzer (FUZZ=1), or the plain program that reads inputs from files.
$(BUILD)/targets/%.o: tests/fuzz/%.c $(BUILD)/flags | $(BUILD)/targets
	$(call say,CC)$(CC) $(own_cppflags) -Itests/unit -Itests/wire $(CPPFLAGS) $(fuse_cflags) $(own_cflags) $(CFLAGS) -c -o $@ $<

$(BUILD)/targets/portable.o: tests/fuzz/portable.c $(BUILD)/flags | $(BUILD)/targets
	$(call say,CC)$(CC) $(own_cppflags) $(CPPFLAGS) $(own_cflags) $(CFLAGS) -c -o $@ $<
	@objcopy --wildcard --keep-global-symbol='portable_*' $@

$(BUILD)/targets/wire.o: tests/wire/wire.c $(BUILD)/flags | $(BUILD)/targets
	$(call say,CC)$(CC) $(own_cppflags) $(CPPFLAGS) $(fuse_cflags) $(own_cflags) $(CFLAGS) -c -o $@ $<

$(BUILD)/targets/support.a: $(fuzz_shared) $(filter-out $(BUILD)/cmd/main.o,$(fuse_objects))
	@rm -f $@
	$(call say,AR)$(AR) qcs $@ $^

$(fuzz_targets): $(BUILD)/targets/%: $(BUILD)/targets/%.o $(if $(FUZZ),,$(BUILD)/targets/replay.o) $(BUILD)/targets/support.a $(BUILD)/libsessionfs.a
	$(call say,LD)$(CC) $(linking) $(fuzzing) $(LDFLAGS) -o $@ $^ -lcmocka $(fuse_libs) $(libs)

$(BUILD)/targets/fuzz_wire: private linking += -Wl,--wrap=log_message

fuzz-targets: $(fuzz_targets)
	@:

fast-targets: $(BUILD)/sessionfs $(golden_tools) $(match_ask) $(unit_tests) $(if $(no_fuse),,$(slowfs) $(wire_tests) $(power_test))
	@:

small-targets:
	@$(MAKE) --no-print-directory SMALL=1 BUILD=$(small) $(small)/sessionfs $(small_tests:%=$(small)/%)

$(BUILD)/unit $(BUILD)/wire $(BUILD)/power $(BUILD)/golden $(BUILD)/targets:
	@mkdir -p $@

units: $(unit_tests)
	@for t in $(unit_tests); do echo "== $$t"; $$t || exit 1; done

# For clangd, and whatever else asks how a file is compiled.
compiled_as = $(CC) $(own_cppflags) -Itests/unit -Itests/wire $(CPPFLAGS) $(fuse_cflags) $(shell $(PKG_CONFIG) --cflags libutf8proc) \
	$(filter-out -MMD -MP,$(own_cflags)) -Wno-unused-parameter $(CFLAGS)
#: make compile_commands.json	how each file is compiled, for clangd
compile_commands.json:
	@for file in $(wildcard src/*/*.c tests/*/*.c); do \
		printf '{"directory": "%s", "file": "%s", "command": "%s -c %s"}\n' '$(CURDIR)' $$file \
			'$(subst ','\'',$(subst ",\",$(subst \,\\,$(compiled_as))))' $$file; \
	done | sed '1s/^/[/; $$!s/$$/,/; $$s/$$/]/' >$@

# --- what people call -------------------------------------------------------------

help:
	@sed -n 's/^#: //p' Makefile | sort | expand -t 32

#: make demo	a tour of the sample sessions
demo:
	@scripts/setup demo
	@$(MAKE) --no-print-directory $(BUILD)/sessionfs
	@scripts/demo $(BUILD)/sessionfs

# What can be built side by side is, unless -j said how.
parallel = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(cores))

# What needs no mount and nothing but the compiler, the libraries and cmocka.
#: make check-fast	the tests that need no mount, in seconds
check-fast:
	@scripts/setup check-fast
	@$(MAKE) --no-print-directory $(parallel) fast-targets
	@FAST=1 scripts/check $(BUILD) unit/ wire/ golden/ lint/
	$(coverage)

# make check ONLY="links inodes" runs the tests with these words in their names.
#: make check	all tests; ONLY="links inodes": those with a word in their names; SAN=1, TSAN=1, COVERAGE=1
check:
	@scripts/setup check
	@$(MAKE) --no-print-directory $(parallel) fast-targets fuzz-targets
	@$(MAKE) --no-print-directory $(parallel) small-targets
	@SMALL="$(if $(SMALL),,$(small_tests))" scripts/check $(BUILD) $(ONLY)
	$(coverage)

# Three times, with four busy loops on each core: what fails here depends on the speed of the machine. It takes hours.
TIMES ?= 3
#: make check-loaded	all tests three times on busy cores; TIMES=1, ONLY="links"
check-loaded:
	@scripts/setup check
	@$(MAKE) --no-print-directory $(parallel) fast-targets fuzz-targets
	@$(MAKE) --no-print-directory $(parallel) SMALL=1 BUILD=$(small) $(small)/sessionfs $(small_tests:%=$(small)/%)
	@SMALL="$(if $(SMALL),,$(small_tests))" TIMES=$(TIMES) scripts/check-loaded $(BUILD) $(ONLY)

#: make coverage	how many lines of each folder the tests run
coverage:
	@$(MAKE) --no-print-directory check COVERAGE=1

# These goals print figures. All of them take some six hours.
RUN ?= check coverage check-loaded conformance fuzz mutants check-foreign stress
#: make figures	measures the figures of docs/TESTING.md; RUN="check fuzz": those of these goals
figures:
	@mkdir -p $(BUILD)
	@for goal in $(RUN); do \
		$(MAKE) --no-print-directory $$goal >$(BUILD)/figures.log 2>&1 && scripts/figures $$goal $(BUILD)/figures.log || \
			{ tail -n 20 $(BUILD)/figures.log; exit 1; }; \
	done

# Has every call to the system and every allocation fail once: without a mount all of them, mounted ALL of each kind
# and error, which takes long. What tests draw is drawn anew here; SEED=n says what.
#: make fault	each call to the system and each allocation fails once
fault: SEED := $(or $(SEED),$(shell date +%s))
fault:
	@scripts/setup check
	@$(MAKE) --no-print-directory $(parallel) fast-targets
	@SEED=$(SEED) SESSIONFS_TEST_SEED=$(SEED) scripts/check $(BUILD) unit/test_session_random unit/test_record unit/test_match \
		unit/test_name e2e/search-words e2e/write-kill
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" ALL=$(or $(ALL),1000) SEED=$(SEED) tests/e2e/faults.sh

# Takes what is shown now for right: read the difference before committing it.
#: make golden	takes the trees as they are now for right
golden: $(BUILD)/sessionfs $(golden_tools)
	SESSIONFS="$(abspath $(BUILD))/sessionfs" tests/golden/run --update
	SESSIONFS="$(abspath $(BUILD))/sessionfs" tests/e2e/check-command.sh --update

# With other compilers, systems and processors, most of them in chroots: it takes root, a Debian mirror, 3 GB of disk
# and half an hour, and says what cannot be had. ONLY="clang arm64" runs these.
#: make check-builds	other compilers, systems and processors, as root
check-builds:
	@scripts/setup builds
	@tests/builds/run $(ONLY)

# Against the real pi, which comes from npm.
#: make conformance	compares with the real pi
conformance:
	@scripts/setup conformance
	@$(MAKE) --no-print-directory $(BUILD)/sessionfs $(power_test)
	@tests/data/make-samples --check
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" BUILD="$(abspath $(BUILD))" tests/conformance/run
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" BUILD="$(abspath $(BUILD))" tests/conformance/mutated
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" BUILD="$(abspath $(BUILD))" tests/conformance/write || [ $$? -eq 77 ]
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" BUILD="$(abspath $(BUILD))" tests/conformance/edits || [ $$? -eq 77 ]
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" BUILD="$(abspath $(BUILD))" tests/conformance/resume || [ $$? -eq 77 ]
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" BUILD="$(abspath $(BUILD))" tests/conformance/agent || [ $$? -eq 77 ]
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" BUILD="$(abspath $(BUILD))" tests/conformance/provider || [ $$? -eq 77 ]
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" BUILD="$(abspath $(BUILD))" tests/conformance/branches || [ $$? -eq 77 ]
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" BUILD="$(abspath $(BUILD))" tests/conformance/repair
	@BUILD="$(abspath $(BUILD))" tests/conformance/power
	@BUILD="$(abspath $(BUILD))" tests/conformance/json-suite
	@BUILD="$(abspath $(BUILD))" tests/conformance/dates

# Seconds for each target; ONLY="json name" runs these. What was found is kept in build/fuzz.
TIME ?= 10
#: make fuzz	libFuzzer; TIME=600: seconds for each target
fuzz:
	@scripts/setup fuzz
	@$(MAKE) --no-print-directory FUZZ=1 fuzz-targets
	@BUILD=build/fuzz tests/fuzz/run $(TIME) $(ONLY)

# Takes an hour and some 15 GB of disk. QUICK=1 is a small run, FIGURES="tree against" a part of it.
#: make bench	measures, for more than an hour
bench:
	@scripts/setup bench
	@$(MAKE) --no-print-directory $(BUILD)/sessionfs
	@BUILD=$(BUILD) tests/bench/run $(if $(QUICK),--quick) $(FIGURES)

# On file systems of servers, by tests/far/*.sh: as root, half an hour. ONLY="sshfs gluster" runs these.
#: make check-far	on file systems of servers, as root
check-far:
	@scripts/setup far
	@$(MAKE) --no-print-directory $(BUILD)/sessionfs $(slowfs)
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" tests/far/run $(ONLY)

# Programs of other projects that test file systems, by tests/foreign/*.sh: ten minutes. ONLY="fio fsx" runs these.
#: make check-foreign	file system tests of other projects: fio, stress-ng and more
check-foreign:
	@scripts/setup foreign
	@$(MAKE) --no-print-directory $(BUILD)/sessionfs
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" tests/foreign/run $(ONLY)

# ONLY="load scale" runs these. load: readers and writers for MINUTES, while pi (the real one, if it was fetched) appends to
# 50 sessions. scale: 200,000 sessions, copies of those in SOURCE, and 6 GB in $TMPDIR. hostile: half an hour, and 10 GB.
MINUTES ?= 10
SOURCE ?= tests/data/sessions
#: make stress	under load; 200,000 sessions; hostile ones; ONLY="load scale hostile", MINUTES=10: of load, SOURCE=DIR: to copy
stress: $(BUILD)/sessionfs
	@export SESSIONFS="$(abspath $(BUILD))/sessionfs"; rc=0; \
	for part in $(or $(ONLY),load scale hostile); do \
		case $$part in \
		load) tests/stress/load --minutes=$(MINUTES) --pi=$(BUILD)/pi ;; \
		scale) tests/stress/scale --source='$(SOURCE)' ;; \
		hostile) tests/stress/run ;; \
		*) echo "ONLY=$$part: no such part" >&2; false ;; \
		esac || rc=1; \
	done; \
	exit $$rc

# Changes of one place of the sources that a test should notice, N of each folder, drawn by SEED; ALL=1 all; ONLY="find
# src/write/edit.c src/write/edit.c:120" these; AGAIN=1 the survivors of the last run; LIST=1 prints them.
#: make mutants	how many planted mistakes the fast tests find; N=50, SEED=1, ALL=1, ONLY="find src/write/edit.c"
mutants: export ONLY := $(ONLY)
mutants:
	@scripts/setup mutants
	@rc=0; tests/mutants/run.py $(BUILD) || rc=1; \
		$(if $(ONLY)$(AGAIN)$(LIST),,$(MAKE) --no-print-directory plants N= SEED= || rc=1;) exit $$rc

# Each change of tests/plants/plants.txt, and the test that must fail with it. ONLY="copy-ends store.c" runs some, N=4 as many, drawn by
# SEED, TIME=60 begins none after a minute; CHECKED=1: the tests have passed without a plant; LIST=1 prints them.
#: make plants	breaks each promise of docs/TESTING.md, and requires that its test fails; ONLY="copy-ends store.c", N=4, SEED=1
plants: export ONLY := $(ONLY)
plants:
	@scripts/setup check
	@$(if $(LIST),,$(MAKE) --no-print-directory $(parallel) fast-targets fuzz-targets)
	@tests/plants/run.py $(BUILD)

#: make lint	all that can be found without running the program
lint:
	@scripts/setup lint
	@$(MAKE) --no-print-directory $(parallel) $(BUILD)/sessionfs
	@scripts/lint $(BUILD)

# Has git refuse commits that are badly formatted, and the like.
#: make hooks	has git refuse what is badly formatted
hooks:
	@scripts/setup lint
	@scripts/pre-commit --install

# As the replacement of sed's `s|...|`, in double quotes.
replacement = $(subst |,\|,$(subst &,\&,$(1)))

# BSD's install has no -D, and its sed no -i like GNU's. systemd is only on Linux.
#: make install	PREFIX=/usr/local, DESTDIR
install: $(BUILD)/sessionfs
	mkdir -p "$(DESTDIR)$(BINDIR)" "$(DESTDIR)$(MANDIR)/man1" "$(DESTDIR)$(MANDIR)/man5" "$(DESTDIR)$(MANDIR)/man7" \
		"$(DESTDIR)$(DOCDIR)/skill/sessionfs" "$(DESTDIR)$(BASHDIR)" "$(DESTDIR)$(ZSHDIR)" "$(DESTDIR)$(FISHDIR)"
	install -m 755 $(BUILD)/sessionfs "$(DESTDIR)$(BINDIR)/sessionfs"
	for n in 1 5 7; do \
		install -m 644 man/sessionfs.$$n "$(DESTDIR)$(MANDIR)/man$$n/sessionfs.$$n" && \
		sed "s|^\.Os\$$|& sessionfs $(VERSION)|; s|/usr/local/share/doc/sessionfs|$(call replacement,$(DOCDIR))|" \
			man/sessionfs.$$n >"$(DESTDIR)$(MANDIR)/man$$n/sessionfs.$$n" || exit 1; \
	done
	install -m 644 docs/skill/SKILL.md "$(DESTDIR)$(DOCDIR)/skill/sessionfs/SKILL.md"
	install -m 644 scripts/completions/sessionfs.bash "$(DESTDIR)$(BASHDIR)/sessionfs"
	install -m 644 scripts/completions/_sessionfs "$(DESTDIR)$(ZSHDIR)/_sessionfs"
	install -m 644 scripts/completions/sessionfs.fish "$(DESTDIR)$(FISHDIR)/sessionfs.fish"
ifeq ($(other),)
	mkdir -p "$(DESTDIR)$(DOCDIR)/examples" "$(DESTDIR)$(UNITDIR)"
	install -m 644 scripts/systemd/fstab "$(DESTDIR)$(DOCDIR)/examples/fstab"
	install -m 644 scripts/systemd/sessionfs.service "$(DESTDIR)$(UNITDIR)/sessionfs.service"
	sed "s|\(^Exec.*[= ]\)sessionfs |\1\"$(call replacement,$(subst %,%%,$(BINDIR)))/sessionfs\" |" scripts/systemd/sessionfs.service \
		>"$(DESTDIR)$(UNITDIR)/sessionfs.service"
endif

#: make uninstall	removes what make install installs
uninstall:
	rm -f "$(DESTDIR)$(BASHDIR)/sessionfs" "$(DESTDIR)$(ZSHDIR)/_sessionfs" "$(DESTDIR)$(FISHDIR)/sessionfs.fish"
	rm -f "$(DESTDIR)$(BINDIR)/sessionfs"
	for n in 1 5 7; do rm -f "$(DESTDIR)$(MANDIR)/man$$n/sessionfs.$$n"; done
	rm -f "$(DESTDIR)$(DOCDIR)/examples/fstab" "$(DESTDIR)$(UNITDIR)/sessionfs.service"
	rm -f "$(DESTDIR)$(DOCDIR)/skill/sessionfs/SKILL.md"
	[ ! -d "$(DESTDIR)$(DOCDIR)" ] || find "$(DESTDIR)$(DOCDIR)" -depth -type d -empty -delete

# The tarball of this version, what is in it and under which licences, and their sums, in dist.
#: make dist	the tarball of a release, in dist
dist:
	@scripts/setup dist
	@scripts/dist $(VERSION) $(RELEASED)

# The Debian package, made of the same tarball, in dist.
#: make deb	the Debian package and its source, in dist
deb:
	@scripts/setup deb
	@scripts/deb $(VERSION) $(RELEASED)

# What dist and deb make is well, also when it is installed on a fresh Debian, which is fetched from the mirror of this machine.
#: make check-package	tests these, on a fresh Debian, as root
check-package:
	@scripts/setup package
	@$(MAKE) --no-print-directory $(BUILD)/sessionfs
	@SESSIONFS="$(abspath $(BUILD))/sessionfs" tests/package/run || [ $$? -eq 77 ]

#: make clean	removes what was built
clean:
	rm -rf build compile_commands.json

.PHONY: all units clean help compile_commands.json demo check-fast check fault golden conformance fuzz fuzz-targets fast-targets small-targets bench stress lint hooks install uninstall \
	dist deb check-package check-builds check-far check-foreign check-loaded mutants plants coverage figures
-include $(wildcard $(BUILD)/*/*.d)
