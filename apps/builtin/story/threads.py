"""Find the open threads of a story (quest, promise, debt, mystery) and what resolves them. Without database access."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from apps.builtin.reading.phrases import clause_from
from apps.builtin.reading.statements import Statement
from apps.english.clauses import split_speaker
from apps.english.lexicon import stem
from apps.english.words import content_words, jaccard

MAX_OPEN = 4  # threads that one reading finds
MIN_CHARS = 16  # minimum length of a thread's text
MIN_THREAD_OVERLAP = 0.40  # Jaccard index from which two texts state the same thread
OATH_WEIGHT, INTENTION_WEIGHT = 3.5, 1.5
NAMED_WEIGHT, MAX_NAMED = 0.5, 2  # what each of the people that a sentence names adds to its thread's importance
MAX_OBJECT_WORDS = 7  # words after the verb that may belong to its object
MAX_SHARED = 2  # content words that an outcome must share with a thread, or half of them if it has fewer
MIN_WORDS = 2  # minimum number of content words of an intention
_COMMON_VERBS = (
    "be|go|get|have|say|tell|know|hear|see|ask|thank|sleep|leave|come|start|do|make|let|show|feel|stay|try|admit"
)
_VERB = rf"(?: \w+ly)? (?!(?:{_COMMON_VERBS}|it|me|you|him|her|them|us|the|an?|my|his|their|our)\b)(?P<verb>\w+)\b"
_OBJECT = r"(?P<object>[^.!?;]*)"
_TO = rf" to{_VERB}{_OBJECT}"
_VOWS = r"\b(?:sw(?:ears?|ore|orn)|vow(?:s|ed)?|promise[sd]?)\b"
# Patterns of sentences that open a thread, with its importance, each below a sentence that it matches.
_OPENINGS: list[tuple[float, re.Pattern[str]]] = [
    (weight, re.compile(pattern, re.IGNORECASE))
    for weight, pattern in (
        # I swear to find my brother.
        (OATH_WEIGHT, rf"(?:{_VOWS}|\boath\b)[^.!?;,]*?{_TO}"),
        # She vowed that she would burn the mill.
        (OATH_WEIGHT, rf"{_VOWS}[^.!?;]*?(?:\b(?:will|would)|['’]ll){_VERB}{_OBJECT}"),
        # We must reach the harbour by dawn.
        (3.0, rf"\b(?:must|(?:mission|task) is to|quest to){_VERB}{_OBJECT}"),
        # He has to repay the smith.
        (3.0, rf"\b(?:have|has|(?<!the )needs?|determined){_TO}"),
        # I will hunt the wolf.
        (3.0, rf"\b(?:i|we|he|she|you)(?: will| shall|['’]ll) (?P<verb>come back|be back|return|hunt|kill)\b{_OBJECT}"),
        # Who killed the miller?
        (2.5, rf"\bwho (?:really |has |have )?(?P<verb>killed|murdered|stole|betrayed|poisoned|cursed)\b{_OBJECT}"),
        # Nobody knows where the chest lies.
        (2.5, rf"\b(?:nobody|no one) knows (?P<verb>who|where|why|how|what)\b{_OBJECT}"),
        # My sister is missing.
        (2.0, r"\b(?P<verb>missing|kidnapped|vanished|disappeared)$(?P<object>)"),
        # Tom owes me two horses.
        (2.0, r"\b(?P<verb>owes?|owed) (?P<object>(?:me|you|him|her|us|them|[A-Z][\w-]+)\b[^.!?;]*)"),
        # She plans to rebuild the burnt copper mill.
        (INTENTION_WEIGHT,
         rf"\b(?:plan(?:s|ned|ning)?|hoping|trying|going|about|intends?|hopes|wants?|decided|goal is){_TO}"),
        # They are looking for the old bridge.
        (INTENTION_WEIGHT,
         rf"\b(?P<verb>planning|(?:looking|searching|training|preparing|saving) for)(?! to\b){_OBJECT}"),
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
            words = content_words(" ".join(_TIME_CLAUSE.split(object_text)[0].split()[:MAX_OBJECT_WORDS]))
            if weight == OATH_WEIGHT:
                words = words or content_words(match["verb"])
            elif _VAGUE.search(object_text):
                return None
            min_words = MIN_WORDS if weight == INTENTION_WEIGHT else 1
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
    min_shared = max(1, min(MAX_SHARED, (len(thread.words) + 1) // 2))
    return bool(outcome) and len(thread.words & content_words(statement.text)) >= min_shared


def open_threads(statements: Sequence[Statement]) -> list[Thread]:
    """Return at most MAX_OPEN threads that are open at the end, in the order of the chat."""
    threads: dict[int, Thread] = {}
    for position, statement in enumerate(statements):
        thread = find_thread(statement)
        resolved = thread and any(resolves(later, thread) for later in statements[position + 1 :])
        if thread and not resolved and len(thread.text) >= MIN_CHARS:
            threads[position] = thread
    chosen: dict[int, Thread] = {}

    def rank(position: int) -> float:
        return -threads[position].weight - NAMED_WEIGHT * len(statements[position].named[:MAX_NAMED])

    for position in sorted(threads, key=rank):
        if not any(jaccard(threads[position].text, other.text) >= MIN_THREAD_OVERLAP for other in chosen.values()):
            chosen[position] = threads[position]
    return [chosen[position] for position in sorted(list(chosen)[:MAX_OPEN])]


def find_resolution(text: str, statements: Sequence[Statement]) -> Statement | None:
    """Return the first sentence that resolves the thread stated by ``text``, or None.

    If the turns contain ``text``, only the sentences after it are searched.
    """
    thread = parse_thread(text)
    start = max((index + 1 for index, statement in enumerate(statements) if statement.quoted == text), default=0)
    return next((statement for statement in statements[start:] if thread and resolves(statement, thread)), None)
