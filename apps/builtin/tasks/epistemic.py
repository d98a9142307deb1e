"""Answer the task ``epistemic``: find who knows, suspects, believes, doesn't know or hides something.

Only explicit statements count; nobody is assumed to know a fact because they were present.
"""

import re
from collections.abc import Iterator

from apps.builtin.reading.statements import Statement, resolve_person, statements_of, subjects
from apps.english.clauses import split_speaker
from apps.english.words import content_words, jaccard
from apps.extraction.parsers.text_cleanup import clean_line, clean_name
from apps.extraction.tiers.epistemic import HIDING, KnowledgeLine, format_knowledge, format_retired
from apps.llm.generation import GenerationRequest

MAX_NEW = 12
MIN_ENTRY_OVERLAP = 0.7  # Jaccard index from which two entries count as the same
MIN_SHARED = 0.5  # share of the shorter entry's words from which two entries are about the same fact
MIN_FACT_WORDS = 2  # content words
MIN_CONFESSION_WORDS = 5
_WHOM = r"(?P<whom>me|you|him|her|us|[^\W\d_a-z][\w-]*(?: [^\W\d_a-z][\w-]*)?)"
_FACT = r"(?P<fact>(?:that|about|of|how|why|where|who|what|when)\b[^.!?;]*)"
_NOT = r"\b(?:do|does|did|is|am|are|was|were|has|have|had)(?: not|n['’]t)(?: yet| even| ever)? "
_INFORMS = re.compile(
    rf"\b(?:told|tells|informed|informs|warned|warns|(?:confess|admitt|reveal|explain)(?:ed|s) to) {_WHOM} {_FACT}"
)
_WITHHOLDS = re.compile(rf"(?:\bnever |{_NOT})(?:told|tell|informed|warned|warn) {_WHOM} {_FACT}")
_LIES = re.compile(rf"\b(?:lied|lies|lying) to {_WHOM} (?P<fact>about\b[^.!?;]*)")
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
_UNREAL = re.compile(r"\b(?:want\w*|going|plan\w*|should|must|need\w*|ha[vsd]e?) to\s*$|\b(?:not|never|n['’]t|if)\s*$")
_LEADING_WORD = re.compile(r"^(?:that|about|of)\s+", re.IGNORECASE)
_VAGUE = re.compile(r"^(?:what|how|where|why|who)\b(?: to\b|$)", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:i|me|my|you|your|he|she|him|her|his|they|them|their|it|we|us|our|this)\b", re.IGNORECASE)


def epistemic(request: GenerationRequest) -> str:
    """Return lines for the knowledge stated by the turns and for the known entries that it makes obsolete."""
    entries: list[tuple[int | None, KnowledgeLine]] = [
        (item["number"], KnowledgeLine(item["kind"], item["subject"], item.get("target") or "", item["text"]))
        for item in request.material.get("known", ())
    ]
    retired: list[int] = []
    for line in _knowledge_lines(statements_of(request.material)):
        if any(_is_same(line, entry) or (line.kind != HIDING and _ends_ignorance(entry, line)) for _, entry in entries):
            continue
        obsolete = [item for item in entries if _ends_ignorance(line, item[1])]
        retired += [number for number, _ in obsolete if number is not None]
        entries = [*(item for item in entries if item not in obsolete), (None, line)]
    lines = [format_knowledge(line) for number, line in entries if number is None]
    if retired:
        lines.append(format_retired(tuple(dict.fromkeys(retired))))
    return "\n".join(lines) or "NONE"


def _knowledge_lines(statements: list[Statement]) -> list[KnowledgeLine]:
    """Return the cleaned lines of all statements, MAX_NEW at most."""
    cleaned = [
        KnowledgeLine(line.kind, clean_name(line.subject), clean_name(line.target), clean_line(line.text))
        for statement in statements
        if not statement.is_question
        for line in _statement_lines(statement)
    ]
    return [line for line in cleaned if line.subject and len(content_words(line.text)) >= MIN_FACT_WORDS][:MAX_NEW]


def _is_same(line: KnowledgeLine, other: KnowledgeLine) -> bool:
    first, second = ((item.kind, item.subject.casefold(), item.target.casefold()) for item in (line, other))
    return first == second and jaccard(line.text, other.text) >= MIN_ENTRY_OVERLAP


def _ends_ignorance(line: KnowledgeLine, other: KnowledgeLine) -> bool:
    """Return whether ``line`` says that somebody knows the fact that ``other`` says they don't know."""
    ignorant = other.target if other.kind == HIDING else other.subject
    if line.kind != "knows" or other.kind not in ("unaware", "suspects", HIDING) or not ignorant:
        return False
    words, other_words = (content_words(split_speaker(text)[1]) for text in (line.text, other.text))
    is_same_fact = len(words & other_words) >= max(1, MIN_SHARED * min(len(words), len(other_words)))
    return line.subject.casefold() == ignorant.casefold() and is_same_fact


def _statement_lines(statement: Statement) -> Iterator[KnowledgeLine]:
    """Yield lines for secrets, information given, states of knowledge and confessions in a statement."""
    text = statement.text
    for match in filter(None, (_WITHHOLDS.search(text), _LIES.search(text))):
        yield from _pair_lines(HIDING, statement, match, _fact_text(match["fact"], statement))
    for match in _HIDES.finditer(text):
        yield from _pair_lines(HIDING, statement, match, _fact_text(match["thing"], statement) or statement.quoted)
    informs = _INFORMS.search(text)
    if informs and not _UNREAL.search(text[: informs.start()]):
        yield from _pair_lines("knows", statement, informs, _fact_text(informs["fact"], statement))
    yield from _state_lines(statement)
    confesses = _CONFESSES.search(text) and len(statement.sentence.words) >= MIN_CONFESSION_WORDS
    if confesses and statement.sentence.spoken and statement.addressee:
        yield KnowledgeLine("knows", statement.addressee, "", statement.quoted)


def _state_lines(statement: Statement) -> Iterator[KnowledgeLine]:
    """Yield who knows or doesn't know a fact; skip speakers' claims about themselves, which are only opinions."""
    for kind, pattern in _STATES:
        match = pattern.search(statement.text)
        if match and (fact := _fact_text(match["fact"], statement)):
            for person in subjects(statement, match.start()):
                if statement.narrated or person != statement.people.full_name(statement.sentence.speaker):
                    yield KnowledgeLine(kind, person, "", fact)
            return


def _pair_lines(kind: str, statement: Statement, match: re.Match[str], fact: str) -> Iterator[KnowledgeLine]:
    """Yield a line for each (subject of the verb, other person): they know ``fact``, or it is hidden from them."""
    for actor in subjects(statement, match.start()):
        for other in resolve_person(match["whom"], statement, match.start()):
            if fact and actor != other:
                subject, target = (actor, other) if kind == HIDING else (other, "")
                yield KnowledgeLine(kind, subject, target, fact)


def _fact_text(clause: str, statement: Statement) -> str:
    """Return a clause that is clear without context, else the whole sentence; empty if the clause has no content."""
    clause = _LEADING_WORD.sub("", clause.strip(" ,'’*"))
    words = content_words(clause)
    if _VAGUE.match(clause) or not words:
        return ""
    return clause if len(words) >= MIN_FACT_WORDS and not _PRONOUN.search(clause) else statement.quoted
