"""Clean the texts of a reply: remove control characters, line ends and stray marks. Without database access."""

import re

MAX_REPLY = 100_000  # maximum length of a parsed reply; no task requests as much
MAX_TEXT = 1000  # characters of one text
MAX_NAME = 200
# Quote marks, bullets, bold and code marks, numbers, and what turns the direction of writing, before a line.
LEADING_MARKS = re.compile(
    r"(?:[\s*•·‣▪◦–—+>_~`\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069-]+|[(（]?\d{1,3}[.)．）、](?=[\s\[［【〔*_`]))*"
)
MARKS = ("**", "__", "~~", "*", "_", "`")

_BLANKS = " \u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Control characters, lone surrogates, and zero-width characters, which hide the tag that a line begins with.
_UNSTORABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200b\ufeff]")
_SEPARATOR = re.compile(r"\s*(?:[:：]|[–—-]+(?=\s|$))\s*")
_FENCE = re.compile(r"^[ \t>]*(?:```|~~~)\w*[ \t]*$", re.MULTILINE)
_NONE = re.compile(r"[\W_]*none[\W_]*", re.IGNORECASE)
_HTML = re.compile(r"<(?:/?[A-Za-z][^<>]{0,200}|!--[^<>]{0,1000}--)>")
_OTHER_CHANNEL = re.compile(
    r"<\|channel\|>\s*(?:analysis|commentary)\b.*?(?=<\|(?:end|start|channel)\|>|\Z)", re.DOTALL
)
_TOKEN_VALUE = re.compile(r"<\|(?:start|channel|constrain|im_start|start_header_id)\|>[ \t]*\w*")
_TOKEN = re.compile(r"<[|｜][^|｜<>\n]{1,40}[|｜]>")
_HALFWIDTH = str.maketrans(
    {
        "［": "[", "］": "]", "【": "[", "】": "]", "〔": "[", "〕": "]", "（": "(", "）": ")", "：": ":", "＝": "=",
        "，": ",", "、": ",", "；": ";", "／": "/", "｜": "|", "＋": "+", "＃": "#", "！": "!", "－": "-", "＞": ">",
    }
)  # fmt: skip


def clean_reply(reply: str) -> str:
    """Return at most MAX_REPLY characters of a reply, with LF line ends and without characters Postgres refuses.

    Control tokens, which some servers leave in a reply, are removed, and with them what is said in other channels than
    the final one.
    """
    text = _UNSTORABLE.sub("", _LINE_ENDS.sub("\n", reply[:MAX_REPLY]))
    if "<|" in text or "<｜" in text:
        text = _TOKEN.sub("", _TOKEN_VALUE.sub("", _OTHER_CHANNEL.sub("", text)))
    return text


def halfwidth(text: str) -> str:
    """Replace full-width brackets and punctuation with ASCII characters."""
    return text.translate(_HALFWIDTH)


def one_line(text: str, limit: int = MAX_TEXT) -> str:
    """Join the lines of a text and cut it to ``limit`` characters."""
    return " ".join(_UNSTORABLE.sub("", _LINE_ENDS.sub("\n", text)).split())[:limit].strip(_BLANKS)


def clean_line(text: str, limit: int = MAX_TEXT) -> str:
    """Return a text in one line, without a leading separator and without bold, italics or code marks around it."""
    text = one_line(text, limit)
    while True:
        shorter = _strip_marks(_SEPARATOR.sub("", text, count=1) if _SEPARATOR.match(text) else text)
        if shorter == text:
            return text
        text = shorter


def _strip_marks(text: str) -> str:
    for mark in MARKS:
        inside = text[len(mark) : -len(mark)]
        if text.startswith(mark) and text.endswith(mark) and mark not in inside:
            return inside.strip()
    return text


def clean_name(text: str) -> str:
    """Return a name in one line, without marks, quotes and brackets around it."""
    return one_line(halfwidth(one_line(text, 2 * MAX_NAME)).strip(' *_`~"“”[]<>()|:,;#'), MAX_NAME)


def tag_safe_name(text: str) -> str:
    """Return a name without the characters that have a meaning inside a tag."""
    return clean_name(re.sub(r"[\[\]:,/=|]", " ", halfwidth(one_line(text))))


def strip_fences(text: str) -> str:
    """Remove the lines that open and close code fences from a text."""
    return _FENCE.sub("", text)


def is_none(text: str) -> bool:
    """Return whether a text consists of the word NONE only."""
    return bool(_NONE.fullmatch(text))


def strip_html(text: str) -> str:
    """Remove HTML tags and comments from a text."""
    return _HTML.sub("", text)
