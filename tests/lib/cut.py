# SPDX-License-Identifier: MIT
"""The part of a long line that a search shows, found by trying every end of a word."""

import unicodedata


def is_word(character):
    return character == "_" or unicodedata.category(character) == "Nd" or unicodedata.category(character)[0] in "LM"


class Whole(str):
    """A word that counts only as a whole word; not equal to the same text that counts anywhere."""

    def __eq__(self, other):
        return isinstance(other, Whole) and str.__eq__(self, other)

    def __hash__(self):
        return hash(("whole", str(self)))


def places(folded, word):
    """Returns where the word is: its begin, its end, and whether it is whole."""
    at = folded.find(word)
    while at >= 0:
        end = at + len(word)
        whole = not any(is_word(c) for c in folded[max(at - 1, 0) : at] + folded[end : end + 1])
        if whole or not isinstance(word, Whole):
            yield at, end, whole
        at = folded.find(word, at + 1)


def rank(folded, words):
    """Returns how many different words the line has, and how many as whole words."""
    found = [list(places(folded, word)) for word in set(words)]
    return sum(map(bool, found)), sum(any(whole for _, _, whole in all_) for all_ in found)


def cut_around(line, words, most, fold, joins=lambda c: False):
    """Returns at most this many characters with the most words, whole words and characters of words; an eighth of them
    before the first word if there is room. Words are folded."""
    if len(line) <= most:
        return line
    folded = fold(line)
    found = {word: list(places(folded, word)) for word in set(words)}
    best = (0, 0, 0), 0, 0, False
    for stop in sorted({end for all_ in found.values() for _, end, _ in all_}):
        is_last = stop == len(folded)
        begin = 0 if stop < most else stop + 2 - is_last - most
        seen = []
        for word, all_ in found.items():
            length = min(len(word), most - 2)
            ends = [(whole, end - length) for _, end, whole in all_ if end <= stop and end - length >= begin]
            seen += [(*max(ends), length)] if ends else []
        score = len(seen), sum(whole for whole, _, _ in seen), sum(length for _, _, length in seen)
        if score > best[0]:
            best = score, min(at for _, at, _ in seen), stop, is_last
    _, first, stop, is_last = best
    # The same in characters of the line.
    begins = [i for i, c in enumerate(line) if i == 0 or not joins(c)] + [len(line)]
    at, place = {0: 0}, 0
    for begin, end in zip(begins, begins[1:]):
        place += len(fold(line[begin:end]))
        at[place] = end
    before = min(p for p in at if p >= first)
    begin, end = at[before], at[min(p for p in at if p >= min(before + stop - first, place))]
    begin = max(begin - most // 8, 0)
    begin = min(max(begin, end + 1 - is_last - most), len(line) - most)
    part = line[begin : begin + most]
    part = "\u2026" + part[1:] if begin else part
    return part[:-1] + "\u2026" if begin + most < len(line) else part
