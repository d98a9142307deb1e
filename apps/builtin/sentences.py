"""A message as sentences, each with who says it. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from sentencex import segment

from apps.extraction.instructions import is_instruction, without_instructions

MIN_WORDS, MAX_WORDS = 4, 45
PIECE = 20_000  # characters of a paragraph that are cut into sentences at once; the time grows with their square

_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_TABLE = re.compile(r"^\s*\|.*\|\s*$|^[\s|:+=-]+$")
_SIGN = re.compile(r"[!-@\[-`{-~]")  # ASCII without letters and spaces
_INLINE = re.compile(r"<[/a-zA-Z!][^<>]{0,500}>|https?://\S+")
_CODE = re.compile(r"[;{}]\s*$|\w\(\)|\w\[\w*\]|==|=>|->|</|\b(?:def|return|const|import|function)\b.*[(){}=;]")
# No mark of the same kind stands within, so that what is never closed is not read again and again.
_QUOTED = re.compile(r'"([^"\n]+)"|“([^“”\n]+)”|«([^«»\n]+)»|„([^„“”\n]+)[“”]')
_ACTION = re.compile(r"(?<![*\w])\*{1,3}([^*\n]+?)\*{1,3}(?![*\w])")
# A word or two stressed within a sentence, which is not torn apart for it.
_STRESS = r"\*{1,3}([^*\s]+(?: [^*\s]+)?)\*{1,3}"
_STRESSED = re.compile(rf"(?<=[\w,] ){_STRESS}(?!\w)|(?<![*\w]){_STRESS}(?= [a-z])")
_MARKUP = re.compile(r"[*_`#>~]+|!?\[([^\[\]]*)\]\([^()]*\)")
_VERB = r"(?:said|says|asked|asks|answered|replied|replies|whispered|called|shouted|told|added|muttered)"
_WHO = r"(?!(?:Nobody|Everybody|Somebody|Everyone|Someone)\b)[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){0,3}"
_SOMEBODY = r"(?:the|a|an|one|another|some\w+)\b"
_SAID_AFTER = re.compile(rf"^\W*(?:{_VERB} (?P<who>{_WHO}|{_SOMEBODY})|(?P<subject>{_WHO}) {_VERB}\b)")
_SAID_BEFORE = re.compile(rf"\b(?P<who>{_WHO}) {_VERB}\b[^.!?]*$")
_ACTS_BEFORE = re.compile(rf"^\W*(?P<who>{_WHO})(?<!['’]s) (?!(?:and|or|of|with|in|on|at|to|for)\b)[a-z]+")
_INTRODUCED = re.compile(rf"(?:^|[.,:;!?…—*)\]”\"»]|(?<![\w-]){_VERB})\s*$")
_NEAR = 12  # characters before a quotation that tell whether they introduce it
_PRONOUNS = frozenset("he she they it we you i the then and but so".split())


@dataclass(frozen=True)
class Sentence:
    """``speaker`` says or narrates it; ``spoken`` tells which. ``turn`` is the number of its turn."""

    turn: int
    speaker: str
    text: str
    spoken: bool

    @property
    def words(self) -> list[str]:
        return re.findall(r"[\w'’-]+", self.text)


def sentences_of(turn: int, speaker: str, message: str, *, least: int = MIN_WORDS) -> Iterator[Sentence]:
    """The message's sentences in order. Left out is what has fewer than ``least`` words or is too long to quote, code,
    tables, and what is addressed to a model instead of told."""
    for text, spoken, voice in _told(message, speaker):
        sentence = Sentence(turn, voice, _clean(text), spoken)
        if least <= len(sentence.words) <= MAX_WORDS and _is_prose(sentence.text):
            yield sentence


@lru_cache(maxsize=64)  # one task after the other reads the same few messages
def _told(message: str, speaker: str) -> tuple[tuple[str, bool, str], ...]:
    """(sentence, spoken, voice), without commands to a model and without what such a command ends with a colon for."""
    told, dictated = [], False
    for text, spoken, voice in _parts(without_instructions(prose(message)), speaker):
        for raw in filter(str.strip, _raw_sentences(text)):
            command = is_instruction(raw)
            if not command and not dictated:
                told.append((raw, spoken, voice))
            dictated = command and raw.rstrip().endswith((":", "："))
    return tuple(told)


def prose(message: str) -> str:
    """The message without code blocks, HTML and tables."""
    lines, fence = list[str](), ""
    for line in message.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence and line.strip() == fence:
            fence = ""
        elif not fence and not _TABLE.match(line):
            lines.append(_INLINE.sub(" ", line))
    return "\n".join(lines)


def _is_prose(text: str) -> bool:
    """Whether it is mostly words: not an address, a path, a row of numbers, or code."""
    return len(_SIGN.findall(text)) <= 0.2 * len(text) and not _CODE.search(text)


def _raw_sentences(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield from segment("en", text[start : start + PIECE])


def _clean(text: str) -> str:
    text = _MARKUP.sub(lambda match: match[1] or "", text)
    return " ".join(text.split()).strip('-–— ,"“”«»')


def _parts(message: str, speaker: str) -> Iterator[tuple[str, bool, str]]:
    """(text, spoken, voice). Where a message marks its speech by quotes, the rest is narration; where it marks its
    actions by asterisks, the rest is speech; where it marks nothing, it is all speech."""
    paragraphs = [_STRESSED.sub(lambda match: match[1] or match[2], line) for line in message.splitlines()]
    quotes = any(_speech(paragraph) for paragraph in paragraphs)
    for paragraph in paragraphs:
        yield from _quoted_parts(paragraph, speaker) if quotes else _acted_parts(paragraph, speaker)


def _speech(paragraph: str) -> list[re.Match[str]]:
    """The quotations that somebody says; a title or a word in quotes is part of the sentence around it."""
    return [
        match
        for match in _QUOTED.finditer(paragraph)
        if _inner(match).rstrip().endswith((".", ",", "!", "?", "…", "—", "-"))
        or _INTRODUCED.search(paragraph, max(match.start() - _NEAR, 0), match.start())
    ]


def _inner(match: re.Match[str]) -> str:
    return next(filter(None, match.groups()))


def _quoted_parts(paragraph: str, speaker: str) -> Iterator[tuple[str, bool, str]]:
    """Give speech to whom a tag such as ``said Mira`` names, else to the voice before it in the paragraph, at first the
    speaker's. Speech of somebody without a name, and of whom may be another than the speaker, is nobody's."""
    speech = _speech(paragraph)
    ends = [*(match.start() for match in speech[1:]), len(paragraph)]
    position, voice = 0, speaker
    for match, end in zip(speech, ends, strict=False):
        before, after = paragraph[position : match.start()], paragraph[match.end() : end]
        tagged = _voice(before, _inner(match), after, speaker)
        voice = voice if tagged is None else tagged
        yield before, False, speaker
        yield _inner(match), True, voice
        position = match.end()
    yield paragraph[position:], False, speaker


def _voice(before: str, quotation: str, after: str, speaker: str) -> str | None:
    """Return whom the words around a quotation name; empty for somebody else, None where they tell nothing."""
    tag = _SAID_AFTER.search(after)
    if tag and tag["subject"] and quotation.endswith(".") and after.rstrip().endswith((",", ":")):
        tag = None  # it introduces what comes next
    found = tag or _SAID_BEFORE.search(before)
    said = (found["who"] or found["subject"]) if tag and found else found["who"] if found else ""
    if said[:1].islower():
        return ""
    words = said.split()
    while words and words[0].lower() in _PRONOUNS:
        words = words[1:]
    if words:
        return speaker if set(words) <= set(speaker.split()) else " ".join(words)
    acts = None if found else _ACTS_BEFORE.match(before)
    known = {*speaker.lower().split(), *_PRONOUNS}
    return "" if acts and acts["who"].lower().split()[0] not in known else None


def _acted_parts(paragraph: str, speaker: str) -> Iterator[tuple[str, bool, str]]:
    """What stands between asterisks is done, the rest said."""
    position = 0
    for match in _ACTION.finditer(paragraph):
        yield paragraph[position : match.start()], True, speaker
        yield match[1], False, speaker
        position = match.end()
    yield paragraph[position:], True, speaker
