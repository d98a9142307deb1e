"""Recognise by closed lists of words, in several languages, sentences that ask to be remembered or refer back."""

import re
from collections.abc import Sequence

from apps.builtin.reading.tokens import is_question, size_of

MIN_WANTED_SIZE = 3  # words of what is to be remembered
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
# Pronouns of the third person with which a sentence begins; closed classes, by script.
_BEGINNINGS = (
    r"(?:(?:and|but|so|also|yes|no|well|oh|und|aber|y|pero|et|mais|e|ma|mas|en|maar|и|а|но)\b[,\s]*)*"
    r"(?:(?:he|she|they|it|his|her|their|its|him|them|that|those|these|both"
    r"|er|sie|ihr|ihre|sein|seine|ihm|ihn|beide"
    r"|él|ella|ellos|ellas|su|sus|le|les"
    r"|il|elle|ils|elles|lui|leur|son|sa|ses"
    r"|lei|loro|suo|sua|ele|ela|eles|elas|seu|hij|zij|ze|zijn|haar|hun"
    r"|он|она|оно|они|его|её|ее|их|ему|ей|им|jego|jej|on|ona|oni|go|mu)(?![\w-])"
    r"|[他她它](?!人)|彼|それ|그는|그녀|걔)"
)
_REFERS_BACK = re.compile(rf"^\W*{_BEGINNINGS}", re.IGNORECASE)
_REFERS_BACK_WITHIN = re.compile(r"\b(?:he|she|him|they|them|the cause)\b", re.IGNORECASE)
_PERSON = re.compile(r"^\W*(?:(?:and|but|so|also|yes|no|well|oh)\b[,\s]*)*(?P<pronoun>he|she|his|her)\b", re.IGNORECASE)
_TELLS = re.compile(r"^[\w\s'’]{0,20}\byou\b|\b(?:hey|hi|hello)\b", re.IGNORECASE)


def asks_to_remember(sentence: str) -> bool:
    """Return whether a sentence asks to remember what it says."""
    match = _ASKS.match(sentence)
    if not match or is_question(sentence):
        return False
    return size_of(sentence[match.end() :]) >= MIN_WANTED_SIZE


def refers_back(text: str) -> bool:
    """Return whether a sentence has a pronoun whose meaning the sentence before may tell."""
    return bool(_REFERS_BACK.match(text) or _REFERS_BACK_WITHIN.search(text))


def may_be_antecedent(text: str) -> bool:
    """Return whether a sentence may tell whom the next one means: no question, and no greeting."""
    return not is_question(text) and not _TELLS.search(text)


def with_person(text: str, names: Sequence[str]) -> str:
    """Return a sentence with the person that its first pronoun means in brackets, if only one was named before."""
    match = _PERSON.match(text)
    if not match or len(names) != 1 or names[0] in text:
        return text
    return f"{text[: match.end()]} [{names[0]}]{text[match.end() :]}"
