"""Answer the tasks ``pairs``, ``continuity`` and ``repair``: find and correct contradicting statements."""

import re
from collections.abc import Sequence

from apps.builtin.reading.phrases import as_sentence
from apps.builtin.reading.sentences import sentences_of
from apps.builtin.reading.statements import Statement, statements_of
from apps.english.comparison import compare
from apps.english.words import jaccard
from apps.extraction.memories.pair_questions import format_relation
from apps.extraction.tiers.continuity import Contradiction, format_contradiction
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder
from apps.llm.generation import GenerationRequest
from apps.memories.verdicts.known_statements import Relation

MIN_SUPERSEDED = 0.6  # minimum probability; false alarms disturb the writer more than missed contradictions
MIN_TOPIC_OVERLAP = 0.2  # Jaccard index below which two statements aren't compared
MAX_CONTRADICTIONS = 5
MAX_REPAIRED = 3
# A sentence with one of these words reports a change, or does not claim to be true, so it contradicts nothing.
_CHANGE_OR_FICTION = re.compile(
    r"\b(?:now|no longer|any ?more|bec[ao]m\w*|turned|chang\w+|since|left|quit|just|finally|new|was|were|had|used to|"
    r"once|before|if|would|could|will|might|moved|sold|lied|pretend\w*|false|actually|dream\w*)\b",
    re.IGNORECASE,
)


def pairs(request: GenerationRequest) -> str:
    """Return for each pair whether its newer statement replaces the older one."""
    asked = request.material["pairs"]
    superseded = _are_superseded([(pair["old"], pair["new"]) for pair in asked])
    relations = [Relation.UPDATE if is_update else Relation.INDEPENDENT for is_update in superseded]
    return "\n".join(format_relation(pair["number"], one) for pair, one in zip(asked, relations, strict=True))


def _are_superseded(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Return for each (older, newer) pair whether the newer statement replaces the older one.

    If the embedding model is unavailable, no pair counts as replaced.
    """
    facts = [(old, new, "fact") for old, new in pairs]
    try:
        return [comparison.superseded >= MIN_SUPERSEDED for comparison in compare(facts, get_embedder().embed)]
    except EmbeddingUnavailable:
        return [False] * len(pairs)


def continuity(request: GenerationRequest) -> str:
    """Return lines for the sentences of the newest turn that contradict a fact without reporting a change."""
    claims = [claim for claim in statements_of({"turns": [request.material["turn"]]}) if not claim.is_question]
    unchanged = [claim for claim in claims if not _CHANGE_OR_FICTION.search(claim.text)]
    facts = [(fact["number"], text) for fact in request.material["facts"] for text in _statement_texts(fact["text"])]
    pairs = [(number, fact, claim) for number, fact in facts for claim in unchanged]
    pairs = [pair for pair in pairs if jaccard(pair[1], pair[2].quoted) >= MIN_TOPIC_OVERLAP]
    verdicts = _are_superseded([(fact, claim.quoted) for _, fact, claim in pairs])
    conflicts = [pair for pair, superseded in zip(pairs, verdicts, strict=True) if superseded]
    conflicts += [(number, fact, claim) for number, fact in facts for claim in claims if _is_speaker_dead(claim, fact)]
    lines: dict[int, Contradiction] = {}
    for number, fact, claim in conflicts:
        lines.setdefault(number, Contradiction(f"{as_sentence(claim.quoted)} Known: {as_sentence(fact)}", number))
    return "\n".join(map(format_contradiction, list(lines.values())[:MAX_CONTRADICTIONS])) or "NONE"


def _statement_texts(text: str) -> list[str]:
    """Split a card or a summary into sentences; return a single sentence unchanged."""
    sentences = [sentence.text for sentence in sentences_of(0, "", text)]
    return sentences if len(sentences) > 1 else [text]


def _is_speaker_dead(statement: Statement, fact: str) -> bool:
    """Return whether the speaker of a statement is dead according to ``fact``."""
    name = re.escape(statement.sentence.speaker.split()[0]) if statement.sentence.speaker.split() else ""
    dead = rf"(?:[A-Z]\S* )*{name}\b(?: [A-Z]\S*)*,?(?: (?:has|is|was|had|been))* (?:died|dead|killed)\b"
    return bool(name and statement.sentence.spoken and re.match(dead, fact))


def repair(request: GenerationRequest) -> str:
    """Return an instruction for the next reply: keep to the facts that the last reply contradicts."""
    facts = list(dict.fromkeys(request.material["facts"])) or list(request.material["issues"])
    if not facts:
        return "NONE"
    known = " ".join(as_sentence(fact) for fact in facts[:MAX_REPAIRED])
    return f"The last reply does not fit what is known. This holds: {known} Go on from there without pointing it out."
