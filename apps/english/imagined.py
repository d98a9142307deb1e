"""Recognise statements about what is only imagined: conditions that don't hold, wishes, dreams, parts in plays."""

import re

_START = r"^\W*(?:(?:and|but|so|well|oh|now|okay|yes|no|just)\b[\s,]*)*"
# "Suppose my father was a king", "Let's pretend I am a pirate", "What if I lived in Rome"
_FRAME = re.compile(
    rf"{_START}(?:let(?: us|['’]?s) )?(?:suppos(?:e|ing)|imagin(?:e|ing)|pretend|assum(?:e|ing)|picture|what if|if only"
    r"|say I)\b",
    re.IGNORECASE,
)
# A clause of which somebody wishes, dreams or pretends that it holds. "I dream of the sea" has none.
_SUBJECT = r"(?:I|we|he|she|it|they|you|my|our|his|her|their|the|there|(?-i:[A-Z]\w+))\b"
_WISH = re.compile(
    r"\b(?:wish(?:es|ed)?|dream(?:s|t|ed)?|imagin(?:e[sd]?|ing)|pretend(?:s|ed|ing)?)\s+"
    rf"(?:that\s+|in which\s+)?{_SUBJECT}",
    re.IGNORECASE,
)
_IF = r"(?:if|unless|as though)\b"
_WOULD = r"(?:\b(?:would|could|might)(?:n['’]t)?\b|\b(?:I|we|you|he|she|it|they)['’]d\b)"
# "If I moved, I would buy a boat", "I would buy one if I could", "If I were you", "Had I known, I would have left".
# What stands before may hold ("I live in Oslo, but if I could …"); "He asked if I would come" is a question retold.
_UNREAL = re.compile(
    rf"{_START}{_IF}[^.!?]*{_WOULD}|{_START}(?:\w+\s+){{0,3}}{_WOULD}[^.!?]*\b{_IF}"
    rf"|{_START}{_IF}\s+(?:I|he|she|it|my \w+)\s+were\b|^\W*(?:were|had|should)\s+{_SUBJECT}[^.!?]*{_WOULD}",
    re.IGNORECASE,
)
_WORK = (
    r"in (?:the|an?|my|our|this|that|his|her|their|another) (?:(?:\w+ )?(?:play|film|movie|novel|story|dream|game|show|"
    r"musical|opera|sketch|role-?play)|(?:next |past |previous |other |parallel )?(?:life|universe))\b"
)
_ENDS = rf"(?=\W*$|[,;.!?]|\s+{_SUBJECT})"  # "in the film" but not "in the film industry"
_IN_A_WORK = re.compile(
    rf"{_START}(?:{_WORK}|on stage\b){_ENDS}"
    rf"|\b(?:am|is|are|was|were|['’]m|will be) (?:an?|the) [^.!?]*\b{_WORK}{_ENDS}",
    re.IGNORECASE,
)
_ROLE = re.compile(rf"{_START}my (?:character|role|part|avatar)\b", re.IGNORECASE)
_IN_THIS_LIFE = re.compile(r"\bin (?:my|our|his|her|their) life\b", re.IGNORECASE)


def is_imagined(text: str) -> bool:
    """Return whether a statement says how things would be, are in a dream or a play, or are wished to be."""
    if any(pattern.search(text) for pattern in (_FRAME, _WISH, _UNREAL, _ROLE)):
        return True
    return bool(_IN_A_WORK.search(_IN_THIS_LIFE.sub("", text)))
