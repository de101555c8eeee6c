# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A description read as a phrase: which word is its noun, what modifies it, what places it.

No parser of English: a description is a noun with words before it and phrases behind it, and each phrase is opened by a
word that `grammar.toml` lists. What is not understood is taken for a property, which is what most phrases are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from groundset.fpco.grammar import Grammar
from groundset.fpco.lexicon import Lexicon
from groundset.fpco.words import is_content_word, is_word

# owner: a noun with a possessive behind it. link: words that only join. relation: what opens a place.
Role = Literal["head", "modifier", "owner", "property", "posture", "relation", "place", "link"]

_JOINING = frozenset(
    {"who", "which", "that", "is", "are", "was", "were", "being", "be", "and", "or", "while", "as", "where"}
)
_DETERMINING = "a an the this that these those his her its their my your our each every some any both all"
_DETERMINERS = frozenset(_DETERMINING.split())
# On these one stands in no place.
_NO_PLACES = frozenset({"phone", "cellphone", "cell", "smartphone", "leash", "fire"})
_OTHER_ENDINGS = """
    building ceiling railing string ring king wing clothing painting swing spring morning evening crossing awning sling
    pudding wedding icing frosting topping lighting landing siding bedding earring fencing flooring nothing something
    anything everything duckling gosling sibling seedling dumpling herring viking bobsled sled bed red shed seed weed
    reed breed bread feed hundred steed wed
"""
_NO_PARTICIPLES = frozenset(_OTHER_ENDINGS.split())


@dataclass(frozen=True)
class Phrase:
    """A description, word by word.

    Attributes:
        words: Its tokens in lower case.
        roles: What each of them is.
        heads: Indices of its noun; several for "the man and the woman" or "the slice of pizza".
        relations: Start and end of each relation.
        of_parts: Indices of the words of places that are places of a part, or of a thing that the target has.
    """

    words: tuple[str, ...]
    roles: tuple[Role, ...]
    heads: tuple[int, ...]
    relations: tuple[tuple[int, int], ...]
    of_parts: frozenset[int]


def read_phrase(tokens: Sequence[str], lexicon: Lexicon, grammar: Grammar) -> Phrase:
    """What each word of a description does; any tokens can be read."""
    return _Reader(tuple(token.casefold() for token in tokens), lexicon, grammar).phrase()


class _Reader:
    """One walk over a description, from its noun to its last phrase."""

    def __init__(self, words: tuple[str, ...], lexicon: Lexicon, grammar: Grammar) -> None:
        self.words = words
        self.lexicon = lexicon
        self.grammar = grammar
        self.relations: list[tuple[int, int]] = []
        self.of_parts: set[int] = set()

    def phrase(self) -> Phrase:
        end = self._head_end()
        heads = self._heads(end)
        before: list[Role] = [self._before_head(index, heads) for index in range(end)]
        roles = (*before, *self._behind(end))
        return Phrase(self.words, roles, tuple(heads), tuple(self.relations), frozenset(self.of_parts))

    def _is_noun(self, index: int) -> bool:
        word = self.words[index]
        return (
            self.lexicon.canonical(word) is not None
            or word in self.grammar.worn
            or word in self.grammar.body
            or (index > 0 and self.lexicon.canonical(f"{self.words[index - 1]} {word}") is not None)
        )

    def _is_modifier(self, index: int) -> bool:
        word = self.words[index]
        return (
            word in _DETERMINERS
            or not is_word(word)
            or word in ("and", "or", "'s", "very", "more", "most", "of")
            or word[0].isdigit()
            or word in self.grammar.singular
            or word in self.grammar.plural
            or ((self.lexicon.is_attribute(word) or word in self.grammar.sides) and not self._is_noun(index))
        )

    def _ends_noun(self, index: int) -> bool:
        """Whether the word before an index can be the noun of what stands before it."""
        if index == 0:
            return False
        if self._is_noun(index - 1):
            return True
        follows = index + 1 < len(self.words) and self._is_noun(index + 1)
        return not self._is_modifier(index - 1) and not self._participle(index - 1) and not follows

    def _participle(self, index: int) -> bool:
        word = self.words[index]
        if word in self.grammar.postures or word in self.grammar.looking or word in self.grammar.filled:
            return True
        return len(word) > 4 and word.endswith(("ing", "ed")) and "-" not in word and word not in _NO_PARTICIPLES

    def _opens(self, index: int) -> bool:
        """Whether a phrase behind the noun starts at an index."""
        word = self.words[index]
        said = any(is_word(other) and other not in _DETERMINERS for other in self.words[:index])
        if self.grammar.relation_at(self.words, index) and word not in ("nearest", "closest", "farthest", "furthest"):
            if word in self.grammar.sides:
                return self._ends_noun(index)
            return said
        if word in self.grammar.having or word in ("who", "which", "that", "where", "while", "being"):
            return said
        if (
            word in (",", "(", "-", ";")
            or word in self.grammar.sides
            or self._participle(index)
            or word in ("is", "are")
        ):
            if (
                word in self.grammar.sides
                and index + 1 < len(self.words)
                and not self.grammar.relation_at(self.words, index + 1)
            ):
                return False
            return self._ends_noun(index)
        return False

    def _head_end(self) -> int:
        return next((index for index in range(1, len(self.words)) if self._opens(index)), len(self.words))

    def _heads(self, end: int) -> list[int]:
        heads = [
            index - 1
            for index in range(1, end)
            if self.words[index] == "of" or (self.words[index] == "and" and self._is_noun(index - 1))
        ]
        last = [index for index in range(end) if is_word(self.words[index]) and self.words[index] != "'s"]
        while len(last) > 1 and self.words[last[-1]].isdigit():
            last.pop()
        return sorted({*heads, *last[-1:]})

    def _before_head(self, index: int, heads: list[int]) -> Role:
        if index in heads:
            return "head"
        if index + 1 < len(self.words) and self.words[index + 1] in ("'s", "'"):
            return "owner"
        return "modifier" if is_content_word(self.words[index]) or self.words[index] in self.grammar.sides else "link"

    def _behind(self, start: int) -> list[Role]:
        roles: list[Role] = []
        current: Role = "property"
        has, has_part, directed = False, False, False
        index = start
        while index < len(self.words):
            word = self.words[index]
            size = self.grammar.relation_at(self.words, index)
            if word in self.grammar.sides and not self._starts_side(index):
                size = 0
            if size and not directed and not self._is_worn(index, size):
                part = has and self._is_of_part(index + size, has_part=has_part)
                roles += ["relation"] * size
                self.relations.append((index, index + size))
                self.of_parts |= set(range(index, self._phrase_end(index + size))) if part else set()
                current = "place"
                index += size
                continue
            if size:
                roles += ["property"] * size
                current, directed = "property", False
                index += size
                continue
            if word in self.grammar.having:
                current, has, has_part = "property", True, False
                roles.append("property")
            elif word in _JOINING or not is_word(word):
                roles.append("link")
            elif self._participle(index) and (not roles or roles[-1] == "link" or self._ends_noun(index)):
                current = "posture" if word in self.grammar.postures else "property"
                has = False
                directed = word in self.grammar.looking or word in self.grammar.filled
                roles.append(current)
                index += 1
                continue
            elif word in self.grammar.sides and self._starts_side(index):
                current = "place"
                roles.append("place")
            else:
                has_part = has_part or (has and word in self.grammar.body)
                roles.append("property" if current == "posture" else current)
            # "looking up at the sky" is still a direction, "looking at the sky in a hat" is not
            directed = directed and word in ("up", "down", "back", "away", "out", "over")
            index += 1
        return roles

    def _starts_side(self, index: int) -> bool:
        """Whether a word for a side stands for itself: "the man second from the left", not "the left hand"."""
        following = self.words[index + 1] if index + 1 < len(self.words) else "of"
        return following in ("of", "from", "to") or not self._is_word_of_phrase(index + 1)

    def _is_word_of_phrase(self, index: int) -> bool:
        return (
            index < len(self.words) and is_word(self.words[index]) and not self.grammar.relation_at(self.words, index)
        )

    def _phrase_end(self, index: int) -> int:
        start = index
        while index < len(self.words) and not (
            self.grammar.relation_at(self.words, index)
            or self.words[index] in self.grammar.having
            or (index > start and self._participle(index) and self._ends_noun(index))
        ):
            index += 1
        return index

    def _is_worn(self, index: int, size: int) -> bool:
        """Whether what looks like a place is none: "in a red coat", "on the phone"."""
        rest = self.words[index + size : self._phrase_end(index + size)]
        word = self.words[index]
        if size == 1 and word == "in":
            named = [other for other in rest if is_word(other) and other not in _DETERMINERS]
            colours = bool(named) and all(self.lexicon.is_attribute(other) or other == "and" for other in named)
            worn = self.grammar.worn - self.grammar.not_after_in
            # a tank top is worn, the top is a place
            dressed = named[-2:] in (["tank", "top"], ["crop", "top"]) or (len(named) > 1 and named[-1:] == ["top"])
            sides = any(other in self.grammar.sides - {"top", "front", "back"} for other in named[-1:])
            return not sides and (colours or bool(worn.intersection(named)) or dressed)
        if size == 1 and word == "on":
            return not any(map(is_word, rest)) or any(other in _NO_PLACES for other in rest)
        return False

    def _is_of_part(self, index: int, *, has_part: bool) -> bool:
        rest = self.words[index : self._phrase_end(index)]
        parts = self.grammar.body | self.grammar.thing_parts
        if any(word in parts for word in rest) and not any(word in self.grammar.of_picture for word in rest):
            # "in the back" is a place of the picture, "on his back" is not
            owned = any(word in ("his", "her", "its", "their", "one", "'s") for word in rest)
            return owned or any(word in parts - {"back"} for word in rest)
        return has_part and not any(word in self.grammar.sides or word in self.grammar.of_picture for word in rest)
