"""Find the open threads of a story (quest, promise, debt, mystery) and what resolves them. Without database access."""

import re
from dataclasses import dataclass

from apps.builtin.phrases import clause_from
from apps.builtin.statements import Statement
from apps.english.clauses import split_speaker
from apps.english.lexicon import stem
from apps.english.words import content_words

OATH_WEIGHT = 3.5
MIN_WORDS = 2  # minimum number of content words of an intention
_COMMON_VERBS = (
    "be|go|get|have|say|tell|know|hear|see|ask|thank|sleep|leave|come|start|do|make|let|show|feel|stay|try|admit"
)
_VERB = rf"(?: \w+ly)? (?!(?:{_COMMON_VERBS}|it|me|you|him|her|them|us|the|an?|my|his|their|our)\b)(?P<verb>\w+)\b"
_OBJECT = r"(?P<object>[^.!?;]*)"
_TO = rf" to{_VERB}{_OBJECT}"
_VOWS = r"\b(?:sw(?:ears?|ore|orn)|vow(?:s|ed)?|promise[sd]?)\b"
# Patterns of sentences that open a thread, with its importance.
_OPENINGS: list[tuple[float, re.Pattern[str]]] = [
    (weight, re.compile(pattern, re.IGNORECASE))
    for weight, pattern in (
        (OATH_WEIGHT, rf"(?:{_VOWS}|\boath\b)[^.!?;,]*?{_TO}"),
        (OATH_WEIGHT, rf"{_VOWS}[^.!?;]*?(?:\b(?:will|would)|['’]ll){_VERB}{_OBJECT}"),
        (3.0, rf"\b(?:must|(?:mission|task) is to|quest to){_VERB}{_OBJECT}"),
        (3.0, rf"\b(?:have|has|(?<!the )needs?|determined){_TO}"),
        (3.0, rf"\b(?:i|we|he|she|you)(?: will| shall|['’]ll) (?P<verb>come back|be back|return|hunt|kill)\b{_OBJECT}"),
        (2.5, rf"\bwho (?:really |has |have )?(?P<verb>killed|murdered|stole|betrayed|poisoned|cursed)\b{_OBJECT}"),
        (2.5, rf"\b(?:nobody|no one) knows (?P<verb>who|where|why|how|what)\b{_OBJECT}"),
        (2.0, r"\b(?P<verb>missing|kidnapped|vanished|disappeared)$(?P<object>)"),
        (2.0, r"\b(?P<verb>owes?|owed) (?P<object>(?:me|you|him|her|us|them|[A-Z][\w-]+)\b[^.!?;]*)"),
        (1.5, rf"\b(?:plan(?:s|ned|ning)?|hoping|trying|going|about|intends?|hopes|wants?|decided|goal is){_TO}"),
        (1.5, rf"\b(?P<verb>planning|(?:looking|searching|training|preparing|saving) for)(?! to\b){_OBJECT}"),
    )
]  # fmt: skip
_MYSTERY = re.compile(r"\b(?:who|where|why|what happened)\b", re.IGNORECASE)
_DENIED_OR_HABITUAL = re.compile(
    r"\b(?:do|does|did)(?: not|n['’]t) (?:have|need|want|plan)\b|\b(?:no longer|if|used to|always|every)\b",
    re.IGNORECASE,
)
# Objects without a noun: no later sentence can be recognised as their outcome.
_VAGUE = re.compile(
    r"\b(?:it|that|them|they|their|something|things?|everything|better|difference|way)\b", re.IGNORECASE
)
_TIME_CLAUSE = re.compile(r"\b(?:before|until|by|when|after|so that)\b", re.IGNORECASE)
# Verbs that report an outcome, whatever the thread's own verb.
_OUTCOMES = frozenset(
    """found paid repaid saved rescued freed killed dead died won solved proved kept returned reached arrived escaped
    broken broke bought sold built healed cured caught confessed met settled succeeded managed fulfilled finished
    completed""".split()
)
_UNREAL = re.compile(
    r"\b(?:hop(?:e|es|ed|ing)|wish\w*|maybe|perhaps|imagine\w*|dream\w*|pretend\w*|not|never|nearly|almost|if|unless|"
    r"until|before|will|would|must|might|could|should|to be|can|once|nobody|no one)\b|n['’]t\b|['’]ll\b|\b(?:have|has|"
    r"need|needs|want|wants|going|try|trying|plan|plans) to\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Thread:
    """Open thread. ``verb`` names the action still to be done, ``words`` are the content words of its object."""

    text: str
    verb: str
    words: frozenset[str]
    weight: float


def find_thread(statement: Statement) -> Thread | None:
    """Return the thread that a statement opens, or None."""
    text = statement.text
    if _DENIED_OR_HABITUAL.search(text) or (statement.is_question and not (_MYSTERY.search(text) and statement.named)):
        return None
    return _thread(statement.quoted, text)


def parse_thread(text: str) -> Thread | None:
    """Return the thread that the text of an arc states, or None."""
    return _thread(text, split_speaker(text)[1])


def _thread(quoted: str, text: str) -> Thread | None:
    for weight, pattern in _OPENINGS:
        match = pattern.search(text.rstrip(".!…"))
        if match:
            object_text = match["object"] or text[: match.start()]
            words = content_words(" ".join(_TIME_CLAUSE.split(object_text)[0].split()[:7]))
            if weight == OATH_WEIGHT:
                words = words or content_words(match["verb"])
            elif _VAGUE.search(object_text):
                return None
            min_words = MIN_WORDS if weight < 2 else 1
            return Thread(quoted, match["verb"].casefold(), words, weight) if len(words) >= min_words else None
    return None


_GOAL_VERBS = re.compile(
    r"\b(?:(?:wants?|intends?|plans?|hopes?|vows?|vowed|swears|swore|trying|determined|planning) to\s+|"
    r"(?=(?:looking|searching|hunting) for\s))"
)


def find_goal(text: str) -> tuple[int, str] | None:
    """Return the position of the verb and the words of the goal that a sentence states, or None."""
    match = _GOAL_VERBS.search(text)
    goal = clause_from(text, match.end()) if match else ""
    return (match.start(), goal) if match and parse_thread(text) and len(content_words(goal)) > MIN_WORDS else None


def resolves(statement: Statement, thread: Thread) -> bool:
    """Return whether a sentence reports the outcome of a thread and shares enough of its words."""
    if statement.is_question or _UNREAL.search(statement.text):
        return False
    words = {word.casefold() for word in statement.sentence.words}
    outcome = words & _OUTCOMES or any(word.endswith("ed") and stem(word) == stem(thread.verb) for word in words)
    min_shared = max(1, (len(thread.words) + 1) // 2 if len(thread.words) < 4 else 2)
    return bool(outcome) and len(thread.words & content_words(statement.text)) >= min_shared
