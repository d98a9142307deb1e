"""The task ``epistemic``: who was told what, suspects, believes, doesn't know it, or hides it from whom.

Only what a sentence says in so many words counts; nothing is concluded from who was there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.builtin.phrases import noun_phrase
from apps.builtin.statements import Statement, person_meant, statements_of, subjects
from apps.extraction.parsers.epistemic import HIDING, KnowledgeLine, print_knowledge, print_retired
from apps.extraction.parsers.text_cleanup import clean_line, clean_name
from apps.llm.generation import GenerationRequest
from apps.memories.wording import content_words, jaccard, split_speaker

MOST_NEW = 12
SAME = 0.7  # Jaccard index from which two entries are the same
OVERTAKEN = 0.5  # share of the shorter one's words from which knowing ends not knowing
LEAST_FACT = 2  # words of meaning
_WHOM = r"(?P<whom>me|you|him|her|us|[^\W\d_a-z][\w-]*(?: [^\W\d_a-z][\w-]*)?)"
_ABOUT = r"(?:that|about|of|how|why|where|who|what|when)\b"

_TOLD = re.compile(
    rf"\b(?:told|tells|informed|informs|warned|warns|reminded|confessed to|confesses to|admitted to|admits to|"
    rf"revealed to|reveals to|explained to|explains to|let slip to) {_WHOM} (?P<fact>{_ABOUT}[^.!?;]*)"
)
_WITHHELD = re.compile(
    rf"(?:\bnever|\b(?:has|have|had|did|do|does)(?: not|n['’]t)(?: ever| yet)?) (?:told|tell|informed|warned|warn|"
    rf"said anything to|say anything to) {_WHOM}(?: (?P<fact>{_ABOUT}[^.!?;]*))?"
)
_LIED = re.compile(rf"\b(?:lied|lies|lying) to {_WHOM} (?P<fact>about\b[^.!?;]*)")
_HIDES = re.compile(
    r"\b(?:hides?|hid|hiding|conceals?|concealed|concealing|keeps?|kept|keeping|withholds|withheld)\s+(?=\w)"
)
_FROM = re.compile(rf"\s*(?:a secret |hidden |secret )?from {_WHOM}(?!['’\w])")
_STATES: list[tuple[str, re.Pattern[str]]] = [
    (kind, re.compile(pattern))
    for kind, pattern in [
        ("unaware", rf"(?:\b(?:do|does|did|is|am|are|was|were)(?: not|n['’]t)(?: yet| even)? (?:know|realise|realize|"
                    rf"suspect|aware|remember learning))\b (?:of )?(?P<fact>{_ABOUT}[^.!?;]*)"),
        ("unaware", r"\b(?:has|have|had|with) no idea (?P<fact>[^.!?;]+)"),
        ("unaware", r"\b(?:is|am|are|was|were|remains) (?:unaware|oblivious|ignorant)(?: of| that|"
                    r" to)? (?P<fact>[^.!?;]+)"),
        ("unaware", rf"\bnever (?:knew|learned|learnt|suspected|found out) (?P<fact>{_ABOUT}[^.!?;]*)"),
        ("suspects", r"\b(?:suspects?|suspected|wonders (?:if|whether)|wondered (?:if|whether)|wonder (?:if|whether)|"
                     r"(?:has|have|had) a (?:hunch|feeling|suspicion)) (?:that )?(?P<fact>[^.!?;]+)"),
        ("believes", r"\b(?:believes?|believed|(?:is|am|are|was|were) (?:convinced|certain|sure)|mistakenly thinks|"
                     r"mistakenly thought) (?:that )?(?P<fact>(?!in\b|it\b|me\b|you\b|him\b|her\b|this\b|"
                     r"so\b)[^.!?;]+)"),
        ("knows", r"\b(?:knows|knew|learns|learned|learnt|discovers|discovered|realises|realised|realizes|realized|"
                  r"overhears|overheard|found out|finds out|figured out) (?P<fact>(?:that|who|where|why|"
                  r"about)\b(?! the hard way)[^.!?;]+)"),
    ]
]  # fmt: skip
_THINKS = re.compile(r"\b(?:thinks|thought) (?:that )?(?P<fact>(?!of\b|about\b|to\b|it\b|so\b|for\b|back\b)[^.!?;]+)")
_CONFESSES = re.compile(
    r"\b(?:(?:i (?:must |have to |need to |should )?(?:confess|admit))|the truth is|truth is|i(?:['’]ve|"
    r" have)? never told (?:you|anyone|anybody)|my real name|i(?:['’]ve| have) been (?:lying|hiding)|my secret is)\b",
    re.IGNORECASE,
)
_UNSAID = re.compile(
    r"\b(?:want|wants|wanted|going|plan\w*|should|must|need\w*|have|has|had) to\s*$|\b(?:not|never|n['’]t|if)\s*$"
)
_LEAD = re.compile(r"^(?:that|about|of)\s+", re.IGNORECASE)
_VAGUE = re.compile(
    r"^(?:it|that|this|everything|something|anything|so|what)\b\W*$|^(?:what|how|where) to\b", re.IGNORECASE
)
_PRONOUN = re.compile(r"\b(?:i|me|my|you|your|he|she|him|her|his|they|their|it|we|us|our)\b", re.IGNORECASE)


@dataclass
class _Book:
    """What is known of whom, while the sentences are gone through."""

    entries: list[tuple[int | None, KnowledgeLine]] = field(default_factory=list)
    retired: list[int] = field(default_factory=list)

    def add(self, line: KnowledgeLine) -> None:
        """Knowing ends not knowing and suspecting; who knows already isn't unaware again."""
        if any(_same(line, entry) or (line.kind != HIDING and _knows_it(entry, line)) for _, entry in self.entries):
            return
        over = [item for item in self.entries if _knows_it(line, item[1])]
        self.retired += [number for number, _ in over if number is not None]
        self.entries = [item for item in self.entries if item not in over]
        self.entries.append((None, line))


def epistemic(request: GenerationRequest) -> str:
    """What the turns say of anybody's knowledge, and the numbers of the known entries that it ends."""
    book = _Book([(one["number"], _known(one)) for one in request.material.get("known", ())])
    for line in _told(statements_of(request.material)):
        book.add(line)
    lines = [print_knowledge(line) for number, line in book.entries if number is None]
    if book.retired:
        lines.append(print_retired(tuple(dict.fromkeys(book.retired))))
    return "\n".join(lines) or "NONE"


def _known(entry: Mapping[str, Any]) -> KnowledgeLine:
    return KnowledgeLine(entry["kind"], entry["subject"], entry.get("target") or "", entry["text"])


def _told(statements: Sequence[Statement]) -> list[KnowledgeLine]:
    found = [line for statement in statements for line in _lines(statement)]
    cleaned = [
        KnowledgeLine(one.kind, clean_name(one.subject), clean_name(one.target), clean_line(one.text)) for one in found
    ]
    return [line for line in cleaned if line.subject and len(content_words(line.text)) >= LEAST_FACT][:MOST_NEW]


def _same(one: KnowledgeLine, two: KnowledgeLine) -> bool:
    mine = (one.kind, one.subject.casefold(), one.target.casefold())
    return mine == (two.kind, two.subject.casefold(), two.target.casefold()) and jaccard(one.text, two.text) >= SAME


def _knows_it(line: KnowledgeLine, other: KnowledgeLine) -> bool:
    """Whether by ``line`` somebody knows what by ``other`` they don't know, suspect, or have hidden from them."""
    ignorant = other.target if other.kind == HIDING else other.subject
    if line.kind != "knows" or other.kind not in ("unaware", "suspects", HIDING) or not ignorant:
        return False
    if line.subject.casefold() != ignorant.casefold():
        return False
    one, two = (content_words(split_speaker(text)[1]) for text in (line.text, other.text))
    return len(one & two) >= max(1, OVERTAKEN * min(len(one), len(two)))


def _lines(statement: Statement) -> Iterator[KnowledgeLine]:
    if statement.asks:
        return
    yield from _hidden(statement)
    yield from _told_to_somebody(statement)
    for kind, pattern in (*_STATES, *([("suspects", _THINKS)] if statement.narrated else [])):
        match = pattern.search(statement.text)
        if match and _is_news(kind, match["fact"], statement) and (fact := _fact(match, statement)):
            yield from (KnowledgeLine(kind, who, "", fact) for who in subjects(statement, match.start()))
            break
    confesses = statement.sentence.spoken and _CONFESSES.search(statement.text)
    if confesses and statement.hearer and len(statement.sentence.words) >= 5:
        yield KnowledgeLine("knows", statement.hearer, "", statement.quoted)


def _is_news(kind: str, clause: str, statement: Statement) -> bool:
    """Whether it is more than an opinion: what people say that they know or believe has to be about somebody."""
    named = any(person in statement.named for person in statement.cast.people_in(f", {clause}"))
    return statement.narrated or kind in ("unaware", "suspects") or named


def _told_to_somebody(statement: Statement) -> Iterator[KnowledgeLine]:
    match = _TOLD.search(statement.text)
    if match is None or _UNSAID.search(statement.text[: match.start()]):
        return
    fact = _fact(match, statement)
    for teller in subjects(statement, match.start()) if fact else ():
        for hearer in person_meant(match["whom"], statement, match.start()):
            if hearer != teller:
                yield KnowledgeLine("knows", hearer, "", fact)


def _hidden(statement: Statement) -> Iterator[KnowledgeLine]:
    text = statement.text
    for pattern in (_WITHHELD, _LIED):
        match = pattern.search(text)
        fact = _fact(match, statement) if match and match["fact"] else ""
        if match and fact:
            yield from _hiding(statement, match.start(), match["whom"], fact)
    for match in _HIDES.finditer(text):
        thing = noun_phrase(text, match.end())
        whom = _FROM.match(text, match.end() + len(thing)) if thing else None
        if whom:
            clear = _plain(thing) and len(content_words(thing)) >= LEAST_FACT
            yield from _hiding(statement, match.start(), whom["whom"], thing if clear else statement.quoted)


def _hiding(statement: Statement, position: int, whom: str, fact: str) -> Iterator[KnowledgeLine]:
    for hider in subjects(statement, position):
        for target in person_meant(whom, statement, position):
            if hider != target:
                yield KnowledgeLine(HIDING, hider, target, fact)


def _fact(match: re.Match[str], statement: Statement) -> str:
    """What is known, in the sentence's own words: the clause where it stands for itself, else the whole sentence."""
    clause = match["fact"].strip(" ,'’*")
    if _VAGUE.match(clause) or len(content_words(clause)) < 1:
        return ""
    stripped = _LEAD.sub("", clause)
    return stripped if _plain(stripped) and len(content_words(stripped)) >= LEAST_FACT else statement.quoted


def _plain(clause: str) -> bool:
    """Whether a clause says whom it is about: a pronoun in it would stand for nobody."""
    return not _PRONOUN.search(clause)
