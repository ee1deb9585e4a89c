#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""run.py BUILD: how many mutants of the sources die in the tests that need no mount. Called by `make mutants`.

All mutants are compiled at once, into the library and the tests of a copy of the tree in BUILD/mutants/tree (mutate.py).
Each case of each test runs once to record which mutants it reaches. Then each mutant runs with the cases that reach it,
quickest first, until one fails: with another exit status than 0, a signal, or more than several times its usual time. What
passes the tests of modules, the wire tests and the golden trees runs with the losses of power (tests/power) and the kit of
the contract (tests/contract), too. A mutant that passes them all survives.

Environment:
  ONLY="catalog src/find/match.c src/find/match.c:120"   folders, files, lines; default: the folders in FOLDERS
  N=50 SEED=1   so many mutants of each folder, drawn by SEED; of files and lines all
  ALL=1         all mutants
  AGAIN=1       those that survived the last time
  LIST=1        only prints them, with their numbers
  GOAL=85       the percent below which the exit status is 1 (not with ONLY or AGAIN)
  LONGEST=2     without cases that take more seconds: on a busy machine, for a percent that is rather too small
  TESTS="test_catalog wire/"   with these programs alone: for the same
  JOBS=N        mutants at a time; default: one a CPU

survivors.txt has a reason for each known survivor. Those without a reason are printed.
MUTANT=NUMBER BUILD/mutants/tree/build/sessionfs is the program as one mutant, for other tests.
"""
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mutate

FOLDERS = ["base", "json", "file", "session", "catalog", "write", "find", "render", "tree", "fuse", "cmd"]
COPIED = ["Makefile", "NEWS.md", "include", "src", "tests", "scripts", "man"]
BLOCK = 2000  # numbers of a file's mutants, so that a change of one file renumbers no other
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# A mutant is not the source that a mistake is made in; and what other systems have is not compiled.
LEFT_OUT = re.compile(r"tests/unit/(mistakes/.*|test_catalog_mistakes\.c)|src/base/sys_portable\.c")
KIT = """TZ=UTC tests/contract/run --make "$TMPDIR/src" >"$TMPDIR/cases"
TZ=UTC tests/contract/run --sources "$TMPDIR/src" --program "$SESSIONFS" >"$TMPDIR/out" || { cat "$TMPDIR/out"; exit 1; }"""
KNOWN = HERE / "survivors.txt"
MEMORY = 4 << 30  # bytes of a test
OURS = {"ONLY", "TESTS", "ALL", "AGAIN", "LIST", "LONGEST", "N", "SEED", "GOAL", "MUTANT", "BUILD", "MAKEFLAGS", "MFLAGS", "MAKELEVEL"}


def setting(name, default):
    return os.environ.get(name) or default


class Mutants:
    """The mutants of all files of FOLDERS, by number, and the copy of the tree that has them."""

    def __init__(self, build):
        self.dir = build / "mutants"
        self.tree = self.dir / "tree"
        self.binaries = self.tree / "build"
        self.all = {}
        self.limit = 0
        self.write_tree()

    def write_tree(self):
        self.fresh = set()
        for name in COPIED:
            top = ROOT / name
            for path in [top] if top.is_file() else sorted(p for p in top.rglob("*") if p.is_file() or p.is_symlink()):
                relative = path.relative_to(ROOT)
                if LEFT_OUT.fullmatch(str(relative)):
                    continue
                if relative.parts[0] != "src" or relative.parts[1] not in FOLDERS or path.suffix != ".c":
                    self.put(relative, path)
        sources = sorted(p.relative_to(ROOT) for f in FOLDERS for p in (ROOT / "src" / f).glob("*.c")
                         if not LEFT_OUT.fullmatch(str(p.relative_to(ROOT))))
        for i, path in enumerate(sources):
            self.mutate(str(path), i * BLOCK + 1)
        self.limit = len(sources) * BLOCK + 1
        self.put_bytes(Path("include/sessionfs/base/mutant.h"), (HERE / "mutant.h").read_bytes())
        self.put_bytes(Path("src/base/mutant.c"), b"#define MUTANT_IDS %d\n" % self.limit + (HERE / "mutant.c").read_bytes())
        for path in self.tree.rglob("*"):
            relative = path.relative_to(self.tree)
            if relative.parts[0] != "build" and not path.is_dir() and relative not in self.fresh:
                path.unlink()

    def put(self, relative, path):
        if path.is_symlink():
            new = self.tree / relative
            self.fresh.add(relative)
            if not new.is_symlink() or os.readlink(new) != os.readlink(path):
                new.unlink(missing_ok=True)
                new.parent.mkdir(parents=True, exist_ok=True)
                new.symlink_to(os.readlink(path))
            return
        self.put_bytes(relative, path.read_bytes(), path.stat().st_mode)

    def put_bytes(self, relative, data, mode=0o644):
        """A file that is as it should be keeps its time, so that make does not compile it again."""
        new = self.tree / relative
        self.fresh.add(relative)
        if not new.is_file() or new.read_bytes() != data:
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(data)
            new.chmod(mode & 0o777)

    def mutate(self, path, first):
        """Parsing takes a while, so the result is kept as long as the file and mutate.py are the same."""
        key = hashlib.sha256((ROOT / path).read_bytes() + (HERE / "mutate.py").read_bytes() + b"%d" % first).hexdigest()
        kept = self.dir / "parsed" / (path.replace("/", "-") + ".json")
        found = json.loads(kept.read_text()) if kept.is_file() else {}
        if found.get("key") != key:
            file = mutate.File(path)
            assert len(file.mutants) < BLOCK, path
            for i, m in enumerate(file.mutants):
                m.id = first + i
            found = {"key": key, "text": file.written().decode(),
                     "mutants": [[m.id, path, m.line, m.function, m.what] for m in file.mutants]}
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(found))
        self.put_bytes(Path(path), found["text"].encode())
        for number, *rest in found["mutants"]:
            self.all[number] = rest

    def build(self):
        # Flags that a mutant changes are no constant, and with _FORTIFY_SOURCE open has a second name then, which
        # tests/power cannot take the place of.
        environment = {k: v for k, v in os.environ.items() if k not in OURS}
        subprocess.run(["make", "--no-print-directory", f"-j{setting('JOBS', os.cpu_count())}", "BUILD=build",
                        "CFLAGS=-O1 -w -U_FORTIFY_SOURCE", "fast-targets", "small-targets"],
                       cwd=self.tree, env=environment, check=True, stdout=sys.stderr)

    def place(self, number):
        path, line, _, what = self.all[number]
        source = (ROOT / path).read_text().split("\n")[line - 1].strip()
        return f"{path}:{line}: {what}: {source}  [{number}]"

    def key(self, number):
        path, _, function, what = self.all[number]
        return path, function, what

    def folder(self, number):
        return self.all[number][0].split("/")[1]


class Program:
    """A test program. Its cases are those that cmocka runs one by one; golden/run and contract/run are one case."""

    def __init__(self, mutants, name):
        self.mutants, self.name = mutants, name
        self.depends = [mutants.binaries / name]
        self.command = [str(self.depends[0])]
        if name == "golden/run":
            self.depends = [mutants.tree / "tests" / name, mutants.binaries / "golden" / "dump"]
            self.command = [str(self.depends[0])]
        elif name == "contract/run":
            self.depends = [mutants.binaries / "sessionfs", *(mutants.tree / "tests/contract").rglob("*.*")]
            self.command = ["sh", "-ec", KIT]

    def run(self, environment, limit=600.0):
        """Returns why it failed, or "", and its output. The processor time has a limit, too: a loop ends on a busy machine."""
        work = tempfile.mkdtemp(prefix="mutant-")
        base = {k: v for k, v in os.environ.items() if k not in OURS}
        base |= {"SESSIONFS_LOCK_CHECK": "/dev/stderr", "CMOCKA_MESSAGE_OUTPUT": "TAP", "FAST": "1", "TMPDIR": work,
                 "SESSIONFS": str(self.mutants.binaries / "sessionfs")}
        command = ["prlimit", "--core=0", f"--data={MEMORY}", f"--cpu={int(limit) + 1}", *self.command]
        with open(f"{work}/stdin", "w+b") as stdin, open(f"{work}/log", "w+b") as log:
            process = subprocess.Popen(command, stdin=stdin, stdout=log, stderr=log, start_new_session=True,
                                       cwd=self.mutants.tree, env=base | environment)
            try:
                status = process.wait(4 * limit)
                why = f"exit status {status}" if status > 0 else f"signal {-status}" if status else ""
                why = "too much time" if -status in (signal.SIGXCPU, signal.SIGKILL) else why
            except subprocess.TimeoutExpired:
                why = "too much time"
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            log.seek(0)
            output = log.read().decode(errors="replace")
        shutil.rmtree(work, ignore_errors=True)
        return why, output

    def record(self, name):
        """Runs one case, or all of them if the name is empty. Returns why it failed, its output, its time and what it reaches."""
        with tempfile.NamedTemporaryFile() as file:
            begin = time.monotonic()
            why, output = self.run({"MUTANT_REACHED": file.name, **({"MUTANT_CASE": name} if name else {})})
            return why, output, time.monotonic() - begin, [i for i, byte in enumerate(file.read()) if byte]

    def cases(self):
        """Returns [name, seconds, reached mutants] of each case, if the program reaches any. A case that fails without the
        others, and what is reached in a run of all alone, are left to the case without a name: all of them."""
        kept = self.mutants.dir / "reached" / (self.name.replace("/", "-") + ".json")
        if kept.is_file() and kept.stat().st_mtime > max(p.stat().st_mtime for p in self.depends):
            return json.loads(kept.read_text())
        why, output, seconds, reached = self.record("")
        if why:
            raise SystemExit(f"{self.name} fails without a mutant: {why}\n{output}")
        found = []
        for name in dict.fromkeys(re.findall(r"^ok \d+ - (\w+)$", output, re.M) if reached else []):
            why, _, took, some = self.record(name)
            if not why:
                found.append([name, took, some])
        found.append(["", seconds, sorted(set(reached).difference(*(some for _, _, some in found)))])
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found))
        return found


class Case:
    def __init__(self, program, name, seconds, reached):
        self.program, self.name, self.seconds, self.reached = program, name, seconds, set(reached)
        self.words = set(program.name.replace("/", "_").split("_"))

    def order(self, path):
        """Tests with a word of the file's path in their names are first, since one of them fails most often."""
        _, folder, name = re.sub(r"\.c$", "", path).split("/")
        return bool({"power", "contract"} & self.words), not {folder, *name.split("_")} & self.words, self.seconds

    def kills(self, number):
        return self.program.run({"MUTANT": str(number), **({"MUTANT_CASE": self.name} if self.name else {})}, 2 + 5 * self.seconds)[0]


def find_cases(mutants, pool):
    folders = ["unit", "wire", "power", "small/unit", "small/wire"]
    names = sorted(f"{d}/{p.name}" for d in folders for p in (mutants.binaries / d).glob("test_*")
                   if p.suffix != ".d" and (mutants.tree / "tests" / d.removeprefix("small/") / (p.name + ".c")).is_file())
    programs = [Program(mutants, n) for n in [*names, "golden/run", "contract/run"]
                if any(word in n for word in setting("TESTS", "/").split())]
    return [Case(program, *case) for program, cases in zip(programs, pool.map(Program.cases, programs)) for case in cases]


def choose_cases(cases, number, path):
    """Returns the cases that reach the mutant: of a program all at once where this is quicker."""
    chosen, longest = [], float(setting("LONGEST", "inf"))
    for program in dict.fromkeys(c.program for c in cases):
        of_program = [c for c in cases if c.program is program]
        some, whole = [c for c in of_program if number in c.reached and c.seconds <= longest], of_program[-1]
        chosen += some if sum(c.seconds for c in some) < whole.seconds or longest < whole.seconds else [whole]
    return sorted(chosen, key=lambda c: c.order(path))


def choose(mutants, last):
    """Returns the numbers to run, and whether they are a sample that the goal is for."""
    only = setting("ONLY", "").split()
    if setting("AGAIN", ""):
        again = {tuple(k) for k in last}
        numbers = [i for i in mutants.all if mutants.key(i) in again]
        return [i for i in numbers if not only or any(is_in(mutants, i, o) for o in only)], False
    draw = random.Random(int(setting("SEED", 1)))
    chosen = []
    for folder in FOLDERS:
        numbers = [i for i in mutants.all if mutants.folder(i) == folder]
        if not only or folder in only:
            n = len(numbers) if setting("ALL", "") else min(int(setting("N", 50)), len(numbers))
            chosen += draw.sample(numbers, n)
        else:
            chosen += [i for i in numbers if any(is_in(mutants, i, o) for o in only)]
    draw.shuffle(chosen)
    return chosen, not only


def is_in(mutants, number, word):
    path, line, _, _ = mutants.all[number]
    return word in (mutants.folder(number), path, f"{path}:{line}", str(number))


def read_known():
    """Returns {(file, function, what): reason}."""
    known = {}
    for line in KNOWN.read_text().splitlines():
        if line and not line.startswith("#"):
            *key, reason = line.split("\t")
            if len(key) != 3 or not re.match(r"(equivalent: |killed by (e2e|make) ?)", reason):
                raise SystemExit(f"{KNOWN.name}: not file, function, change, reason: {line}")
            known[tuple(key)] = reason
    return known


def report(mutants, results, known):
    """Prints the table, and returns the survivors without a reason and the percent that died."""
    print(f"\n{'folder':10}{'mutants':>9}{'died':>7}{'percent':>9}{'explained':>11}{'left':>6}")
    total, left = [0, 0, 0], []
    for folder in [*FOLDERS, "all"]:
        numbers = [i for i in results if folder in ("all", mutants.folder(i))]
        survivors = [i for i in numbers if not results[i]]
        died, explained = len(numbers) - len(survivors), sum(mutants.key(i) in known for i in survivors)
        if numbers:
            print(f"{folder:10}{len(numbers):9}{died:7}{100 * died / len(numbers):9.1f}{explained:11}{len(survivors) - explained:6}")
            print(f"figure mutants of {folder} that the fast tests find: {died} of {len(numbers)}, {100 * died / len(numbers):.0f} %")
        total, left = [len(numbers), died], [i for i in survivors if mutants.key(i) not in known]
    return left, 100 * total[1] / total[0] if total[0] else 100.0


def enter_own_tmp():
    """Root gives the tests a /tmp and /dev/shm of their own, since a test that is ended leaves its files there."""
    mount = "mount -t tmpfs -o mode=1777,size=4g mutants"
    private = ["unshare", "--mount", "sh", "-c", f'{mount} /tmp && {mount} /dev/shm && exec "$@"', "sh"]
    if os.geteuid() == 0 and "MUTANTS_TMP" not in os.environ and ROOT.parts[1] != "tmp":
        os.environ["MUTANTS_TMP"] = "1"
        if subprocess.run([*private, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            os.execvp(private[0], [*private, str(HERE / "run.py"), *sys.argv[1:]])


def main():
    build = Path(sys.argv[1]).resolve()
    os.chdir(ROOT)
    enter_own_tmp()
    mutants = Mutants(build)
    last = mutants.dir / "survived.json"
    numbers, is_sample = choose(mutants, json.loads(last.read_text()) if last.is_file() else [])
    known = read_known()
    made = {mutants.key(i) for i in mutants.all}
    for key in known:
        if key not in made:
            print("survivors.txt names no mutant: " + ": ".join(key))
    if setting("LIST", ""):
        print("\n".join(mutants.place(i) for i in sorted(numbers)))
        return 0
    if not numbers:
        raise SystemExit("no such mutants")
    mutants.build()
    pool = ThreadPoolExecutor(int(setting("JOBS", os.cpu_count())))
    cases = find_cases(mutants, pool)
    reached = set().union(*(c.reached for c in cases))
    print(f"{len(mutants.all)} mutants, {len(reached)} of them reached by {len(cases)} tests; {len(numbers)} are run", flush=True)

    def run(number):
        for case in choose_cases(cases, number, mutants.all[number][0]):
            why = case.kills(number)
            if why:
                died.write(f"{case.program.name} {case.name}: {why}: {mutants.place(number)}\n")
                died.flush()
                return why
        if mutants.key(number) not in known:
            print(mutants.place(number) + ("" if number in reached else "  (not reached)"), flush=True)
        return ""

    died = open(mutants.dir / "died.txt", "w")
    results = dict(zip(numbers, pool.map(run, numbers)))
    last.write_text(json.dumps([mutants.key(i) for i in numbers if not results[i]]))
    left, percent = report(mutants, results, known)
    print(f"{len(left)} survivors without a reason, {sum('too much time' in r for r in results.values())} mutants ended by their time")
    return is_sample and percent < float(setting("GOAL", 85))


if __name__ == "__main__":
    sys.exit(main())
