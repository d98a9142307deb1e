"""The tasks ``continuity`` and ``repair``: what a reply says against the facts, and a note about it."""

import re
from collections.abc import Mapping
from typing import Any

from apps.builtin.phrases import as_sentence
from apps.builtin.salience import tells_of_a_change
from apps.builtin.sentences import Sentence, sentences_of
from apps.builtin.statements import Statement, statements_of
from apps.extraction.parsers.continuity import Contradiction, print_contradiction
from apps.llm.generation import GenerationRequest
from apps.memories.claims import claims
from apps.memories.state_change import change_between
from apps.memories.wording import stem

MOST = 5
MOST_REPAIRED = 3
FACT_TURN = 0
# What doesn't change by itself from one reply to the next, so that another value needs telling of the change.
_LASTING = frozenset(
    "home work partner age name looks quality role count when place prison war diet number negation".split()
)
_CHANGING = re.compile(
    r"\b(?:now|no longer|any ?more|became|becomes?|becoming|turned|turns|changed|changes|since|left|quit|just|finally|"
    r"new|was|were|had|used to|once|before|if|would|could|will|might|moved|sold|dyed|cut|grew|lied|pretend\w*|false|"
    r"actually|dream\w*)\b",
    re.IGNORECASE,
)


def continuity(request: GenerationRequest) -> str:
    """The sentences of the newest reply that can't hold beside a fact, without telling that anything changed."""
    statements = statements_of({"turns": [request.material["turn"]]})
    facts = [(fact["number"], text) for fact in request.material["facts"] for text in _said(fact["text"])]
    found: dict[int, Contradiction] = {}
    for number, fact in facts:
        against = next((one for one in statements if number not in found and _contradicts(one, fact)), None)
        if against:
            found[number] = Contradiction(f"{as_sentence(against.quoted)} Known: {as_sentence(fact)}", number)
    return "\n".join(map(print_contradiction, list(found.values())[:MOST])) or "NONE"


def _said(text: str) -> list[str]:
    """A fact's own statements: a memory is one; a card or a summary has a sentence each."""
    sentences = [sentence.text for sentence in sentences_of(FACT_TURN, "", text)]
    return sentences if len(sentences) > 1 else [text]


def _contradicts(statement: Statement, fact: str) -> bool:
    if statement.asks:
        return False
    if _speaks_though_dead(statement.sentence, fact):
        return True
    if _CHANGING.search(statement.text) or tells_of_a_change(statement.text):
        return False
    change = change_between(fact, statement.quoted)
    return change is not None and change.reason in _LASTING


def _speaks_though_dead(sentence: Sentence, fact: str) -> bool:
    """Whether the fact says that the one who speaks died."""
    speaker = {stem(word.casefold()) for word in sentence.speaker.split()}
    dead = (
        claim.subject & claim.names for claim in claims(fact) if "dead" in claim.value and claim.attribute == "life"
    )
    return sentence.spoken and any(names and names <= speaker for names in dead)


def repair(request: GenerationRequest) -> str:
    """A note to who writes next: what was said wrongly, and the facts that hold."""
    material: Mapping[str, Any] = request.material
    facts = (
        list(dict.fromkeys(material.get("facts", ())))[:MOST_REPAIRED]
        or list(material.get("issues", ()))[:MOST_REPAIRED]
    )
    if not facts:
        return "NONE"
    held = " ".join(as_sentence(fact) for fact in facts)
    return f"The last reply does not fit what is known. This holds: {held} Go on from there without pointing it out."
