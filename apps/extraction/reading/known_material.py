"""What is known and matters to a window, within a number of tokens: material of the one call that reads it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from apps.chats.models import Character, Message
from apps.english.words import content_words
from apps.extraction.reading.registry import forms_with_lines
from apps.extraction.steps.context import Context
from apps.extraction.steps.turns import fitting
from apps.llm.backends.selection import vectors_if_available
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory
from apps.memories.queries.memories import active_memories

# Maximum tokens of the known memories. With what tiers show, a prompt for three new messages stays below 5,000 tokens.
MEMORY_TOKENS = 500
MAX_MEMORIES = 400  # memories of a tier that are ranked
IMPORTANCE_WEIGHT = 0.05  # of a step of importance, in cosine


def known_material(
    context: Context, turns: Mapping[int, Message], members: Sequence[Character | None]
) -> dict[str, Any]:
    """Return what is known as template values; entries that replies may cite have numbers."""
    words = content_words("\n".join(f"{turn.name}: {turn.mes}" for turn in turns.values()))
    known = [form.known for form in forms_with_lines() if form.known]
    return {
        "participants": context.participants,
        "memories": _memories(context, turns, members),
        **{one.name: _within(one.entries(context, turns), one.max_tokens, words) for one in known},
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
    kept = fitting(ordered, MEMORY_TOKENS, count_tokens)
    return [{"number": number, "kind": by_text[text].kind, "text": text} for number, text in enumerate(sorted(kept), 1)]


def _ranked(context: Context, tier: str, character_id: Any) -> Any:
    rows = active_memories(context.chat, tier, character_id).filter(hidden=False).defer("lexemes")
    return rows.order_by("-pinned", "-importance", "-pk")[:MAX_MEMORIES]


def _nearness(context: Context, rows: Sequence[Memory], texts: Sequence[str]) -> dict[str, float]:
    """Return a score for each memory's text: its greatest cosine with one of ``texts``, and its importance."""
    vectors, model = vectors_if_available(context.owner_id, texts)
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
    kept = set(fitting(ranked, max_tokens, lambda number: count_tokens(str(entries[number]))))
    return [entry for number, entry in enumerate(entries) if number in kept]
