"""Recognise sentences that add nothing: those that retell what somebody else said, or take back what was said."""

import re

from apps.english.clauses import split_speaker
from apps.english.differences import actuality_differs, identifiers_differ, negation_differs
from apps.english.words import content_words, jaccard

MIN_RETOLD = 0.65  # Jaccard index of two speeches that say the same

_SAID = r"(?:told|said|mentioned|explained|wrote|shared|confided|described|confessed)"
# "As you told me", "you mentioned that", "I remember you said", "as I recall", "if I remember correctly".
_RETELLS = re.compile(
    rf"\b(?:you(?:['’]ve| have| had)?(?: \w+ly| just| once| already)? {_SAID}\b(?! (?:nothing|no)\b)"
    r"|(?:as|like|if) (?:I (?:remember|recall|understand it)|memory serves)\b"
    r"|I (?:still |do |well )*(?:remember|recall) (?:that )?(?:you|your)\b"
    r"|(?:from|in) what you(?:['’]ve)? \w+)",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|we|our|us)\b(?! (?:remember|recall|know))", re.IGNORECASE)
_WHAT_WAS_SAID = (
    r"(?:(?:that|this|it|everything|all|anything|what(?:ever)?) )*"
    r"(?:(?:that )?(?:I|we)(?:['’]ve| have)?(?: just| ever)? (?:said|told|mentioned|wrote|asked)\b|about\b"
    r"|(?:that|this|it)\b\W*$)"
)
_TAKES_BACK = re.compile(
    r"^\W*(?:(?:please|actually|oh|no|ok(?:ay)?|well|so|and|but|just|sorry|wait|hey|\w+,)[\s,]+)*"
    r"(?:(?:can|could|would|will) you (?:please )?|I(?:['’]d| would)? (?:want|like|need) you to "
    r"|you (?:can|should|may) )?"
    rf"(?:(?:forget|disregard|ignore|erase|delete|remove|scratch|strike) {_WHAT_WAS_SAID}"
    r"|never ?mind (?:what|that|about)\b"
    r"|(?:do not|don['’]t) (?:remember|store|save|keep|note|record|memori[sz]e) (?:that|this|it|what|anything)\b"
    r"|I take (?:that|it|this) back\b)",
    re.IGNORECASE,
)


def retells(text: str) -> bool:
    """Return whether a sentence says that the listener has said it, as "As you told me, your sister lives in Osaka"."""
    return bool(_RETELLS.search(text))


def is_retold(old: str, new: str) -> bool:
    """Return whether ``new`` says in much the same words what somebody else says in ``old``, and not of themselves."""
    (speaker, speech), (other_speaker, other_speech) = split_speaker(old), split_speaker(new)
    if speaker == other_speaker or _is_of_oneself(other_speech):
        return False
    return jaccard(speech, other_speech) >= MIN_RETOLD and not _denies(speech, other_speech)


def brings_back(former: str, correction: str, new: str) -> bool:
    """Return whether ``new`` says nothing but what ``former`` said, with all that a correction has removed from it."""
    (speaker, speech), (other_speaker, other_speech) = split_speaker(former), split_speaker(new)
    if speaker != other_speaker and _is_of_oneself(other_speech):
        return False
    removed = content_words(former) - content_words(correction)
    said = content_words(_RETELLS.sub("", other_speech))
    return bool(removed) and removed <= said <= content_words(speech) and not _denies(speech, other_speech)


def _denies(old: str, new: str) -> bool:
    """Return whether one of two alike speeches denies the other, or has another name or number."""
    return any(differs(old, new) for differs in (negation_differs, actuality_differs, identifiers_differ))


def _is_of_oneself(speech: str) -> bool:
    return bool(_FIRST_PERSON.search(_RETELLS.sub("", speech)))


def takes_back(text: str) -> bool:
    """Return whether a sentence asks to forget what was said, as "Forget what I said about Osaka"."""
    return bool(_TAKES_BACK.match(text))
