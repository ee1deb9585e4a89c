#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""mutate.py FILE...: prints the mutants of C files, and with -o OUT the one file with all its mutants in it.

A mutant is a small change that a test should notice. All mutants of a file are compiled at once; each asks at run time
whether it is the one that is meant (mutant.h). clang parses the file, so that a change covers exactly an expression or
statement. Text that a macro makes is left as it is.

Kinds: the condition of if, while, for, do and ?: negated; an operand of && or || taken out; < with <= and > with >=
exchanged; a number next to an operator, or that is an argument, changed by 1; a statement dropped that calls or assigns;
0 returned for an error; true and false exchanged; a case label taken out, so that its value is that of no label; an
operand of | taken out; an argument that is a constant, as a flag is, made 0, or 1 if it is 0; two arguments side by side
of one type exchanged.
Not changed: messages; calls that only free memory (their loss is found by `make check SAN=1`); and O_RDONLY, which is 0,
and O_CLOEXEC and O_NOCTTY, which matter to other programs alone; and what computes vectors.
"""
import re
import subprocess
import sys
from dataclasses import dataclass, field

from clang import cindex
from clang.cindex import CursorKind as K, TypeKind as T

HEADER = '#include "sessionfs/base/mutant.h"'
FLAGS = ["-std=c17", "-Iinclude", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", '-DSESSIONFS_VERSION="0"',
         *subprocess.run(["pkg-config", "--cflags", "fuse3"], capture_output=True, text=True).stdout.split()]
ORDER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
# The number that a constant becomes, other than what an exchanged operator does already.
STEP = {"<": (1, -1), "<=": (-1, 1), ">": (-1, 1), ">=": (1, -1), "==": (1, 1), "!=": (1, 1), "+": (-1, -1), "-": (1, 1)}
SILENT = re.compile(r"^(log_\w+|free|\w+_(free|destroy)|(?!lock_)\w+_release)$")
# Their arguments can be exchanged.
SYMMETRIC = re.compile(r"^(memcmp|strn?cmp|calloc|\w+_(eq|same|equals?))$")
# Numbers that are no mistake: more memory than enough; and a poll that glibc checks, which tests do not wrap.
FREE_NUMBERS = {"malloc", "calloc", "poll"}
UNSEEN_FLAGS = {"O_RDONLY", "O_CLOEXEC", "O_NOCTTY"}
ERROR_NAMES = {"rc", "err", "error"}
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STATEMENTS = {K.CALL_EXPR, K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.UNARY_OPERATOR, K.CSTYLE_CAST_EXPR}
NUMBERS = {T.BOOL, T.CHAR_S, T.SCHAR, T.UCHAR, T.SHORT, T.USHORT, T.INT, T.UINT, T.LONG, T.ULONG, T.LONGLONG, T.ULONGLONG, T.ENUM}
# Constant expressions, and what is not computed.
CONSTANT = {K.CXX_UNARY_EXPR, K.STATIC_ASSERT, K.ENUM_DECL, K.STRUCT_DECL, K.UNION_DECL, K.GENERIC_SELECTION_EXPR}


@dataclass
class Mutant:
    line: int
    function: str
    what: str
    edits: list  # of (begin, end, text before, text after)
    nth: int = 1  # among those of the function that are described alike
    id: int = field(default=0)


def words(text):
    return " ".join(COMMENT.sub(" ", text).split())


class File:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            self.bytes = f.read()
        unit = cindex.Index.create().parse(path, args=FLAGS,
                                           options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        # gcc, not clang, accepts an _Atomic variable in its atomic functions.
        bad = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error and "atomic operation" not in d.spelling]
        if bad:
            raise SystemExit(f"mutate.py: {path}: {bad[0]}")
        self.mutants, self.function = [], ""
        self.macros = set()
        for c in unit.cursor.get_children():
            if c.kind == K.MACRO_INSTANTIATION and self.is_here(c):
                self.macros.add(self.extent(c))
        for c in unit.cursor.get_children():
            if c.kind == K.FUNCTION_DECL and c.is_definition() and self.is_here(c):
                self.function, self.result = c.spelling, c.result_type.spelling
                for child in c.get_children():
                    if child.kind == K.COMPOUND_STMT:
                        self.walk(child)

    def is_here(self, c):
        return c.location.file is not None and c.location.file.name == self.path

    @staticmethod
    def extent(c):
        return c.extent.start.offset, c.extent.end.offset

    def text(self, begin, end):
        return self.bytes[begin:end].decode()

    def of(self, c):
        return words(self.text(*self.extent(c)))

    def is_macro(self, c):
        begin, end = self.extent(c)
        return any(b <= begin and end <= e for b, e in self.macros)

    def is_whole(self, c):
        """Macros that are in it end in it: the text around it can be changed."""
        begin, end = self.extent(c)
        return all(e <= begin or end <= b or (begin <= b and e <= end) for b, e in self.macros)

    def add(self, what, *edits):
        """An edit is an expression, and the texts before and after it."""
        edits = [(*self.extent(c), before, after) for c, before, after in edits]
        line = self.bytes.count(b"\n", 0, edits[0][0]) + 1
        same = [m for m in self.mutants if m.function == self.function and m.what.removesuffix(f" #{m.nth}") == what]
        if any(m.edits == edits for m in same):
            return
        nth = len(same) + 1
        self.mutants.append(Mutant(line, self.function, what + (f" #{nth}" if same else ""), edits, nth))

    # Where an expression is used says how it can be changed.
    def condition(self, c):
        if not re.fullmatch(r"0|1|true|false", self.of(c)):
            self.add(f"negate: {self.of(c)}", (c, "(!(", ")==mutant(ID))"))
            self.walk(c)

    def statement(self, c):
        core = self.bare(c)
        if core.kind in STATEMENTS and not self.is_macro(c) and self.is_droppable(core):
            self.add(f"drop: {self.of(c)}", (c, "(mutant(ID)?(void)0:(void)(", "))"))
        self.walk(c)

    def is_droppable(self, c):
        if c.kind == K.BINARY_OPERATOR:
            return self.operator(c)[0] == "="
        if c.kind == K.UNARY_OPERATOR:
            return re.match(r"\+\+|--|.*(\+\+|--)$", self.of(c), re.S) is not None
        if c.kind == K.CSTYLE_CAST_EXPR:
            inner = [self.bare(x) for x in c.get_children()]
            return bool(inner) and inner[-1].kind == K.CALL_EXPR and self.is_droppable(inner[-1])
        return c.kind != K.CALL_EXPR or not SILENT.match(c.spelling)

    @staticmethod
    def bare(c):
        while c.kind == K.UNEXPOSED_EXPR:
            inner = list(c.get_children())
            if len(inner) != 1:
                break
            c = inner[0]
        return c

    def operator(self, c):
        """Returns the operator and its operands: ("", []) if macros hide it."""
        sides = list(c.get_children())
        if len(sides) != 2:
            return "", []
        between = self.text(self.extent(sides[0])[1], self.extent(sides[1])[0])
        return COMMENT.sub("", between).strip(), sides

    def walk(self, c, parent=None):
        if self.of(c) in ("true", "false") and self.is_whole(c):
            self.walk_bool(c, parent)
        if self.is_macro(c) or c.kind in CONSTANT or c.type.get_canonical().kind == T.VECTOR:
            return
        children = list(c.get_children())
        if c.kind == K.COMPOUND_STMT:
            for child in children:
                self.statement(child)
        elif c.kind in (K.IF_STMT, K.WHILE_STMT) and len(children) >= 2:
            self.condition(children[0])
            for child in children[1:]:
                self.statement(child)
        elif c.kind == K.DO_STMT:
            self.statement(children[0])
            self.condition(children[1])
        elif c.kind == K.FOR_STMT:
            self.walk_for(c, children)
        elif c.kind in (K.CASE_STMT, K.DEFAULT_STMT, K.LABEL_STMT):
            self.statement(children[-1])
        elif c.kind == K.SWITCH_STMT:
            self.walk_labels(children[0], children[1])
            self.walk(children[0])
            self.walk(children[1])
        elif c.kind == K.CONDITIONAL_OPERATOR and len(children) == 3:
            self.condition(children[0])
            self.walk(children[1], c)
            self.walk(children[2], c)
        elif c.kind == K.RETURN_STMT:
            for child in children:
                self.walk_return(child, c)
        elif c.kind == K.BINARY_OPERATOR:
            self.walk_binary(c)
        elif c.kind == K.CALL_EXPR:
            self.walk_call(c)
        elif c.kind == K.VAR_DECL:
            if c.storage_class != cindex.StorageClass.STATIC:
                for child in children:
                    if self.text(0, self.extent(child)[0]).rstrip()[-1:] == "=":
                        self.walk(child, c)
        else:
            for child in children:
                # The index of a designator is constant.
                if c.kind != K.INIT_LIST_EXPR or self.text(0, self.extent(child)[0]).rstrip()[-1:] != "[":
                    self.walk(child, parent if c.kind == K.UNEXPOSED_EXPR else c)

    def walk_for(self, c, children):
        """for (init; condition; step) body, each of which can be absent."""
        begin, end = self.extent(c)
        at, depth, semicolons = begin, 0, []
        tokens = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[();]", re.S)
        for t in tokens.finditer(self.text(begin, end)):
            depth += {"(": 1, ")": -1}.get(t[0], 0)
            if t[0] == ";" and depth == 1:
                semicolons.append(len(self.text(begin, end)[:t.start()].encode()) + begin)
            if depth == 0 and t[0] == ")":
                at = len(self.text(begin, end)[:t.start()].encode()) + begin
                break
        for child in children:
            place = self.extent(child)[0]
            if place > at:
                self.statement(child)
            elif semicolons[0] < place < semicolons[1]:
                self.condition(child)
            else:
                self.walk(child)

    def walk_bool(self, c, parent):
        text = self.of(c)
        other = "false" if text == "true" else "true"
        self.add(f"{text} to {other}: {self.of(parent or c)}", (c, "(!mutant(ID)==", ")"))

    def walk_labels(self, subject, body):
        """The subject is a number that no label has for a label that is taken out."""
        for c in self.labels(body):
            label = next(c.get_children())
            text = self.of(label)
            if "#" not in text:
                self.add(f"drop: case {text}", (subject, "mutant_subject(ID,", f",{text})"))

    def labels(self, c):
        for child in c.get_children():
            if child.kind == K.CASE_STMT:
                yield child
            if child.kind != K.SWITCH_STMT:
                yield from self.labels(child)

    def walk_call(self, c):
        arguments = list(c.get_arguments())
        if not SILENT.match(c.spelling) and not c.spelling.startswith("__"):
            if not SYMMETRIC.match(c.spelling):
                for a, b in zip(arguments, arguments[1:]):
                    self.exchange(c, a, b)
            for a in arguments:
                self.constant(c, a)
        for child in c.get_children():
            self.walk(child, c)

    def exchange(self, c, a, b):
        texts = [self.text(*self.extent(x)) for x in (a, b)]
        types = [{x.type.get_canonical().spelling, self.plain_type(self.bare(x))} for x in (a, b)]
        if all(map(self.is_whole, (a, b))) and types[0] == types[1] and texts[0] != texts[1] and "#" not in "".join(texts):
            self.add(f"exchange: {self.of(a)}, {self.of(b)} of {self.of(c)}",
                     (a, f"(mutant(ID)?({texts[1]}):(", "))"), (b, f"(mutant(ID)?({texts[0]}):(", "))"))

    @staticmethod
    def plain_type(c):
        """The type, without `const`, and an array as the pointer that it becomes."""
        of = c.type.get_canonical()
        element = of.element_type if of.kind in (T.CONSTANTARRAY, T.INCOMPLETEARRAY) else of.get_pointee()
        return re.sub(r"\bconst\b ?", "", f"{element.spelling} *" if element.spelling else of.spelling).strip()

    def constant(self, c, argument):
        core, text = self.bare(argument), self.of(argument)
        if argument.type.get_canonical().kind not in NUMBERS:
            return
        if core.kind == K.INTEGER_LITERAL and c.spelling not in FREE_NUMBERS and re.fullmatch(r"\d+", text) and not self.is_macro(core):
            self.add(f"{text} to {int(text) + 1}: {self.of(c)}", (argument, "(", "+mutant(ID))"))
        elif re.fullmatch(r"[A-Z][A-Z0-9_]+", text) and text not in UNSEEN_FLAGS and self.is_whole(argument):
            self.add(f"{text} to !{text}: {self.of(c)}", (argument, "(mutant(ID)?!(", f"):({text}))"))

    def walk_return(self, c, ret):
        core = self.bare(c)
        text = self.of(c)
        is_error = re.fullmatch(r"-E[A-Z0-9]+", text) or core.kind == K.DECL_REF_EXPR and core.spelling in ERROR_NAMES
        if is_error and self.result == "int":
            self.add(f"return 0: return {text}", (c, "(mutant(ID)?0:(", "))"))
        self.walk(c, ret)

    def operator_of(self, c):
        return self.operator(c)[0] if c.kind == K.BINARY_OPERATOR else ""

    def walk_binary(self, c, chain=""):
        op, sides = self.operator(c)
        if not op:
            return
        if op in ("&&", "||"):
            chain = chain or self.of(c)
            for side in map(self.bare, sides):
                if self.operator_of(side) != op:
                    before = "(mutant(ID)||(" if op == "&&" else "(!mutant(ID)&&("
                    self.add(f"without: {self.of(side)} of {chain}", (side, before, "))"))
                    self.walk(side)
                elif not self.is_macro(side):
                    self.walk_binary(side, chain)
            return
        if op == "|":
            self.walk_flags(c, self.of(c))
            return
        if op in ORDER:
            a, b = map(self.of, sides)
            if "#" not in a + b:
                self.add(f"{op} to {ORDER[op]}: {self.of(c)}", (c, f"(mutant(ID)?({a}){ORDER[op]}({b}):(", "))"))
        if op in STEP:
            for side, step in zip(sides, STEP[op]):
                self.number(c, self.bare(side), step)
        for side in sides:
            self.walk(side, c)

    def walk_flags(self, c, chain):
        for side in self.operator(c)[1]:
            core = self.bare(side)
            if self.operator_of(core) == "|" and not self.is_macro(core):
                self.walk_flags(core, chain)
                continue
            if self.of(side) not in UNSEEN_FLAGS and self.is_whole(side):
                self.add(f"without: {self.of(side)} of {chain}", (side, "(mutant(ID)?0:(", "))"))
            self.walk(side)

    def number(self, c, literal, step):
        text = self.of(literal)
        if literal.kind != K.INTEGER_LITERAL or self.is_macro(literal) or not re.fullmatch(r"[1-9]\d*[uUlL]*|0", text):
            return
        if text == "0" and (step < 0 or self.operator_of(c) in ("==", "!=")):
            return
        value = int(re.match(r"\d+", text)[0])
        sign = "+" if step > 0 else "-"
        self.add(f"{value} to {value + step}: {self.of(c)}", (literal, "(", f"{sign}mutant(ID))"))

    def written(self):
        """Returns the file with all its mutants, which have their ids."""
        parts = []
        for depth, m in enumerate(self.mutants):
            for begin, end, before, after in m.edits:
                parts.append((begin, (1, depth), before.replace("(ID", f"({m.id}")))
                parts.append((end, (0, -depth), after.replace("(ID", f"({m.id}")))
        out, at = [f'{HEADER}\n#line 1 "{self.path}"\n'.encode()], 0
        for place, _, text in sorted(parts, key=lambda p: p[:2]):
            out += [self.bytes[at:place], text.encode()]
            at = place
        return b"".join(out + [self.bytes[at:]])


def main(args):
    out = None
    if args[:1] == ["-o"] and len(args) == 3:
        out = args[1]
        args = args[2:]
    if not args or args[0].startswith("-"):
        raise SystemExit(__doc__)
    for path in args:
        f = File(path)
        for i, m in enumerate(f.mutants):
            m.id = i + 1
            print(f"{path}:{m.line}: {m.what}")
        if out:
            with open(out, "wb") as w:
                w.write(f.written())


if __name__ == "__main__":
    main(sys.argv[1:])
