"""Recognise requests to remember something in other languages than English. Without database access."""

import re

from apps.builtin.questions import is_question
from apps.builtin.worth.features import size_of

MIN_SIZE = 3  # words of what is to be remembered
# How such a sentence begins; it is quoted whole, since some of these languages order the words of "that …" differently.
_ASKS = re.compile(
    r"^\W*(?:(?:bitte|por favor|s'il te plaît|per favore|пожалуйста|请|請)[\s,]*)?(?:"
    r"merk(?:e|t)? (?:dir|euch)|vergiss (?:bitte )?nicht|behalte? (?:bitte )?im Kopf|denk (?:bitte )?daran"
    r"|recuerda|acuérdate|no (?:te )?olvides|ten en cuenta"
    r"|souviens-toi|rappelle-toi|n'oublie pas|retiens"
    r"|ricorda(?:ti)?|non dimenticare|lembre(?:-se)?|lembra|não (?:se )?esqueça"
    r"|onthou|vergeet niet|zapamiętaj|nie zapomnij"
    r"|запомни(?:те)?|не забудь(?:те)?|помни|记住|記住|别忘了|別忘了|请记得|覚えておいて|忘れないで|기억해(?: ?줘)?"
    r")(?![a-zа-яё])",
    re.IGNORECASE,
)


def asks_to_remember(sentence: str) -> bool:
    """Return whether a sentence asks to remember what it says."""
    match = _ASKS.match(sentence)
    if not match or is_question(sentence):
        return False
    return size_of(sentence[match.end() :]) >= MIN_SIZE
