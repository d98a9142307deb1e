"""Select what is known and matters to a window, within a number of tokens, to show it in the prompt of a reading."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from apps.chats.models import Character, Message
from apps.english.words import content_words
from apps.extraction.stages import arcs, epistemic, ledger, relationships
from apps.extraction.stages.context import Context
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory
from apps.memories.queries.memories import active_memories

# Maximum tokens of each list. A prompt for three new messages must stay below 5,000 tokens.
MEMORY_TOKENS, ARC_TOKENS, STATE_TOKENS, KNOWLEDGE_TOKENS, RELATIONSHIP_TOKENS = 500, 250, 250, 200, 120
MAX_MEMORIES = 400  # memories of a tier that are ranked
IMPORTANCE_WEIGHT = 0.05  # of a step of importance, in cosine
T = TypeVar("T")


def known_material(
    context: Context, turns: Mapping[int, Message], members: Sequence[Character | None]
) -> dict[str, Any]:
    """Return what is known as template values; entries that replies may cite have numbers."""
    open_arcs = arcs.open_arcs(context, turns)
    knowledge = epistemic.known_entries(context)
    text = "\n".join(f"{turn.name}: {turn.mes}" for turn in turns.values())
    words = content_words(text)
    return {
        "participants": context.participants,
        "memories": _memories(context, turns, members),
        "open": _within(arcs.arcs_material(open_arcs), ARC_TOKENS, words),
        "entities": _within(ledger.entities_of(context, text.casefold()), STATE_TOKENS, words),
        "knowledge": _within(epistemic.knowledge_material(knowledge), KNOWLEDGE_TOKENS, words),
        "relationships": _within(relationships.known_relationships(context), RELATIONSHIP_TOKENS, words),
    }


def _memories(
    context: Context, turns: Mapping[int, Message], members: Sequence[Character | None]
) -> list[dict[str, Any]]:
    """Return the memories nearest to the turns, each text once."""
    rows = list(_ranked(context, Memory.Tier.SESSION, None))
    for member in members:
        character = member or context.chat.character
        rows += _ranked(context, Memory.Tier.LONG_TERM, character.pk if character else None)
    by_text = {row.text: row for row in rows}
    scores = _nearness(context, list(by_text.values()), [turn.mes for turn in turns.values()])
    ordered = sorted(by_text, key=lambda text: -scores[text])
    kept = _fitting([(text, text) for text in ordered], MEMORY_TOKENS)
    return [{"number": number, "kind": by_text[text].kind, "text": text} for number, text in enumerate(sorted(kept), 1)]


def _ranked(context: Context, tier: str, character_id: Any) -> Any:
    rows = active_memories(context.chat, tier, character_id).filter(hidden=False).defer("lexemes")
    return rows.order_by("-pinned", "-importance", "-pk")[:MAX_MEMORIES]


def _nearness(context: Context, rows: Sequence[Memory], texts: Sequence[str]) -> dict[str, float]:
    """Return a score for each memory's text: its greatest cosine with one of ``texts``, and its importance."""
    vectors, model = context.vectors(texts)
    words = [content_words(text) for text in texts]

    def similarity(row: Memory) -> float:
        if vectors is not None and row.embedding is not None and row.embedding_model == model:
            return float(np.max(vectors @ np.asarray(row.embedding)))
        own = content_words(row.text)
        return max((len(own & others) / (len(own) or 1) for others in words), default=0.0)

    return {row.text: similarity(row) + IMPORTANCE_WEIGHT * row.importance + row.pinned for row in rows}


def _within(entries: Sequence[Mapping[str, Any]], max_tokens: int, words: frozenset[str]) -> list[Mapping[str, Any]]:
    """Return the entries that fit, in their order, preferring those that share words with the window."""
    shared = [len(content_words(str(entry)) & words) for entry in entries]
    ranked = sorted(range(len(entries)), key=lambda number: (-shared[number], -number))
    kept = set(_fitting([(number, str(entries[number])) for number in ranked], max_tokens))
    return [entry for number, entry in enumerate(entries) if number in kept]


def _fitting(items: Iterable[tuple[T, str]], max_tokens: int) -> list[T]:
    """Return the first items whose texts have at most ``max_tokens`` together."""
    kept: list[T] = []
    for item, text in items:
        max_tokens -= count_tokens(text)
        if max_tokens < 0:
            break
        kept.append(item)
    return kept
