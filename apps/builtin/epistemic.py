"""Task ``epistemic``: who was told what, suspects, believes, doesn't know it, or hides it from whom.

Only what a sentence says in so many words counts; nothing is concluded from who was there.
"""

import re
from collections.abc import Iterator

from apps.builtin.statements import Statement, person_meant, statements_of, subjects
from apps.english.clauses import split_speaker
from apps.english.words import content_words, jaccard
from apps.extraction.parsers.epistemic import HIDING, KnowledgeLine, print_knowledge, print_retired
from apps.extraction.parsers.text_cleanup import clean_line, clean_name
from apps.llm.generation import GenerationRequest

MOST_NEW = 12
SAME = 0.7  # Jaccard index from which two entries are the same
OVERTAKEN = 0.5  # share of the shorter one's words from which knowing ends not knowing
LEAST_FACT = 2  # words of meaning
_WHOM = r"(?P<whom>me|you|him|her|us|[^\W\d_a-z][\w-]*(?: [^\W\d_a-z][\w-]*)?)"
_FACT = r"(?P<fact>(?:that|about|of|how|why|where|who|what|when)\b[^.!?;]*)"
_NOT = r"\b(?:do|does|did|is|am|are|was|were|has|have|had)(?: not|n['’]t)(?: yet| even| ever)? "
_TOLD = re.compile(
    rf"\b(?:told|tells|informed|informs|warned|warns|(?:confess|admitt|reveal|explain)(?:ed|s) to) {_WHOM} {_FACT}"
)
_WITHHELD = re.compile(rf"(?:\bnever |{_NOT})(?:told|tell|informed|warned|warn) {_WHOM} {_FACT}")
_LIED = re.compile(rf"\b(?:lied|lies|lying) to {_WHOM} (?P<fact>about\b[^.!?;]*)")
_HIDES = re.compile(
    r"\b(?:hides?|hid|hiding|conceal(?:s|ed|ing)?|keeps?|kept|keeping|withholds|withheld)\s+"
    r"(?P<thing>\w+(?: [\w'’-]+){0,5}?)"
    rf" (?:secret |hidden )?from {_WHOM}(?!['’\w])"
)
_STATES = [
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("unaware", rf"{_NOT}(?:know|realise|realize|suspect|aware)\b (?:of )?{_FACT}"),
        ("unaware", r"\b(?:has|have|had|with) no idea (?P<fact>(?:that|who|where|about)\b[^.!?;]+)"),
        ("unaware", rf"\bnever (?:knew|learned|learnt|suspected|found out) {_FACT}"),
        ("suspects", r"\b(?:suspects?|suspected|wonders? (?:if|whether)|wondered (?:if|whether)) (?P<fact>[^.!?;]+)"),
        ("believes", r"\b(?:believes?|believed|(?:is|was|were) convinced|mistakenly thinks) (?P<fact>that [^.!?;]+)"),
        ("knows", r"\b(?:knows|knew|learns|learned|learnt|discover(?:s|ed)|reali[sz]e[sd]|overheard|found out) "
                  r"(?P<fact>(?:that|who|where|about)\b[^.!?;]+)"),
    )
]  # fmt: skip
_CONFESSES = re.compile(
    r"\b(?:i (?:must |have to |need to |should )?(?:confess|admit)|the truth is|i(?:['’]ve| have)? never told you|"
    r"my real name|i(?:['’]ve| have) been (?:lying|hiding)|my secret is)\b",
    re.IGNORECASE,
)
_UNSAID = re.compile(r"\b(?:want\w*|going|plan\w*|should|must|need\w*|ha[vsd]e?) to\s*$|\b(?:not|never|n['’]t|if)\s*$")
_LEAD = re.compile(r"^(?:that|about|of)\s+", re.IGNORECASE)
_VAGUE = re.compile(r"^(?:what|how|where|why|who)\b(?: to\b|$)", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:i|me|my|you|your|he|she|him|her|his|they|them|their|it|we|us|our|this)\b", re.IGNORECASE)


def epistemic(request: GenerationRequest) -> str:
    """Print what the turns say of anybody's knowledge, and the numbers of the known entries that it ends."""
    entries: list[tuple[int | None, KnowledgeLine]] = [
        (one["number"], KnowledgeLine(one["kind"], one["subject"], one.get("target") or "", one["text"]))
        for one in request.material.get("known", ())
    ]
    retired: list[int] = []
    for line in _told(statements_of(request.material)):
        if any(_same(line, entry) or (line.kind != HIDING and _knows_it(entry, line)) for _, entry in entries):
            continue
        over = [item for item in entries if _knows_it(line, item[1])]
        retired += [number for number, _ in over if number is not None]
        entries = [*(item for item in entries if item not in over), (None, line)]
    lines = [print_knowledge(line) for number, line in entries if number is None]
    if retired:
        lines.append(print_retired(tuple(dict.fromkeys(retired))))
    return "\n".join(lines) or "NONE"


def _told(statements: list[Statement]) -> list[KnowledgeLine]:
    found = [line for statement in statements if not statement.asks for line in _lines(statement)]
    cleaned = [
        KnowledgeLine(one.kind, clean_name(one.subject), clean_name(one.target), clean_line(one.text)) for one in found
    ]
    return [line for line in cleaned if line.subject and len(content_words(line.text)) >= LEAST_FACT][:MOST_NEW]


def _same(one: KnowledgeLine, two: KnowledgeLine) -> bool:
    mine = (one.kind, one.subject.casefold(), one.target.casefold())
    return mine == (two.kind, two.subject.casefold(), two.target.casefold()) and jaccard(one.text, two.text) >= SAME


def _knows_it(line: KnowledgeLine, other: KnowledgeLine) -> bool:
    """Return whether ``line`` tells that somebody knows what ``other`` says that they don't."""
    ignorant = other.target if other.kind == HIDING else other.subject
    if line.kind != "knows" or other.kind not in ("unaware", "suspects", HIDING) or not ignorant:
        return False
    one, two = (content_words(split_speaker(text)[1]) for text in (line.text, other.text))
    shared = len(one & two) >= max(1, OVERTAKEN * min(len(one), len(two)))
    return line.subject.casefold() == ignorant.casefold() and shared


def _lines(statement: Statement) -> Iterator[KnowledgeLine]:
    text = statement.text
    for match in filter(None, (_WITHHELD.search(text), _LIED.search(text))):
        yield from _between(HIDING, statement, match, _fact(match["fact"], statement))
    for match in _HIDES.finditer(text):
        yield from _between(HIDING, statement, match, _fact(match["thing"], statement) or statement.quoted)
    told = _TOLD.search(text)
    if told and not _UNSAID.search(text[: told.start()]):
        yield from _between("knows", statement, told, _fact(told["fact"], statement))
    yield from _states(statement)
    if (
        statement.sentence.spoken
        and statement.hearer
        and _CONFESSES.search(text)
        and len(statement.sentence.words) >= 5
    ):
        yield KnowledgeLine("knows", statement.hearer, "", statement.quoted)


def _states(statement: Statement) -> Iterator[KnowledgeLine]:
    """Yield what a sentence says that somebody knows or doesn't; speakers on themselves only give opinions."""
    for kind, pattern in _STATES:
        match = pattern.search(statement.text)
        if match and (fact := _fact(match["fact"], statement)):
            for who in subjects(statement, match.start()):
                if statement.narrated or who != statement.people.person(statement.sentence.speaker):
                    yield KnowledgeLine(kind, who, "", fact)
            return


def _between(kind: str, statement: Statement, match: re.Match[str], fact: str) -> Iterator[KnowledgeLine]:
    """Yield for each subject of the verb and each other that the other knows it, or that it is hidden from them."""
    for one in subjects(statement, match.start()):
        for other in person_meant(match["whom"], statement, match.start()):
            if fact and one != other:
                yield (
                    KnowledgeLine(HIDING, one, other, fact) if kind == HIDING else KnowledgeLine(kind, other, "", fact)
                )


def _fact(clause: str, statement: Statement) -> str:
    """Return a clause that stands for itself, else the whole sentence; empty where the clause says nothing."""
    clause = _LEAD.sub("", clause.strip(" ,'’*"))
    words = content_words(clause)
    if _VAGUE.match(clause) or not words:
        return ""
    return clause if len(words) >= LEAST_FACT and not _PRONOUN.search(clause) else statement.quoted
