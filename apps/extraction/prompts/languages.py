"""Tell the language of messages, so that a prompt can name it. Without database access."""

import re
from collections import Counter
from collections.abc import Iterable

UNKNOWN = "the language of the messages"
MAX_LETTERS = 4000  # of the newest messages, which are looked at
MIN_WORDS = 2  # frequent words of a language
_SCRIPTS = (
    ("Japanese", re.compile(r"[\u3040-\u30ff]")),
    ("Korean", re.compile(r"[\uac00-\ud7af]")),
    ("Chinese", re.compile(r"[\u3400-\u9fff]")),
    ("Ukrainian", re.compile(r"[іїєґІЇЄҐ]")),
    ("Russian", re.compile(r"[\u0400-\u04ff]")),
    ("Arabic", re.compile(r"[\u0600-\u06ff]")),
    ("Greek", re.compile(r"[\u0370-\u03ff]")),
)
MIN_SHARE = 0.1  # of letters in a script
# Words that are frequent in one language and rare in the others.
_FREQUENT = {
    "English": "the and of to is was you that with have what not this are my for",
    "German": "der und ich nicht ist das ein mit auf auch wir habe dem den was für",
    "French": "le et je est pas les une que dans des vous avec pour mais qui du",
    "Spanish": "el y que los es una por con las pero como está muy para mi yo",
    "Italian": "il che di non una per sono con della ho ma mi gli anche è lo",
    "Portuguese": "o que não uma com os você para mas em eu do da meu isso está",
    "Dutch": "de het een ik niet van dat met zijn maar ook je hij was naar wat",
    "Polish": "nie się na jest że to jak ale mam co tak już czy dla był mnie",
}
_LANGUAGES_OF: dict[str, list[str]] = {}
for _name, _words in _FREQUENT.items():
    for _word in _words.split():
        _LANGUAGES_OF.setdefault(_word, []).append(_name)


def language_of(texts: Iterable[str]) -> str:
    """Return the English name of the language that texts are mostly in, or UNKNOWN."""
    text = " ".join(texts)[-MAX_LETTERS:]
    letters = sum(map(str.isalpha, text))
    for name, script in _SCRIPTS:
        if letters and len(script.findall(text)) >= MIN_SHARE * letters:
            return name
    found = Counter(name for word in re.findall(r"\w+", text.casefold()) for name in _LANGUAGES_OF.get(word, ()))
    best = found.most_common(1)
    return best[0][0] if best and best[0][1] >= MIN_WORDS else UNKNOWN
