"""What kind of telling a cue stands in. Only what happens in the story now moves it to another scene; plans, habits,
guesses and what is remembered do not. Pure."""

import re

_PLAN = (
    r"will|shall|won't|\w+'ll|gonna|going to|would|wouldn't|\w+'d be|should|must|may|might|plan|plans|planned|planning"
    r"|intend(?:s|ed)?|hop(?:e|es|ed|ing)|want(?:s|ed)?|wish(?:es|ed)?|promis(?:e|es|ed|ing)|agree[ds]?|arrang\w+"
    r"|about to"
    r"|ready|prepar\w+|expect\w*|due|schedul\w+|suppos\w+|wait(?:s|ed|ing)?|until|till|tomorrow|let's|need(?:s|ed)? to"
    r"|have to|has to|vow(?:s|ed)?|swears?|swore|postpon\w+|ask(?:s|ed|ing)?|invit\w+|suggest\w*|offer(?:s|ed)?|tries"
    r"|tried|try|trying|meant to|book(?:s|ed) |consider\w*|dread\w*|look(?:s|ed|ing) forward"
)
_GUESS = (
    r"if|unless|whether|imagin\w+|wonder\w*|as though|like|than|perhaps|maybe|could|couldn't|can|can't|cannot|whoever"
    r"|wherever|in case|pretend\w*|threaten\w*|fear(?:s|ed)?|worr\w+"
)
_OFTEN = (
    r"always|usually|often|normally|typically|sometimes|whenever|used to|daily|nightly|weekly|rarely|seldom"
    r"|once a (?:day|week|month|year)|twice a \w+|(?:most|some|on|many) (?:morning|evening|night|day)s|in the \w+ings"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days|habit|routine|tradition\w*|generally|occasionally|never"
)
_HABIT = rf"every|each|{_OFTEN}"
_RECALL = (
    r"remember\w*|recall\w*|ago|memor(?:y|ies)|once|last (?:night|week|month|year|spring|summer|autumn|fall|winter|time"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|yesterday|earlier|previous\w*|the (?:night|day|week"
    r"|year)"
    r" before|back when|in those days|as a (?:girl|boy|child|kid|student)|thought back|thinks back|reminds?|reminded"
    r"|nostalgi\w+|when (?:he|she|i|they|we) (?:was|were) (?:a |an |\w+ years|young|little|small|still a)"
)
_REPORT = (
    r"says|said|saying|tells|told|telling|explain\w*|describ\w+|mention\w*|claim\w*|wrote|writes|writing|read|reads"
    r"|reading|story|stories|legend|tale|letter|book|film|movie|song|dream\w*|reported|swear|insist\w*|report|reports"
    r"|admit\w*|announc\w+|repl\w+|answer\w*|whisper\w*|texts?|texted|knew|knows|know|believ\w+|think|thinks|thought"
)
_NOT = r"not|\w+n't|without|instead of|rather than|before (?:he|she|they|i|we|you|it|the)|nowhere|no one|nobody"


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'])(?:{'|'.join(alternatives)})(?![\w'-])", re.IGNORECASE)


_ASIDE = re.compile(
    r"\bas (?:always|usual|ever|every)\b|\bonce (?:more|again|they|he|she|i|we|you|the)\b", re.IGNORECASE
)
_BEFORE = _words(_PLAN, _GUESS, _HABIT, _RECALL, _REPORT, _NOT, r"had|has been|have been|\w+'d|as if")
_BEFORE_TIME = _words(_PLAN, _GUESS, _HABIT, _RECALL, _REPORT, r"had|\w+'d|as if")
_AFTER = _words(
    r"will|shall|won't|\w+'ll|gonna|going to|would|should|must|may|might|tomorrow|let's|if|unless|usually|always|often",
    r"every|each (?:day|night|week|year|morning)|used to|sometimes|typically|normally|never|is supposed to",
)
_NOT_NOW = _words(
    _OFTEN,
    r"(?:every|each) (?:other )?(?:day|night|morning|evening|afternoon|week|month|year|time|spring|summer|autumn"
    r"|winter)",
    r"(?:every|each) (?:mon|tues|wednes|thurs|fri|satur|sun)day|will|won't|\w+'ll|would|used to|should|could|can|may"
    r"|might|perhaps|maybe|if|unless|ago|remember\w*|recall\w*",
    r"last (?:night|week|month|year)",
)
_PAST = _words(r"ago|yesterday|last (?:night|week|month|year)|in those days|when \w+ was (?:young|a \w+)")
_RECALLED = _words(
    r"(?:he|she|i|they|we|you|(?-i:[A-Z])[a-z]+) (?:\w+ly |still |could |can )?(?:remember|recall)\w*|memories|ago"
    r"|thought back"
    r"|thinks back|used to|dream(?:s|ed|t|ing)?",
    r"as a (?:girl|boy|child|kid)|(?:tells?|told|telling) (?:\w+ )(?:about|of|how)|(?:story|tale|legend) (?:of|about)",
    r"years? before|back then|in those days|last (?:night|week|month|year|summer|winter|spring|autumn)|imagin\w+",
    r"once upon a time|every (?:day|night|morning|evening|week|year|spring|summer|autumn|winter)|flashback",
)
_CLAUSE = re.compile(
    r"[;:—–❝]|,? (?:and|but|because|who|whom|which|where|while|that|knowing|realising|realizing|to find|as)\b"
)
_LEAST = 12  # characters of a clause, at least


def before_veto(text: str) -> bool:
    """Whether the words before a cue of a place or of waking take it out of what happens now."""
    return bool(_BEFORE.search(_ASIDE.sub("", text)))


def before_time_veto(text: str) -> bool:
    return bool(_BEFORE_TIME.search(_ASIDE.sub("", text)))


def after_veto(text: str) -> bool:
    """Whether the clause that follows a cue tells of what will be, may be, or is so again and again."""
    return bool(_AFTER.search(_ASIDE.sub("", clause(text))))


def habitual(text: str) -> bool:
    """Whether a sentence tells what is so again and again, may be, or was before."""
    return bool(_NOT_NOW.search(_ASIDE.sub("", clause(text))))


def tells_of_the_past(text: str) -> bool:
    return bool(_PAST.search(text))


def recalls(text: str) -> bool:
    """Whether a sentence opens a recollection, a tale or a habit, in which the next ones go on."""
    return bool(_RECALLED.search(text))


def clause(text: str) -> str:
    """``text`` up to the end of its first clause; a comma right after the cue ends none."""
    match = _CLAUSE.match(text) or _CLAUSE.search(text, _LEAST)
    return text[: match.start()] if match else text
