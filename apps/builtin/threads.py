"""What a story leaves open, and what settles it: a quest and the finding, a debt and the payment. Pure."""

import re
from dataclasses import dataclass

from apps.builtin.statements import Statement
from apps.memories.wording import content_words, split_speaker, stem

_QUESTS = (
    "find|stop|save|reach|escape|kill|rescue|return|protect|deliver|destroy|break|warn|learn|prove|pay|win|"
    "solve|get|bring|defeat|free|catch|hunt|avenge|cure|heal|recover|retrieve|steal|leave|open|build|rebuild|"
    "finish|convince|discover|uncover|follow|cross|hide|raise|repay|marry|sell|buy|move|go back|figure out|"
    "track down|make it|take back|pass|apply|start|meet|write|visit|join|fix|repair|study|train|launch|"
    "organi[sz]e|help|guard|serve|keep|come back"
)
_BRIEF = (
    r"(?!(?:go to (?:bed|sleep|work)|get (?:going|back to|some|ready|up|home|off)|meet you|write you|leave (?:now|"
    r"soon)|start (?:over|again)|open (?:the|this|a) (?:door|window|bottle))\b)"
)
_TO = rf"{_BRIEF}(?P<verb>{_QUESTS})\b(?P<what>[^.!?;]*)"
OATH = 3.5
# What leaves something open, and how much it matters.
_OPENINGS: list[tuple[float, re.Pattern[str]]] = [
    (weight, re.compile(pattern, re.IGNORECASE))
    for weight, pattern in [
        (OATH, r"\b(?:swear|swears|swore|sworn|vow(?:s|ed)?|promise[sd]?|oath|gave (?:her|his|my|their) word)\b"
              rf"(?:[^.!?;,]*?\bto |[^.!?;]*?\b(?:will|would|['’]d|['’]ll) )(?:\w+ly )?{_TO}"),
        (3.0, r"\b(?:must|have to|has to|had to|need to|needs to|needed to|(?:ve|has|have) got to|(?:is|are|am|was|"
              r"were) determined to|mission "
              rf"is to|task is to|quest to|before it is too late to)(?: \w+ly)? {_TO}"),
        (3.0, r"\b(?:will|['’]ll|shall)(?: \w+ly)? (?P<verb>come back for|pay for|be back for|return for|hunt|kill|"
              r"destroy|avenge|burn)\b(?P<what>[^.!?;]*)"),
        (2.5, r"\b(?:who|what) (?:really |has |have )?(?P<verb>killed|murdered|stole|betrayed|took|poisoned|sent|set|"
              r"cursed|attacked|kidnapped)\b(?P<what>[^.!?;]*)"),
        (2.5, r"\b(?:nobody|no one|no-one) knows (?P<verb>who|where|why|how|what)\b(?P<what>[^.!?;]*)"),
        (2.0, r"\b(?:is|are|was|were|has been|have been|went|has gone) (?:still )?(?P<verb>missing|kidnapped|captive|"
              r"unsolved)\b(?P<what>)"),
        (2.0, r"\b(?P<verb>vanished|disappeared)\b(?P<what>)"),
        (2.0, r"\b(?P<verb>owes?|owed) (?P<what>(?:me|you|him|her|us|them|[A-Z][\w-]+)\b[^.!?;]*)"),
        (1.5, r"\b(?:plan(?:s|ned|ning)? to|(?:is|are|am|was|were|['’]m|['’]re|['’]s) (?:planning|hoping|trying|going|"
              r"about) to|intends? to|hopes? to|wants? to|decided to|dream of|dreams? is to|goal is to|"
              r"looking forward to|promised? to)"
              rf"(?: \w+ly)? {_TO}"),
        (1.5, r"\b(?P<verb>looking|searching|hunting) for (?P<what>[^.!?;]*)"),
        (1.5, r"\b(?P<verb>signed up for|applied for|applied to|enrolled in|training for|preparing for|"
              r"saving up for)\b(?P<what>[^.!?;]*)"),
    ]
]  # fmt: skip
# What nothing can be done with: a thread needs more than these.
VAGUE = frozenset(
    map(
        stem,
        """find way back thing something anything everything solution difference help people person chance time life
        live better good great lot bit more world others best done here there idea plan new next though too
        also soon""".split(),
    )
)
_MYSTERY = re.compile(r"\b(?:who|where|why|what happened)\b", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:do|does|did)(?: not|n['’]t) (?:have|need|want|plan)\b|\bno longer\b|\bdon['’]t have to\b|\bif\b|\bused to\b|"
    r"\balways\b|\bevery (?:day|time|week)\b",
    re.IGNORECASE,
)
# Whatever is said of these shows how it came out.
_OUTCOMES = {
    "find": "found discovered recovered located", "look": "found", "search": "found", "hunt": "found caught killed",
    "track down": "found caught", "discover": "found discovered learned learnt", "uncover": "found discovered",
    "recover": "recovered found", "retrieve": "recovered retrieved found", "get": "got", "steal": "stole stolen",
    "take back": "took", "bring": "brought", "deliver": "delivered gave", "save": "saved rescued freed",
    "rescue": "saved rescued freed", "free": "freed released", "kill": "killed died dead slain",
    "defeat": "defeated beat", "stop": "stopped defeated", "destroy": "destroyed", "avenge": "avenged",
    "catch": "caught", "reach": "reached arrived", "return": "returned arrived", "go back": "returned arrived",
    "escape": "escaped", "leave": "left", "pay": "paid repaid", "repay": "paid repaid",
    "owe": "paid repaid settled", "win": "won", "solve": "solved", "prove": "proved proven",
    "learn": "learned learnt", "break": "broke broken lifted", "cure": "cured healed",
    "heal": "healed cured recovered", "build": "built finished", "write": "wrote written finished", "buy": "bought",
    "sell": "sold", "meet": "met", "make it": "made", "figure out": "figured", "missing": "found returned back",
    "vanish": "found returned back", "disappear": "found returned back", "kidnapped": "freed rescued escaped",
    "captive": "freed rescued escaped", "killed": "confessed killer murderer",
    "murder": "confessed killer murderer", "stole": "confessed thief", "betray": "confessed traitor",
    "poison": "confessed poisoner", "train": "finished completed ran won", "sign up for": "finished completed",
    "apply": "accepted hired got rejected", "applied for": "accepted hired got rejected",
    "applied to": "accepted hired got rejected", "training for": "finished completed won ran",
    "preparing for": "finished passed completed", "saving up for": "bought", "looking": "found",
    "searching": "found", "hunting": "found caught killed",
}  # fmt: skip
_ALWAYS = frozenset("succeeded managed fulfilled accomplished completed finished".split())
_NOT_DONE = re.compile(
    r"\b(?:hop(?:e|es|ed|ing)|wish\w*|maybe|perhaps|imagine\w*|dream\w*|pretend\w*|not|never|nearly|almost|if|unless|"
    r"until|before|will|would|must|might|could|should|to be|can|once|nobody|no one)\b|n['’]t\b|['’]ll\b|\b(?:have|has|"
    r"need|needs|want|wants|going|try|trying|plan|plans) to\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Thread:
    """What is left open: ``verb`` is to be done with what ``words`` name."""

    text: str
    verb: str
    words: frozenset[str]
    weight: float


def thread_in(statement: Statement) -> Thread | None:
    """The thread that a sentence opens."""
    text = statement.text
    if _DENIED.search(text) or (statement.asks and not (_MYSTERY.search(text) and statement.named)):
        return None
    return _thread(statement.quoted, text)


def thread_of(text: str) -> Thread | None:
    """The thread that an arc's text speaks of."""
    return _thread(text, split_speaker(text)[1])


def _thread(quoted: str, text: str) -> Thread | None:
    for weight, pattern in _OPENINGS:
        match = pattern.search(text)
        if match:
            what = match["what"] or text[: match.start()]
            words = content_words(" ".join(what.split()[:7])) - VAGUE
            if not words and weight == OATH:
                words = frozenset([stem(match["verb"].casefold())])
            return Thread(quoted, match["verb"].casefold(), words, weight) if words else None
    return None


def settles(statement: Statement, thread: Thread) -> bool:
    """Whether a sentence tells that it is done: what the thread is about, with a word for how it came out."""
    if statement.asks or _NOT_DONE.search(statement.text):
        return False
    said = content_words(statement.text)
    outcomes = (
        _OUTCOMES.get(thread.verb) or _OUTCOMES.get(stem(thread.verb)) or f"{thread.verb}ed {stem(thread.verb)}ed"
    )
    done = {word.casefold() for word in statement.sentence.words} & (set(outcomes.split()) | _ALWAYS)
    shared = thread.words & said
    return bool(done) and len(shared) >= max(1, (len(thread.words) + 1) // 2 if len(thread.words) < 4 else 2)
