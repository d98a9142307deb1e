"""Split a message into sentences, each with its speaker. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from sentencex import segment

from apps.extraction.instructions import is_instruction, without_instructions

MIN_WORDS, MAX_WORDS = 4, 45
MIN_NAME_LENGTH = 3
MAX_PIECE_CHARS = 20_000  # characters segmented in one call, whose time grows with their square

_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_TABLE = re.compile(r"^\s*\|.*\|\s*$|^[\s|:+=-]+$")
_PUNCTUATION = re.compile(r"[!-@\[-`{-~]")  # ASCII characters except letters and spaces
_INLINE = re.compile(r"<[/a-zA-Z!][^<>]{0,500}>|https?://\S+")
_CODE = re.compile(r"[;{}]\s*$|\w\(\)|\w\[\w*\]|==|=>|->|</|\b(?:def|return|const|import|function)\b.*[(){}=;]")
# No quotation mark of the same kind is allowed inside, so that unclosed quotes take linear time.
_QUOTED = re.compile(r'"([^"\n]+)"|“([^“”\n]+)”|«([^«»\n]+)»|„([^„“”\n]+)[“”]')
_ACTION = re.compile(r"(?<![*\w])\*{1,3}([^*\n]+?)\*{1,3}(?![*\w])")
# Emphasis of one or two words within a sentence; it does not split the sentence.
_EMPHASIS = r"\*{1,3}([^*\s]+(?: [^*\s]+)?)\*{1,3}"
_EMPHASIZED = re.compile(rf"(?<=[\w,] ){_EMPHASIS}(?!\w)|(?<![*\w]){_EMPHASIS}(?= [a-z])")
_MARKUP = re.compile(r"[*_`#>~]+|!?\[([^\[\]]*)\]\([^()]*\)")
_VERB = r"(?:said|says|asked|asks|answered|replied|replies|whispered|called|shouted|told|added|muttered)"
_WHO = r"(?!(?:Nobody|Everybody|Somebody|Everyone|Someone)\b)[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){0,3}"
_SOMEBODY = r"(?:the|a|an|one|another|some\w+)\b"
_SAID_AFTER = re.compile(rf"^\W*(?:{_VERB} (?P<who>{_WHO}|{_SOMEBODY})|(?P<subject>{_WHO}) {_VERB}\b)")
_SAID_BEFORE = re.compile(rf"\b(?P<who>{_WHO}) {_VERB}\b[^.!?]*$")
_ACTS_BEFORE = re.compile(rf"^\W*(?P<who>{_WHO})(?<!['’]s) (?!(?:and|or|of|with|in|on|at|to|for)\b)[a-z]+")
_INTRODUCED = re.compile(rf"(?:^|[.,:;!?…—*)\]”\"»]|(?<![\w-]){_VERB})\s*$")
_INTRODUCTION_WINDOW = 12  # characters before a quotation that may introduce it
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine)\b")
_NOT_NAMES = frozenset("he she they it we you i the then and but so".split())


@dataclass(frozen=True)
class Sentence:
    """Sentence of turn number ``turn``, said by ``speaker`` if ``spoken`` is true, else narrated by them."""

    turn: int
    speaker: str
    text: str
    spoken: bool

    @property
    def words(self) -> list[str]:
        return re.findall(r"[\w'’-]+", self.text)


def sentences_of(turn: int, speaker: str, message: str, *, min_words: int = MIN_WORDS) -> Iterator[Sentence]:
    """Yield the sentences of a message in order.

    Sentences of fewer than ``min_words`` or more than MAX_WORDS words, code, tables and instructions to a model are
    left out.
    """
    for text, spoken, voice in _marked_sentences(message, speaker):
        sentence = Sentence(turn, voice, _strip_markup(text), spoken)
        if min_words <= len(sentence.words) <= MAX_WORDS and _is_prose(sentence.text):
            yield sentence


@lru_cache(maxsize=64)  # successive tasks read the same few messages
def _marked_sentences(message: str, speaker: str) -> tuple[tuple[str, bool, str], ...]:
    """Return (sentence, spoken, speaker), without instructions to a model and the text that their colon introduces."""
    marked, introduced = [], False
    for text, spoken, voice in _marked_parts(without_instructions(prose(message)), speaker):
        pieces = (text[start : start + MAX_PIECE_CHARS] for start in range(0, len(text), MAX_PIECE_CHARS))
        for raw in filter(str.strip, (sentence for piece in pieces for sentence in segment("en", piece))):
            command = is_instruction(raw)
            if not command and not introduced:
                marked.append((raw, spoken, voice))
            introduced = command and raw.rstrip().endswith((":", "："))
    return tuple(marked)


def prose(message: str) -> str:
    """Return a message without code blocks, HTML and tables."""
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
    """Return whether a text is mostly words, not an address, a path, a row of numbers or code."""
    return len(_PUNCTUATION.findall(text)) <= 0.2 * len(text) and not _CODE.search(text)


def _strip_markup(text: str) -> str:
    text = _MARKUP.sub(lambda match: match[1] or "", text)
    return " ".join(text.split()).strip('-–— ,"“”«»')


def _marked_parts(message: str, speaker: str) -> Iterator[tuple[str, bool, str]]:
    """Yield (text, spoken, speaker) for the parts of a message.

    If it marks speech by quotation marks, the rest is narration; if it marks actions by asterisks, the rest is speech;
    if it marks nothing, all of it is speech. Once others have spoken, quotations without a name have an empty speaker.
    """
    paragraphs = [_EMPHASIZED.sub(lambda match: match[1] or match[2], line) for line in message.splitlines()]
    if not any(_quotations(paragraph) for paragraph in paragraphs):
        for paragraph in paragraphs:
            yield from _action_parts(paragraph, speaker)
        return
    others_spoke = False
    for text, spoken, voice in (part for paragraph in paragraphs for part in _quoted_parts(paragraph, speaker)):
        others_spoke = others_spoke or voice not in (None, speaker)
        yield text, spoken, ("" if others_spoke else speaker) if voice is None else voice


def _quotations(paragraph: str) -> list[re.Match[str]]:
    """Return the quotations that are speech; a quoted title or word is part of the sentence around it."""
    return [
        match
        for match in _QUOTED.finditer(paragraph)
        if match[match.lastindex or 0].rstrip().endswith((".", ",", "!", "?", "…", "—", "-"))
        or _INTRODUCED.search(paragraph, max(match.start() - _INTRODUCTION_WINDOW, 0), match.start())
    ]


def _quoted_parts(paragraph: str, speaker: str) -> Iterator[tuple[str, bool, str | None]]:
    """Yield the quotations of a paragraph as speech and the text between them as the speaker's narration.

    Speech belongs to the person in a tag such as ``said Mira``, else to whoever spoke before it in the paragraph, else
    to nobody known (None). It gets an empty speaker if it is by somebody unnamed or possibly by somebody else.
    """
    speech = _quotations(paragraph)
    ends = [*(match.start() for match in speech[1:]), len(paragraph)]  # end of the text after each quotation
    position: int = 0
    voice: str | None = None
    for match, end in zip(speech, ends, strict=False):
        before, after = paragraph[position : match.start()], paragraph[match.end() : end]
        quotation = match[match.lastindex or 0]  # the one group that matched
        tagged = _tagged_speaker(before, quotation, after, speaker)
        voice = voice if tagged is None else tagged
        yield before, False, speaker
        yield quotation, True, voice
        position = match.end()
    yield paragraph[position:], False, speaker


def _tagged_speaker(before: str, quotation: str, after: str, speaker: str) -> str | None:
    """Return the speaker named by the words around a quotation, or None if they name nobody.

    Return "" if the speaker has no name, as in "said the man", or if somebody else acts before the quotation.
    """
    tag = _SAID_AFTER.search(after)
    if tag and tag["subject"] and quotation.endswith(".") and after.rstrip().endswith((",", ":")):
        tag = None  # it introduces the next quotation
    found = tag or _SAID_BEFORE.search(before)
    name = (found["who"] or found["subject"]) if tag and found else found["who"] if found else ""
    if name[:1].islower():
        return ""
    words = name.split()
    while words and words[0].lower() in _NOT_NAMES:
        words = words[1:]
    if words:
        return speaker if set(words) <= set(speaker.split()) else " ".join(words)
    acts = None if found else _ACTS_BEFORE.match(before)
    known = {*speaker.lower().split(), *_NOT_NAMES}
    return "" if acts and acts["who"].lower().split()[0] not in known else None


def _action_parts(paragraph: str, speaker: str) -> Iterator[tuple[str, bool, str]]:
    """Yield text between asterisks as narration and the rest as speech, or as narration if it names the speaker."""
    position, spoken = 0, not _names(speaker, _ACTION.sub(" ", paragraph))
    for match in _ACTION.finditer(paragraph):
        yield paragraph[position : match.start()], spoken, speaker
        yield match[1], False, speaker
        position = match.end()
    yield paragraph[position:], spoken, speaker


def _names(speaker: str, text: str) -> bool:
    """Return whether a text without "I" contains a part of the speaker's name: people say "I" of themselves."""
    names = [re.escape(name) for name in speaker.split() if len(name) >= MIN_NAME_LENGTH]
    return bool(names) and bool(re.search(rf"\b(?:{'|'.join(names)})\b", text)) and not _FIRST_PERSON.search(text)
