"""Read a message: its sentences with and without speech, its opening and its end. Without database access."""

import re
from dataclasses import dataclass
from functools import lru_cache

from apps.builtin.scene_breaks.layout import is_heading, is_separator, lines_of, place_in
from apps.builtin.scene_breaks.words import words_of

SPEECH = "❝"  # replaces quoted speech
OPENING_WORDS, END_WORDS, MAX_WORDS = 32, 16, 100  # maximum numbers of words of an opening, an end and a message

# No alternative contains its own delimiter, so that an unclosed one is not scanned again and again.
_SPOKEN = re.compile(
    r'"[^"\n]*(?:"|$)|“[^“”\n]*(?:”|$)|«[^«»\n]*(?:»|$)|„[^„“”\n]*(?:[“”]|$)|「[^「」\n]*(?:」|$)'
    r"|(?<!\w)['‘](?=\w)(?:[^'‘’\n]|(?<=\w)['’](?=\w))+[.,!?…—-]['’](?!\w)|^\s*[—–]\s*[^—–\n]+",
    re.MULTILINE,
)
_ACTION = re.compile(r"(?<![*\w])\*{1,3}(\w[^*\n]*)(?:\*{1,3}(?![*\w])|$)|(?<![\w_])_([^_\n]+)_(?![\w_])", re.MULTILINE)
_EMPHASIZED = re.compile(r"(?<=[\w,] )\*{1,3}([^*\s]+)\*{1,3}(?!\w)|(?<![*\w])\*{1,3}([^*\s]+)\*{1,3}(?= [a-z])")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’*_)]*\s+|\n+")
_MARKUP = re.compile(r"[*_`#>~\[\]{}|]+")


@dataclass(frozen=True)
class Reading:
    """The parts of a message.

    ``sentences`` include speech, ``narrated`` don't. ``plain``: neither speech nor actions are marked. ``separated``,
    ``closed``: a separator stands before or after the text. ``titled``: a line is a heading.
    """

    sentences: tuple[str, ...]
    narrated: tuple[str, ...]
    plain: bool
    opens_with_narration: bool
    separated: bool
    closed: bool
    titled: bool
    place: str

    @property
    def opening(self) -> str:
        """The beginning of the narration."""
        return " ".join(" ".join(self.narrated[:2]).split()[:OPENING_WORDS]).replace(SPEECH, "").strip()

    @property
    def first(self) -> str:
        """The first sentence of the narration, or an empty string."""
        return self.narrated[0] if self.narrated else ""

    @property
    def first_sentence(self) -> str:
        """The first sentence of the narration or, without narration, of the speech."""
        return self.first or " ".join(self.sentences[:1])

    @property
    def beginning(self) -> str:
        """The first words of the message, with speech."""
        return " ".join(" ".join(self.sentences).split()[:MAX_WORDS])

    @property
    def end(self) -> str:
        """The last two sentences, with speech."""
        return " ".join(" ".join(self.sentences[-2:]).split()[-END_WORDS:])


@lru_cache(maxsize=64)
def reading_of(message: str) -> Reading:
    lines = lines_of(message)
    text_lines = [number for number, line in enumerate(lines) if not is_separator(line)]
    separators = [number for number in range(len(lines)) if number not in text_lines]
    body = "\n".join(lines[number] for number in text_lines)
    text = _EMPHASIZED.sub(_inner, body)
    quotes = bool(_SPOKEN.search(text))
    actions = not quotes and bool(_ACTION.search(text))
    narration = text
    if quotes:
        narration = _SPOKEN.sub(f" {SPEECH} ", text)
    elif actions:
        narration = "\n".join(map(_inner, _ACTION.finditer(text)))
    return Reading(
        sentences=_sentences(body),
        narrated=_sentences(narration),
        plain=not quotes and not actions,
        opens_with_narration=bool(words_of(narration)) and words_of(body)[:1] == words_of(narration)[:1],
        separated=any(not text_lines or number < text_lines[-1] for number in separators),
        closed=any(bool(text_lines) and number > text_lines[-1] for number in separators),
        titled=any(map(is_heading, lines)),
        place=place_in(lines),
    )


def _inner(match: re.Match[str]) -> str:
    return match[1] or match[2]


def _sentences(text: str) -> tuple[str, ...]:
    cleaned = (" ".join(_MARKUP.sub(" ", part).replace("’", "'").split()) for part in _SENTENCE_END.split(text))
    return tuple(one for one in cleaned if one.strip(SPEECH + " .,!?…-—\"'”“"))
