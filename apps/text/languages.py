"""The configuration of Postgres by which the words of a text are stemmed. Without database access.

A short text that no word tells is taken as English, whose stems hardly change words of other languages.
"""

import re
import unicodedata
from collections import Counter

from apps.text import detection
from apps.text.words import UNSPACED

ENGLISH = "english"
MOST_READ = detection.MAX_CHARACTERS
_CONFIGURATIONS = {
    "en": ENGLISH, "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese", "nl": "dutch",
    "sv": "swedish", "da": "danish", "no": "norwegian", "fi": "finnish", "hu": "hungarian", "ro": "romanian",
    "tr": "turkish", "id": "indonesian", "ru": "russian", "uk": "russian", "el": "greek", "ar": "arabic", "hi": "hindi",
    "hy": "armenian", "ta": "tamil",
}  # fmt: skip
_LETTER = re.compile(r"[^\W\d_]")


def configuration_of(text: str) -> str | None:
    """Return the name of the configuration of Postgres for a text; None where nothing tells its language."""
    return _CONFIGURATIONS.get(detection.language_of(text, "", among=_CONFIGURATIONS))


def likeliest_configurations(text: str) -> list[str]:
    """Return the names of all configurations that are as likely for a text, such as a question of a few words."""
    codes = detection.likeliest_languages(text, among=_CONFIGURATIONS)
    return list(dict.fromkeys(_CONFIGURATIONS[code] for code in codes))


def script_or_language_of(text: str) -> str:
    """Return the name of a text's language; of a script that Postgres doesn't stem its name, of a few words "other"."""
    letters = "".join(_LETTER.findall(text[:MOST_READ]))
    unspaced = "".join(UNSPACED.findall(letters))
    if 2 * len(unspaced) > len(letters):
        names = Counter(unicodedata.name(letter, "other").split()[0].lower() for letter in unspaced)
        if names.keys() & {"hiragana", "katakana"}:
            return "japanese"
        script = names.most_common(1)[0][0]
        return {"cjk": "chinese", "hangul": "korean"}.get(script, script)
    return configuration_of(text) or "other"
