#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py BUILD: breaks each promise of docs/TESTING.md on purpose, and requires that its test fails. Called by `make plants`.

plants.txt lists the changes. Each is made alone in a copy of the tree (BUILD/plants/tree), which is restored afterwards. The program has
to compile, and the test that the plant names has to fail; without a change, it has to pass.

usage: run.py BUILD     runs the plants
       run.py --check   prints what is wrong with plants.txt, without running anything

Environment:
  ONLY="write-storm src/file/store.c"   the plants whose promise, name, test or files contain one of these words
  N=4 SEED=1                            so many of these plants, drawn by SEED
  TIME=60                               begins no plant after so many seconds; they are in an order drawn by SEED
  CHECKED=1                             the tests have passed without a plant
  LIST=1                                only prints them
"""
import os
import pathlib
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TABLE = ROOT / "tests/plants/plants.txt"
PAGE = ROOT / "docs/TESTING.md"
OWN = {"ONLY", "N", "SEED", "TIME", "CHECKED", "LIST", "SMALL", "FAST", "BUILD", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "TESTS"}
# What tests fetch, which the copy links to; and other builds.
FETCHED = ["pi", "foreign"]
VERBS = {"passed": "passes", "failed": "fails", "skipped": "is skipped", "missing": "is not run"}
OTHER_BUILDS = ["san", "tsan", "fuzz", "coverage", "portable", "no-fuse", "logs", "mutants", "plants", *FETCHED]


class Plant:
    """A change of one or more files that breaks a promise."""

    def __init__(self, promise, lines):
        """Raises ValueError with what is wrong with the lines."""
        self.promise, self.name, self.test, self.edits = promise, lines[0], "", []
        for line in lines[1:]:
            if line.startswith("test "):
                self.test = line[5:]
            elif line.startswith("file "):
                self.edits.append((line[5:], [], []))
            elif line[0] in "-+ " and self.edits:
                _, old, new = self.edits[-1]
                if line[0] != "+":
                    old.append(line[1:])
                if line[0] != "-":
                    new.append(line[1:])
            else:
                raise ValueError(f"{self.name}: what is this line? {line}")
        if not promise or not self.test or not self.edits:
            raise ValueError(f"{self.name}: needs a promise, a test and a file")

    def changed(self):
        """Returns the new text of each file. Raises ValueError if a text is not in its file exactly once."""
        texts = {}
        for path, old, new in self.edits:
            old, new = "\n".join(old), "\n".join(new)
            if path not in texts:
                if not (ROOT / path).is_file():
                    raise ValueError(f"{self.name}: there is no {path}")
                texts[path] = (ROOT / path).read_text()
            count = texts[path].count(old) if old else 0
            if old == new:
                raise ValueError(f"{self.name}: {path}: changes nothing")
            if count != 1:
                raise ValueError(f"{self.name}: {path} has this text {count} times instead of once: {old}")
            texts[path] = texts[path].replace(old, new)
        return texts


def read_plants():
    """Returns the plants, and what is wrong with the table."""
    plants, wrong, promise = [], [], ""
    lines = [line for line in TABLE.read_text().split("\n") if not line.startswith("# ")]
    for block in re.split(r"\n{2,}", "\n".join(lines).strip("\n")):
        if block.startswith("== "):
            promise = block[3:]
            continue
        try:
            plants.append(Plant(promise, block.split("\n")))
            plants[-1].changed()
        except ValueError as error:
            wrong.append(str(error))
    return plants, wrong


def read_promises():
    """Returns {promise: the tests that the page names for it}."""
    promises, in_table = {}, False
    for line in PAGE.read_text().split("\n"):
        in_table = line.startswith("|") and (in_table or line.startswith("| promise "))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if in_table and len(cells) == 2 and cells[0] != "promise" and set(cells[0]) != {"-"}:
            promises[cells[0]] = re.findall(r"`(tests/[^`]*)`", cells[1])
    return promises


def check(plants, promises):
    """Returns where the table and the page disagree."""
    wrong = [f"no plant breaks the promise: {promise}" for promise in promises if all(p.promise != promise for p in plants)]
    for plant in plants:
        tests = promises.get(plant.promise)
        if tests is None:
            wrong.append(f"{plant.name}: docs/TESTING.md has no such promise: {plant.promise}")
        elif not any(plant.test == test or plant.test.startswith(test + "/") for test in tests):
            wrong.append(f"{plant.name}: docs/TESTING.md does not name {plant.test} for the promise: {plant.promise}")
        elif not (ROOT / plant.test).exists():
            wrong.append(f"{plant.name}: there is no {plant.test}")
    names = [plant.name for plant in plants]
    return wrong + [f"{name}: two plants have this name" for name in sorted(set(names)) if names.count(name) > 1]


class Copy:
    """The copy of the tree and of its build."""

    def __init__(self, build):
        self.build, self.dir = build, build / "plants/tree"
        # A plant can make its test hang: LIMIT of tests/lib/limited, longer than any test takes that runs alone.
        self.environment = {"LIMIT": "200"} | {k: v for k, v in os.environ.items() if k not in OWN}
        (self.dir / "build").mkdir(parents=True, exist_ok=True)
        for name in FETCHED:
            (build / name).mkdir(exist_ok=True)
            if not (self.dir / "build" / name).is_symlink():
                (self.dir / "build" / name).symlink_to(build / name)

    def restore(self):
        """The objects come with the sources, so nothing that is unchanged is compiled again."""
        self.mirror(ROOT, self.dir, [".git", "build"])
        self.mirror(self.build, self.dir / "build", OTHER_BUILDS)

    def mirror(self, source, target, left_out):
        subprocess.run(["rsync", "-a", "--delete", "--modify-window=-1", *(f"--exclude=/{name}" for name in left_out), f"{source}/", f"{target}/"],
                       check=True)

    def plant(self, texts):
        for path, text in texts.items():
            (self.dir / path).write_text(text)

    def run(self, command, **environment):
        done = subprocess.run(command, cwd=self.dir, env=self.environment | environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        return done.returncode, done.stdout

    def make(self, test):
        """Returns an error of the compiler, or ""."""
        targets = ["sessionfs", "golden/dump", "match_ask", "slowfs"]
        if re.fullmatch(r"(unit|wire|power)/test_\w+", test):
            targets = [test]
        targets = ["fuzz-targets"] if test == "fuzz/replay" else [f"build/{target}" for target in targets]
        make = ["make", "--no-print-directory", f"-j{os.cpu_count()}"]
        status, output = self.run([*make, "BUILD=build", *targets])
        script = self.dir / "tests" / test
        if not status and script.is_file() and "/small/sessionfs" in script.read_text():
            status, output = self.run([*make, "SMALL=1", "BUILD=build/small", "build/small/sessionfs"])
        return output if status else ""

    def test(self, path):
        """Returns "passed", "failed" or "skipped", and the output."""
        name = check_name(path)
        if name:
            _, output = self.run(["scripts/check", "build", f"{name}$"])
            counts = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.M)
            if not counts:
                return "failed", output
            return "failed" if int(counts[2]) else "passed" if int(counts[1]) else "skipped" if int(counts[3]) else "missing", output
        status, output = self.run(["timeout", "-k10", "1200", path], SESSIONFS=str(self.dir / "build/sessionfs"), BUILD=str(self.dir / "build"))
        return {0: "passed", 77: "skipped", 78: "skipped"}.get(status, "failed"), output


def check_name(path):
    """Returns the name of a test for scripts/check, or "" for a test that it does not run."""
    name = path.removeprefix("tests/")
    folder = name.split("/")[0]
    if folder in ("golden", "power", "fuzz", "contract"):
        return {"golden": "golden/run", "power": "power/test_power", "fuzz": "fuzz/replay", "contract": "e2e/contract.sh"}[folder]
    return name.removesuffix(".c") if folder in ("unit", "wire", "e2e", "browser", "lint") else ""


def why(output):
    """Returns the line of a failed test that says what it expected, for the report."""
    lines = [line.strip(" |") for line in output.split("\n")]
    told = [line for line in lines if re.search(r"FAILED: |^not ok |\bError\b|^# .*error:|\bdiffers?\b|ERROR: ", line) and not line.startswith("FAIL ")]
    return (told or [line for line in lines if line] or [""])[0 if told else -1][:200]


def choose(plants):
    only = os.environ.get("ONLY", "").split()
    said = {id(p): " ".join([p.promise, p.name, p.test, *(edit[0] for edit in p.edits)]) for p in plants}
    chosen = [p for p in plants if not only or any(word in said[id(p)] for word in only)]
    count = min(int(os.environ.get("N") or len(chosen)), len(chosen))
    in_order = count == len(chosen) and not os.environ.get("TIME")
    return chosen if in_order else random.Random(os.environ.get("SEED") or "1").sample(chosen, count)


def run(plants, copy):
    """Returns the numbers of plants that were noticed, were not, and could not run."""
    counts, without = {"passed": 0, "failed": 0, "skipped": 0}, {}
    end = time.monotonic() + float(os.environ.get("TIME") or "inf")

    def report(result, word, name, rest):
        counts[result] += 1
        print(f"{word:5} {name}: {rest}", flush=True)

    def passes(test):
        """Whether the test passes without a plant, and why not."""
        if test not in without:
            copy.restore()
            error = copy.make(check_name(test))
            without[test] = ("failed", error) if error else copy.test(test)
        return without[test]

    for plant in plants:
        began = time.monotonic()
        if began > end:
            break
        name = f"{plant.test}: {plant.name}"
        result, output = ("passed", "") if os.environ.get("CHECKED") else passes(plant.test)
        if result != "passed":
            counted, word = ("skipped", "skip") if result == "skipped" else ("failed", "FAIL")
            report(counted, word, name, f"without it, the test {VERBS[result]}: {why(output)}")
            continue
        copy.restore()
        copy.plant(plant.changed())
        error = copy.make(check_name(plant.test))
        result, output = ("", "") if error else copy.test(plant.test)
        if error:
            report("failed", "FAIL", name, f"does not compile: {error}")
        elif result == "failed":
            report("passed", "ok", name, f"{why(output)} ({time.monotonic() - began:.0f} s)")
        elif result == "skipped":
            report("skipped", "skip", name, why(output))
        else:
            report("failed", "FAIL", name, f"not noticed: the test {VERBS[result]}")
    copy.restore()
    return counts


def main():
    plants, wrong = read_plants()
    wrong += check(plants, read_promises())
    for line in wrong:
        print(f"tests/plants/plants.txt: {line}")
    if sys.argv[1:] == ["--check"]:
        return bool(wrong)
    chosen = choose(plants)
    if os.environ.get("LIST"):
        print("\n".join(f"{p.test}: {p.name}" for p in chosen))
        return 0
    if not chosen or wrong:
        raise SystemExit("no such plants" if not wrong else 1)
    counts = run(chosen, Copy(pathlib.Path(sys.argv[1]).resolve()))
    print(f"figure broken promises that the named test notices: {counts['passed']} of {counts['passed'] + counts['failed']}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return bool(counts["failed"] or not counts["passed"])


if __name__ == "__main__":
    sys.exit(main())
