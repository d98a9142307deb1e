"""Tasks ``supersession``, ``continuity`` and ``repair``: what a statement changes, and what it can't change."""

import re
from collections.abc import Sequence

from apps.builtin.phrases import as_sentence
from apps.builtin.sentences import sentences_of
from apps.builtin.statements import Statement, statements_of
from apps.english.comparison import compare
from apps.english.words import jaccard
from apps.extraction.parsers.continuity import Contradiction, print_contradiction
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder
from apps.llm.generation import GenerationRequest

KIND = "fact"
REPLACES = 0.45  # likelihood from which the newer statement replaces the older one
SAME_TOPIC = 0.2  # Jaccard index below which two statements aren't compared
MOST = 5
MOST_REPAIRED = 3
FACT_TURN = 0
# A sentence with one of these tells that something changed, or isn't told as so.
_CHANGING = re.compile(
    r"\b(?:now|no longer|any ?more|bec[ao]m\w*|turned|chang\w+|since|left|quit|just|finally|new|was|were|had|used to|"
    r"once|before|if|would|could|will|might|moved|sold|lied|pretend\w*|false|actually|dream\w*)\b",
    re.IGNORECASE,
)


def supersession(request: GenerationRequest) -> str:
    """Print whether the newer statement replaces the older one."""
    return "UPDATE" if _replaced([(request.material["old"], request.material["new"])])[0] else "INDEPENDENT"


def _replaced(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Return for each (older statement, newer one) whether both can't hold; never where nothing can be compared."""
    try:
        found = compare([(old, new, KIND) for old, new in pairs], get_embedder().embed)
        return [one.superseded >= REPLACES for one in found]
    except EmbeddingUnavailable:
        return [False] * len(pairs)


def continuity(request: GenerationRequest) -> str:
    """Print the sentences of the newest reply that can't hold together with a fact, and tell of no change."""
    said = [one for one in statements_of({"turns": [request.material["turn"]]}) if not one.asks]
    lasting = [one for one in said if not _CHANGING.search(one.text)]
    facts = [(fact["number"], text) for fact in request.material["facts"] for text in _parts(fact["text"])]
    pairs = [
        (number, fact, one.quoted)
        for number, fact in facts
        for one in lasting
        if jaccard(fact, one.quoted) >= SAME_TOPIC
    ]
    against = [pair for pair, ends in zip(pairs, _replaced([pair[1:] for pair in pairs]), strict=True) if ends]
    against += [(number, fact, one.quoted) for number, fact in facts for one in said if _speaks_though_dead(one, fact)]
    found: dict[int, Contradiction] = {}
    for number, fact, text in against:
        found.setdefault(number, Contradiction(f"{as_sentence(text)} Known: {as_sentence(fact)}", number))
    return "\n".join(map(print_contradiction, list(found.values())[:MOST])) or "NONE"


def _parts(text: str) -> list[str]:
    """Split a card or a summary into its sentences; a memory is one statement."""
    sentences = [sentence.text for sentence in sentences_of(FACT_TURN, "", text)]
    return sentences if len(sentences) > 1 else [text]


def _speaks_though_dead(statement: Statement, fact: str) -> bool:
    name = re.escape(statement.sentence.speaker.split()[0]) if statement.sentence.speaker.split() else ""
    dead = rf"(?:[A-Z]\S* )*{name}\b(?: [A-Z]\S*)*,?(?: (?:has|is|was|had|been))* (?:died|dead|killed)\b"
    return bool(name and statement.sentence.spoken and re.match(dead, fact))


def repair(request: GenerationRequest) -> str:
    """Print a note to who writes next: the facts that hold against the last reply."""
    material = request.material
    facts = list(dict.fromkeys(material.get("facts", ()))) or list(material.get("issues", ()))
    if not facts:
        return "NONE"
    held = " ".join(as_sentence(fact) for fact in facts[:MOST_REPAIRED])
    return f"The last reply does not fit what is known. This holds: {held} Go on from there without pointing it out."
