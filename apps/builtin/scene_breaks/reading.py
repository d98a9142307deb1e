"""Read a message: its sentences with and without speech, its opening and its end. Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache

from apps.builtin.scene_breaks.layout import is_heading, is_separator, lines_of, place_in
from apps.builtin.scene_breaks.words import words_of

SPEECH = "❝"  # replaces quoted speech
OPENING_WORDS, END_WORDS = 32, 16  # maximum number of words that are embedded

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
    """``narrated`` and ``sentences`` are the sentences without and with speech; ``plain`` means that the message marks
    neither speech nor actions."""

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
        return self.narrated[0] if self.narrated else ""

    @property
    def end(self) -> str:
        """The last two sentences, with speech."""
        return " ".join(" ".join(self.sentences[-2:]).split()[-END_WORDS:])


@lru_cache(maxsize=64)
def reading_of(message: str) -> Reading:
    lines = lines_of(message)
    told = [number for number, line in enumerate(lines) if not is_separator(line)]
    separators = [number for number in range(len(lines)) if number not in told]
    body = "\n".join(lines[number] for number in told)
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
        separated=any(not told or number < told[-1] for number in separators),
        closed=any(bool(told) and number > told[-1] for number in separators),
        titled=any(map(is_heading, lines)),
        place=place_in(lines),
    )


def _inner(match: re.Match[str]) -> str:
    return match[1] or match[2]


def _sentences(text: str) -> tuple[str, ...]:
    cleaned = (" ".join(_MARKUP.sub(" ", part).replace("’", "'").split()) for part in _SENTENCE_END.split(text))
    return tuple(one for one in cleaned if one.strip(SPEECH + " .,!?…-—\"'”“"))
