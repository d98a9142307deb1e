"""Read a message: lines, headings, sentences with and without speech, opening and end. Without database access."""

import re
from dataclasses import dataclass
from functools import lru_cache

from apps.builtin.scene_breaks.words import CALENDAR, PARTS_OF_DAY, SHIFTS, UNITS, any_of, words_of

SPEECH = "❝"  # replaces quoted speech
OPENING_WORDS, END_WORDS, MAX_WORDS = 32, 16, 100  # maximum numbers of words of an opening, an end and a message
MAX_READ_CHARS = 8_000  # characters read from a message
HEADING_WORDS = 12

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
_FENCED = re.compile(r"^\s*```.*?(?:^\s*```[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_ASIDE = re.compile(
    r"\(\([^()\n]*\)\)|[(\[{]\s*OOC\b[^()\[\]{}\n]*[)\]}]|^\W{0,3}OOC\b.*$|!\[[^\[\]\n]*\]\([^()\n]*\)",
    re.IGNORECASE | re.MULTILINE,
)
_SEPARATOR = re.compile(r"(?:[*\-_~=#+•·◇◆❖★☆✦⁂—–]\s*){3,}|⁂|<hr ?/?>", re.IGNORECASE)
_WRAPPED = re.compile(r"#{1,6}\s.+|\[.+\]|\(.+\)|\*\*[^*]+\*\*|__.+__|[-~=–—+◆❖★✦]{2,}\s*\w.*?[-~=–—+◆❖★✦]{2,}")
_DIVISION = re.compile(
    r"\W*(?:(?:chapter|part|act|scene|episode|book|day|night|log|entry)\s+(?:the\s+)?(?:\d+|[ivxlc]+\b|one|two|three"
    r"|four|five|six|seven|eight|nine|ten)\b|(?:int|ext)\b\.|(?:prologue|epilogue|interlude|time ?skip|new scene)\b)",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\W*(?:location|place|setting|scene)\W{0,3}[:=]\W*([^|\n\])]+)", re.IGNORECASE)


@dataclass(frozen=True)
class MessageParts:
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
def parts_of(message: str) -> MessageParts:
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
    return MessageParts(
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


def lines_of(message: str) -> list[str]:
    """Return the message's lines without code, remarks out of character and pictures."""
    text = _ASIDE.sub(" ", _FENCED.sub("\n", message.replace("\r\n", "\n")[:MAX_READ_CHARS]))
    return [line.strip() for line in text.split("\n") if line.strip()]


def is_separator(line: str) -> bool:
    return bool(_SEPARATOR.fullmatch(line))


def is_heading(line: str) -> bool:
    """Return whether a line is the title of a scene: "Chapter 3", "[Two days later]", "INT. KITCHEN"."""
    words = words_of(line)
    if not words or len(words) > HEADING_WORDS:
        return False
    if _DIVISION.match(line) and not line.rstrip("*_ ").endswith(('"', "”", "?")):
        return True
    return bool(_WRAPPED.fullmatch(line)) and any_of(words, PARTS_OF_DAY | UNITS | CALENDAR | SHIFTS)


def place_in(lines: list[str]) -> str:
    """Return the place that a line such as "Location: the docks" names, or an empty string."""
    found = next(filter(None, map(_PLACE.match, lines)), None)
    return found[1].strip("*_ .").casefold() if found else ""
