"""What the two tiers of memories share: their kinds, what they ask a model, and how its lines are read.

``[kind:importance:expiration:source=3,4:entity=Mira/character,Port Salt/place:for=Mira:triggers=salt] text``
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from apps.chats.models import Message
from apps.common.words import Words
from apps.extraction.memories.triggers import MAX_SUGGESTED
from apps.extraction.parsers.records import ParsedLines, has_lines, normalize_word, parse_lines, parse_numbers
from apps.extraction.parsers.text_cleanup import clean_line, tag_safe_name
from apps.extraction.prompts.task import TEXT_PATTERN, Task
from apps.extraction.steps.context import Context, turns_material
from apps.memories.candidates import DEFAULT_IMPORTANCE, ENTITY_KINDS, UNKNOWN_KIND, Candidate, NamedEntity
from apps.memories.models import Memory
from apps.memories.queries.memories import active_memories
from apps.memories.trigger_words import trigger_words

KINDS = {
    "session": ("scene", "revelation", "development", "detail"),
    "long_term": ("fact", "relationship", "preference", "event"),
}
EXPIRATION = {"session": "session", "long_term": "permanent"}
EXPIRATIONS = ("scene", "session", "permanent")
MAX_ENTITIES = 8
MAX_SOURCES = 50
MAX_KNOWN_LONG_TERM = 15  # long-term memories shown in the prompt for session memories
MAX_LINE_TOKENS = 60  # maximum tokens of a line


def memory_task(tier: str, description: Words, optional: tuple[str, ...]) -> Task:
    """Return the task of a tier's memories."""
    return Task(
        tier,
        description,
        ("transcript",),
        optional,
        is_usable=has_lines,
        words=[word for kind in KINDS[tier] for word in (kind, f"{kind}s")],
        parse=partial(parse_memories, kinds=KINDS[tier]),
        line_pattern=rf'\[({"|".join(KINDS[tier])}):[123][^\]"\\]*\] {TEXT_PATTERN}',
    )


def ask_for_memories(context: Context, turns: Mapping[int, Message], tier: str) -> str:
    """Return the model's lines about the turns."""
    per_kind = context.settings.new_per_kind
    material = memory_material(context, turns, tier, per_kind if context.has_model else None)
    return context.ask(tier, material, max_tokens=MAX_LINE_TOKENS * per_kind * len(KINDS[tier]) * 2)


def memory_material(context: Context, turns: Mapping[int, Message], tier: str, per_kind: int | None) -> dict[str, Any]:
    """Return the template values of a prompt for memories, at most ``per_kind`` of each kind."""
    return {
        "turns": turns_material(turns, dates=context.settings.dates, zone=context.zone),
        "participants": context.participants,
        "per_kind": per_kind,
        "known": _known_memories(context, tier),
        "subject": context.character.name if context.character and tier == Memory.Tier.LONG_TERM else "",
    }


def _known_memories(context: Context, tier: str) -> list[dict[str, Any]]:
    """Return active memories up to the tier's cap as template values, so that the model does not repeat them."""
    caps = {Memory.Tier.LONG_TERM: context.settings.long_term_cap, Memory.Tier.SESSION: context.settings.session_cap}
    rows = list(_active_memories(context, tier)[: caps[Memory.Tier(tier)]])
    if tier == Memory.Tier.SESSION and not context.chat.is_group:
        rows += _active_memories(context, Memory.Tier.LONG_TERM)[:MAX_KNOWN_LONG_TERM]
    return [
        {"number": number, "kind": row.kind, "text": row.text, "tier": row.tier} for number, row in enumerate(rows, 1)
    ]


def _active_memories(context: Context, tier: str) -> Any:
    rows = active_memories(context.chat, tier, context.character_id).defer("embedding", "lexemes")
    return rows.order_by("-pinned", "-importance", "-confidence", "-pk")


def parse_memories(reply: str, kinds: Sequence[str], *, expiration: str = "permanent") -> ParsedLines[Candidate]:
    """Parse memories of one of ``kinds``; ``expiration`` is used for lines without one. Never raise.

    A line without a tag continues the memory before it. If no line can be parsed, JSON objects with a kind and a text
    are parsed instead.
    """
    return parse_lines(reply, lambda record: _candidate(record.tag, record.text, kinds, expiration))


def _candidate(tag: str | None, text: str, kinds: Sequence[str], expiration: str) -> Candidate | None:
    kind, *modifiers = (part.strip() for part in (tag or "").split(":"))
    name = _kind(kind, kinds)
    text = clean_line(text)
    if name is None or not text:
        return None
    return Candidate(
        kind=name,
        text=text,
        importance=next((int(word) for word in modifiers if word in ("1", "2", "3")), DEFAULT_IMPORTANCE),
        expiration=next((word for word in map(normalize_word, modifiers) if word in EXPIRATIONS), expiration),
        sources=parse_numbers(_value_of(modifiers, "source", "sources"))[:MAX_SOURCES],
        entities=_entities(modifiers),
        known_to=tuple(filter(None, map(tag_safe_name, _value_of(modifiers, "for").split(","))))[:MAX_ENTITIES],
        triggers=tuple(trigger_words(_value_of(modifiers, "triggers", "trigger")))[:MAX_SUGGESTED],
    )


def _kind(word: str, kinds: Sequence[str]) -> str | None:
    """Return the kind that a word names, in any case, in singular or plural."""
    word = normalize_word(word)
    return next((kind for kind in kinds if word in (kind, f"{kind}s")), None)


def _value_of(modifiers: Iterable[str], *names: str) -> str:
    pairs = (word.partition("=") for word in modifiers)
    return next((value for key, _, value in pairs if normalize_word(key) in names), "")


def _entities(modifiers: Iterable[str]) -> tuple[NamedEntity, ...]:
    entities: dict[str, NamedEntity] = {}
    for item in _value_of(modifiers, "entity", "entities").split(","):
        name, _, kind = item.partition("/")
        name, kind = tag_safe_name(name), normalize_word(kind)
        if name:
            entities.setdefault(name.casefold(), NamedEntity(name, kind if kind in ENTITY_KINDS else UNKNOWN_KIND))
    return tuple(entities.values())[:MAX_ENTITIES]


def format_memory(candidate: Candidate) -> str:
    """Return ``candidate`` formatted so that ``parse_memories`` reads it back."""
    tag = [candidate.kind, str(candidate.importance), candidate.expiration]
    if candidate.sources:
        tag.append("source=" + ",".join(map(str, candidate.sources)))
    if candidate.entities:
        tag.append("entity=" + ",".join(f"{tag_safe_name(entity.name)}/{entity.kind}" for entity in candidate.entities))
    if candidate.known_to:
        tag.append("for=" + ",".join(map(tag_safe_name, candidate.known_to)))
    if candidate.triggers:
        tag.append("triggers=" + ",".join(candidate.triggers))
    return f"[{':'.join(tag)}] {clean_line(candidate.text)}"
