# SPDX-License-Identifier: MIT
"""Access rights: files and directories with many owners, modes and ACLs, and the access of some users to them, in the
source and through the mount.

  permissions.py make SOURCE           makes the source (as root)
  permissions.py compare SOURCE MOUNT UID STEP
                                       UID has mounted it; of every STEP-th case: exit status 1 and a list if a user
                                       may do through the mount what the source forbids, or not what plain modes
                                       allow
  permissions.py later SOURCE MOUNT    revokes and grants access in the source: both must show soon
"""

import errno
import json
import os
import struct
import sys
import time

from waiting import await_

ADA, BOB, EVE = 12001, 12002, 12003
TEAM, CLUB = 13001, 13002
# Each with its own group, and with others.
USERS = [(ADA, ()), (ADA, (TEAM,)), (BOB, (TEAM,)), (BOB, (CLUB,)), (EVE, ()), (EVE, (TEAM,)), (EVE, (CLUB, TEAM))]

DIR_OWNERS = [(ADA, TEAM), (ADA, CLUB), (0, 0), (0, TEAM), (BOB, TEAM)]
DIR_MODES = [0o755, 0o711, 0o750, 0o710, 0o700, 0o705, 0o751]
DIR_ACLS = ["", "u12002:5", "u12002:0", "g13002:5", "g13002:0", "g13001:5"]
FILE_OWNERS = [(ADA, TEAM), (ADA, ADA), (BOB, TEAM), (0, 0)]
FILE_MODES = [0o644, 0o640, 0o600, 0o604, 0o666, 0o660, 0o622, 0o6644, 0o400]
FILE_ACLS = ["", "u12002:4", "u12002:6", "u12002:0", "g13002:4", "g13002:0"]


def set_acl(path, mode, named):
    """Returns u::, g:: and o:: from the mode, the named entries, and a mask that limits none."""
    entries = [(1, mode >> 6 & 7, -1)]
    users = [n for n in named.split() if n[0] == "u"]
    groups = [n for n in named.split() if n[0] == "g"]
    mask = mode >> 3 & 7
    for n in users + groups:
        mask |= int(n[-1])
    entries += [(2, int(n[-1]), int(n[1:-2])) for n in users]
    entries += [(4, mode >> 3 & 7, -1)]
    entries += [(8, int(n[-1]), int(n[1:-2])) for n in groups]
    entries += [(16, mask, -1), (32, mode & 7, -1)]
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *e) for e in entries)
    os.setxattr(path, "system.posix_acl_access", value)


def give(path, owner, mode, acl):
    os.chown(path, *owner)
    os.chmod(path, mode)
    if acl:
        set_acl(path, mode, acl)


def make(source):
    """Makes directories with all modes and some ACLs; in each as many different files."""
    os.mkdir(source, 0o755)
    os.chmod(source, 0o755)
    cases, turn = [], 0
    for i, (owner, mode) in enumerate((o, m) for o in DIR_OWNERS for m in DIR_MODES):
        for acl in {"", DIR_ACLS[1 + i % 5]}:
            name = "d%d-%d-%o-%s" % (*owner, mode, acl.replace(":", "."))
            directory = os.path.join(source, name)
            os.mkdir(directory)
            for _ in range(5):
                # Each step is coprime to its list, so that all combinations occur over time.
                turn += 1
                f_owner = FILE_OWNERS[turn % 4]
                f_mode = FILE_MODES[turn % 9]
                f_acl = "" if turn % 2 else FILE_ACLS[turn // 2 % 6]
                stem = "f%d-%d-%o-%s" % (*f_owner, f_mode, f_acl.replace(":", "."))
                path = os.path.join(directory, stem + ".jsonl")
                with open(path, "w") as f:
                    f.write('{"type":"session","version":3,"id":"s%d"}\n' % turn)
                    f.write('{"type":"message","id":"a","parentId":null,'
                            '"message":{"role":"user","content":"%s"}}\n' % stem)
                give(path, f_owner, f_mode, f_acl)
                cases.append({"dir": name, "stem": stem, "d": [*owner, mode, acl], "f": [*f_owner, f_mode, f_acl]})
            give(directory, owner, mode, acl)
    with open(source + ".cases", "w") as f:
        json.dump(cases, f)


def can(what, *args):
    """Returns 1, or 0 if it is not permitted or not shown; other errors fail the test."""
    try:
        got = what(*args)
        if isinstance(got, int) and what is os.open:
            os.close(got)
        return 1
    except OSError as e:
        if e.errno in (errno.EACCES, errno.EPERM, errno.ENOENT, errno.EROFS):
            return 0
        raise


def read_through(path):
    with open(path, "rb") as f:
        f.read()


def deeds(source, mount, cases, newest):
    """Returns what this process can do: rows of (name, in the source, through the mount)."""
    rows = []
    for c in cases:
        file = "%s/%s/%s.jsonl" % (source, c["dir"], c["stem"])
        session = "%s/projects/%s/%s" % (mount, c["dir"], c["stem"])
        where = c["dir"] + "/" + c["stem"]
        read = can(os.open, file, os.O_RDONLY)
        write = can(os.open, file, os.O_WRONLY | os.O_APPEND)
        rows.append(("read session.jsonl", where, read, can(read_through, session + "/session.jsonl")))
        rows.append(("read a text", where, read, can(read_through, session + "/entries/a/text.md")))
        rows.append(("list", where, read, can(os.listdir, session)))
        rows.append(("stat", where, can(os.stat, file), can(os.stat, session)))
        rows.append(("open to write", where, write, can(os.open, session + "/labels.tsv", os.O_WRONLY)))
        rows.append(("make a file", where, write,
                     can(os.open, session + "/side-%d" % os.getuid(), os.O_WRONLY | os.O_CREAT, 0o600)))
    for d in sorted({c["dir"] for c in cases}):
        lists = can(os.listdir, source + "/" + d)
        rows.append(("list the project", d, lists, can(os.listdir, "%s/projects/%s" % (mount, d))))
        rows.append(("see its newest", d, lists, can(os.readlink, "%s/projects/%s/.latest" % (mount, d))))
    lists_all = min(can(os.listdir, source + "/" + d) for d in {c["dir"] for c in cases})
    rows.append(("list projects", "", can(os.listdir, source), can(os.listdir, mount + "/projects")))
    rows.append(("list sessions", "", lists_all, can(os.listdir, mount + "/sessions")))
    rows.append(("see the newest", "", min(can(os.listdir, source), can(os.listdir, source + "/" + newest)), can(os.readlink, mount + "/latest")))
    return rows


def readable(source, cases):
    files = ["%s/%s.jsonl" % (c["dir"], c["stem"]) for c in cases]
    return [f for f in files if can(os.open, source + "/" + f, os.O_RDONLY) and
            can(os.listdir, source + "/" + os.path.dirname(f))]


def as_user(uid, groups, what, *args):
    """Returns the result of a call as that user."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups(groups)
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            out = json.dumps(what(*args))
        except BaseException as e:  # the parent reports it
            out = json.dumps("%s: %s" % (type(e).__name__, e))
        with os.fdopen(w, "w") as f:
            f.write(out)
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as f:
        out = json.load(f)
    os.waitpid(pid, 0)
    if isinstance(out, str):
        raise SystemExit("as %d %s: %s" % (uid, groups, out))
    return out


def must_get(uid, groups, mounter, d, f):
    """Returns whether plain modes let the user read it, so that the mount must: by the others' bits, or by one
    group."""
    d_uid, d_gid, d_mode, d_acl = d
    f_uid, f_gid, f_mode, f_acl = f
    if d_acl or f_acl:
        return False
    everybody = d_mode & 0o111 == 0o111
    team = d_gid == f_gid and d_gid in groups and d_mode & 0o110 == 0o110 and uid not in (d_uid, mounter)
    if uid == f_uid:
        return f_mode & 0o400 and (everybody or (uid == d_uid and uid == mounter))
    if f_gid in groups or f_gid == uid:
        return f_mode & 0o040 and (everybody or team)
    return f_mode & 0o004 and everybody


def compare(source, mount, mounter, step):
    with open(source + ".cases") as f:
        cases = json.load(f)[::step]
    read_only = os.statvfs(mount).f_flag & os.ST_RDONLY
    newest = os.readlink(mount + "/latest").split("/")[1]  # as root
    shown = {s[:-6] for s in as_user(mounter, (), readable, source, cases)}
    by_place = {c["dir"] + "/" + c["stem"]: c for c in cases}
    wrong, seen = [], {"both": 0, "neither": 0, "source": 0}
    for uid, groups in USERS:
        for what, where, before, through in as_user(uid, groups, deeds, source, mount, cases, newest):
            who = "uid %d groups %s" % (uid, ",".join(map(str, groups)))
            # The mounting user keeps the rights of that time, whatever groups they are in now.
            if through and not before and uid != mounter:
                wrong.append("%s may %s: %s" % (who, what, where))
            c = by_place.get(where)
            if c and (c["d"][3] or c["f"][3]) and through and what != "stat" and uid not in (mounter, c["f"][0]):
                wrong.append("%s may %s, in spite of an ACL: %s" % (who, what, where))
            c = by_place.get(where) if where in shown else None
            if c and what.startswith("read") and before and not through and must_get(uid, groups, mounter, c["d"], c["f"]):
                wrong.append("%s may not %s: %s" % (who, what, where))
            if c and what == "open to write" and before and not through and not read_only and \
                    must_get(uid, groups, mounter, c["d"], [*c["f"][:2], c["f"][2] << 1, c["f"][3]]) and \
                    must_get(uid, groups, mounter, c["d"], c["f"]):
                wrong.append("%s may not %s: %s" % (who, what, where))
            seen["both" if before and through else "neither" if not before else "source"] += 1
    for directory, _, files in os.walk(mount):
        for name in ["."] + files:
            mode = os.lstat(os.path.join(directory, name)).st_mode
            if mode & 0o7000:
                wrong.append("%s/%s has mode %o" % (directory, name, mode))
    print("%(both)d granted, %(neither)d refused, %(source)d only in the source" % seen)
    if step < 10 and not all(seen.values()):
        wrong.append("this compares nothing")
    if wrong:
        print("\n".join(wrong[:40]))
        raise SystemExit("%d are wrong" % len(wrong))


def soon(what, expected, check):
    await_(lambda: check() == expected, what, 0.05)


def later(source, mount):
    project = source + "/later"
    file = project + "/s.jsonl"
    os.mkdir(project)
    os.chmod(project, 0o755)
    with open(file, "w") as f:
        f.write('{"type":"session","version":3,"id":"later"}\n'
                '{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"later"}}\n')
    os.chmod(file, 0o644)
    # Long ago, so that the kernel may cache the answers.
    os.utime(file, (1700000000, 1700000000))
    text = mount + "/projects/later/s/entries/a/text.md"

    def can_read():
        return as_user(EVE, (), can, read_through, text)

    def change(what, expected, how, *args):
        how(*args)
        soon(what, expected, can_read)

    soon("a new session", 1, can_read)
    time.sleep(3)  # until answers are cached, which cannot be seen
    change("the project's directory is closed", 0, os.chmod, project, 0o700)
    change("... and opened", 1, os.chmod, project, 0o755)
    change("the source is closed", 0, os.chmod, source, 0o750)
    change("... and opened", 1, os.chmod, source, 0o755)
    change("the file is closed", 0, os.chmod, file, 0o600)
    change("... and opened", 1, os.chmod, file, 0o644)
    change("the ACL of the file denies", 0, set_acl, file, 0o644, "u%d:0" % EVE)
    change("... no more", 1, os.removexattr, file, "system.posix_acl_access")
    change("the ACL of the directory denies", 0, set_acl, project, 0o755, "u%d:0" % EVE)
    change("... no more", 1, os.removexattr, project, "system.posix_acl_access")
    change("the directory is a private group's", 0, lambda: (os.chown(project, 0, CLUB), os.chmod(project, 0o750)))
    change("... no more", 1, lambda: (os.chown(project, 0, 0), os.chmod(project, 0o755)))
    os.unlink(file)
    os.rmdir(project)


if __name__ == "__main__":
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == "compare":
        compare(arguments[0], arguments[1], int(arguments[2]), int(arguments[3]))
    else:
        {"make": make, "later": later}[command](*arguments)
