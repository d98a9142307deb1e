"""Entries that need no search, as they were before a turn: arcs, relationships, knowledge, ledger, texts, scenes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from django.utils.translation import gettext, gettext_noop

from apps.chats.languages import in_language_of_chat
from apps.chats.models import Character
from apps.memories.models import Arc, Entity, Knowledge, LayerEntry
from apps.memories.queries.arcs import arcs_in
from apps.memories.queries.guesses import unsure_marker
from apps.memories.queries.ledger import ledger_in
from apps.memories.queries.relationships import relationships_in
from apps.memories.queries.scenes import finished_scenes
from apps.memories.secrets import has_name
from apps.prompts.reasons import ALWAYS
from apps.prompts.retrieval.texts import canon_entries, profile_entries, repair_entries, summary_entries
from apps.prompts.slots.blocks import one_line
from apps.prompts.slots.definitions import (
    ARCS,
    CANON,
    EPISTEMIC,
    PROFILES,
    RELATIONSHIPS,
    REPAIR,
    SCENES,
    SHORT_TERM,
    STATE_LEDGER,
    Slot,
)
from apps.prompts.slots.entries import Entry
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint

Row = TypeVar("Row", bound=LayerEntry)

MAX_SCENES = 5
LEDGER_ORDER = (Entity.Kind.CHARACTER, Entity.Kind.PLACE, Entity.Kind.OBJECT, Entity.Kind.FACTION)
# Of the character who is asked, also about somebody. What they are unaware of is left out: the line would tell it.
KNOWLEDGE_LINES = {
    Knowledge.Kind.KNOWS: (
        gettext_noop("%(who)s knows: %(what)s"),
        gettext_noop("%(who)s knows from %(whom)s: %(what)s"),
    ),
    Knowledge.Kind.SUSPECTS: (
        gettext_noop("%(who)s suspects: %(what)s"),
        gettext_noop("%(who)s suspects from %(whom)s: %(what)s"),
    ),
    Knowledge.Kind.BELIEVES: (
        gettext_noop("%(who)s believes: %(what)s"),
        gettext_noop("%(who)s believes from %(whom)s: %(what)s"),
    ),
    Knowledge.Kind.HIDING: (
        gettext_noop("%(who)s hides: %(what)s"),
        gettext_noop("%(who)s hides from %(whom)s: %(what)s"),
    ),
}


def arc_entries(turn: UserTurn, character: Character | None) -> list[Entry]:
    """Return the arcs that were open before the turn, oldest first, up to the cap. The oldest are left out first."""
    arcs = [
        arc
        for arc in arcs_in(turn.chat)
        if _was_open(arc, turn)
        and (not turn.chat.is_group or arc.chat_id == turn.chat.pk or (character and arc.character_id == character.pk))
    ]
    known = _witnessed(turn, character, sorted(arcs, key=lambda arc: arc.pk))
    newest = known[-turn.memory_settings.arcs_cap :] if known else []
    marked = _marked(turn, newest)
    return [
        replace(_entry(arc, "arcs", "arc", arc.text, number), mark=marked(arc, "")) for number, arc in enumerate(newest)
    ]


def _was_open(arc: Arc, turn: UserTurn) -> bool:
    if arc.source and arc.source.chat_id == turn.chat.pk and arc.source.index >= turn.index:
        return False
    is_later = arc.until is not None and arc.until.chat_id == turn.chat.pk and arc.until.index >= turn.index
    return arc.state == Arc.State.OPEN or is_later


def relationship_entries(turn: UserTurn, character: Character | None) -> list[Entry]:
    """Return one line for each pair of people, such as "Mira → Tom: warm (high), wary (low)". The last go first."""
    pairs = relationships_in(turn.chat, turn.index - 1)
    rows = [row for pair in pairs for row in pair.descriptors]
    known = {row.pk for row in _witnessed(turn, character, rows)}
    if turn.chat.is_group:  # what a member learned in another chat is nothing that the others know
        own = {row.pk for pair in pairs for row in pair.descriptors if _is_of(pair.subject, character)}
        known = {row.pk for row in rows if row.pk in known and (row.chat_id == turn.chat.pk or row.pk in own)}
    entries, marked = [], _marked(turn, rows)
    for number, pair in enumerate(pairs):
        words = [marked(row, f"{row.descriptor} ({row.magnitude})") for row in pair.descriptors if row.pk in known]
        if words:
            line = f"{pair.subject.name} → {pair.target.name}: {', '.join(words)}"
            entries.append(_entry(pair.descriptors[0], "relationships", "relationship", line, -number))
    return entries


def _is_of(entity: Entity, character: Character | None) -> bool:
    return character is not None and entity.character_id == character.pk


def knowledge_entries(turn: UserTurn, character: Character | None) -> list[Entry]:
    """Return what the responding character knows, and what they hide, which is left out first."""
    if character is None:
        return []
    kinds = list(KNOWLEDGE_LINES)
    own = [row for row in turn.knowledge if row.kind in kinds and has_name(row.subject, character.name)]
    ordered = sorted(own, key=lambda row: (kinds.index(Knowledge.Kind(row.kind)), row.pk))
    marked = _marked(turn, ordered)
    with in_language_of_chat(turn.chat):
        lines = [_knowledge_line(row) for row in ordered]
    return [
        replace(_entry(row, "epistemic", row.kind, line, -number), mark=marked(row, ""))
        for number, (row, line) in enumerate(zip(ordered, lines, strict=True))
    ]


def _knowledge_line(row: Knowledge) -> str:
    alone, with_somebody = KNOWLEDGE_LINES[Knowledge.Kind(row.kind)]
    values = {"who": row.subject.name, "whom": row.target.name if row.target else "", "what": row.text}
    return gettext(with_somebody if row.target else alone) % values


def ledger_entries(turn: UserTurn, character: Character | None) -> list[Entry]:
    """Return one line for each thing, such as "Mira: location: the mill; mood: calm". Factions are left out first."""
    states = sorted(ledger_in(turn.chat, turn.index - 1), key=lambda state: _rank(state.entity))
    current = [[field.current for field in state.fields if field.current] for state in states]
    known = {row.pk for row in _witnessed(turn, character, [row for rows in current for row in rows])}
    entries, marked = [], _marked(turn, [row for rows in current for row in rows])
    for number, (state, rows) in enumerate(zip(states, current, strict=True)):
        # Before the value, whose sentences may be left out one by one: the mark doesn't outlive what it marks.
        values = [f"{marked(row, row.field)}: {row.value}" for row in rows if row.pk in known]
        if values:
            line = f"{state.entity.name}: {'; '.join(values)}"
            entries.append(_entry(rows[0], "state_ledger", state.entity.kind, line, -number))
    return entries


def _rank(entity: Entity) -> int:
    """Return the position of an entity's kind; unknown kinds are last."""
    return LEDGER_ORDER.index(entity.kind) if entity.kind in LEDGER_ORDER else len(LEDGER_ORDER)


def _witnessed(turn: UserTurn, character: Character | None, rows: Iterable[Row]) -> list[Row]:
    """Return the rows that don't come from a message of the chat that the character did not witness."""
    loaded = list(rows)
    unseen = Viewpoint(turn.chat, character).unheard([row.source_id for row in loaded])
    return [row for row in loaded if row.source_id not in unseen]


def _marked(turn: UserTurn, rows: Iterable[Row]) -> Callable[[Row, str], str]:
    """Return a function that says of the text of a row if it was guessed without a model, in the chat's language."""
    with in_language_of_chat(turn.chat):
        return unsure_marker(rows)


def _entry(row: LayerEntry, tier: str, kind: str, line: str, priority: float) -> Entry:
    return Entry(
        id=row.pk,
        tier=tier,
        kind=kind,
        line=one_line(line),
        priority=priority,
        score=0.0,
        why=ALWAYS,
        source_message=row.source_id,
        by_person=bool(row.edited_by),
    )


def scene_entries(turn: UserTurn, character: Character | None) -> list[Entry]:
    """Return the recaps of the last scenes that ended before the turn, oldest first.

    In a group, only of scenes that the character witnessed from beginning to end.
    """
    view = Viewpoint(turn.chat, character)
    scenes = [scene for scene in finished_scenes(turn.chat) if scene.recap and scene.included]
    before = [scene for scene in scenes if scene.end < turn.index and view.has_heard_all(scene.start, scene.end)]
    return [
        Entry(
            id=scene.last.pk,
            tier="scenes",
            kind="recap",
            line=one_line(f"{scene.name}: {scene.recap}" if scene.name else scene.recap),
            priority=scene.end,
            score=0.0,
            why=ALWAYS,
            source_message=scene.last.pk,
        )
        for scene in before[-MAX_SCENES:]
    ]


LAYERS: dict[str, Callable[[UserTurn, Character | None], list[Entry]]] = {
    RELATIONSHIPS.name: relationship_entries,
    ARCS.name: arc_entries,
    EPISTEMIC.name: knowledge_entries,
    STATE_LEDGER.name: ledger_entries,
    SCENES.name: scene_entries,
    CANON.name: canon_entries,
    SHORT_TERM.name: summary_entries,
    PROFILES.name: profile_entries,
    REPAIR.name: repair_entries,
}


def layer_entries(turn: UserTurn, character: Character | None, slots: Mapping[str, Slot]) -> dict[str, list[Entry]]:
    """Return the entries that no search is needed for, by slot name. Those of slots that are off are not read."""
    return {name: read(turn, character) if slots[name].enabled else [] for name, read in LAYERS.items()}
