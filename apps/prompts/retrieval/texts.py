"""Entries from texts that are derived from a chat: the summary, profiles, the canon, and the repair note."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db.models import Q, QuerySet
from sentencex import segment

from apps.chats.models import Character, Chat, Swipe
from apps.chats.queries.keys import ChatKeys, keys_of
from apps.common.database.compiled_queries import CompiledQuery
from apps.memories.models import VersionedText
from apps.memories.queries.texts import current_version, versions_in
from apps.prompts.reasons import ALWAYS, REPAIRS
from apps.prompts.slots.blocks import one_line
from apps.prompts.slots.entries import Entry
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint

# Sections of a summary on what has happened: key events, relationships, and what was revealed. All others are on the
# present, which is never cut before them.
PAST_SECTIONS = (3, 4, 5)
_SECTION = re.compile(r"^\W{0,4}([1-9])[.)]\s")
# Sections of a profile, in the order of the prompt. The later ones are the last to be left out.
SECTIONS = {"character_state": "State", "world_state": "World", "relationship_matrix": "Relationships"}


def summary_entries(turn: UserTurn, character: Character | None) -> list[Entry]:
    """Return the sentences of the summary. The oldest are left out first, and those on the present last.

    A group's summary is only for members who witnessed all that it covers.
    """
    version = version_before(turn, VersionedText.Kind.SUMMARY, None)
    if version is None:
        return []
    if not _has_witnessed(turn, character, version):
        return []
    sentences, priorities = _by_section(version.text)
    return _entries(version, sentences, priorities)


def _by_section(text: str) -> tuple[list[str], list[int]]:
    """Return the sentences of a summary, and priorities that rise, but those of the past are below all others.

    A text without numbered sections, such as a person may have written, is told in order.
    """
    lines = [(line, _sentences_of_line(line)) for line in text.splitlines()]
    number, sentences, sections = 0, list[str](), list[int]()
    for line, of_line in lines:
        match = _SECTION.match(line)
        number = int(match[1]) if match and int(match[1]) > number else number
        sentences += of_line
        sections += [number] * len(of_line)
    return sentences, [n + len(sections) * (section not in PAST_SECTIONS) for n, section in enumerate(sections)]


def profile_entries(turn: UserTurn, character: Character | None) -> list[Entry]:
    """Return the sections of the character's profile; without one, in a group, as for a summary."""
    version = version_before(turn, VersionedText.Kind.PROFILE, character)
    if version is None or (character is None and not _has_witnessed(turn, None, version)):
        return []
    sections = [(label, one_line(str(version.parts.get(name) or ""))) for name, label in SECTIONS.items()]
    lines = [f"{label}: {text}" for label, text in sections if text]
    return _entries(version, lines or [one_line(version.text)], range(len(SECTIONS)))


def canon_entries(turn: UserTurn, character: Character | None) -> list[Entry]:
    """Return the sentences of the character's canon; without one, in a group, as for a summary.

    The last are left out first.
    """
    version = version_before(turn, VersionedText.Kind.CANON, character)
    if version is None or (character is None and not _has_witnessed(turn, None, version)):
        return []
    sentences = _sentences(version.text)
    return _entries(version, sentences, range(0, -len(sentences), -1))


def repair_entries(turn: UserTurn, character: Character | None) -> list[Entry]:
    """Return the note that repairs a contradiction, if it is about a reply before the turn and has no answer yet.

    A preview has the note of a reply to its turn too: the prompt of a new turn will have it. Another version of that
    reply is written without it. In a group it is for members who heard the reply; it is made of what all know.
    """
    note = pending_note(turn.chat)
    if note is None or note.source is None:
        return []
    if note.source.index >= turn.index and not turn.is_previewed:
        return []
    view = Viewpoint(turn.chat, character)
    if turn.chat.is_group and (not note.parts.get("for_all") or view.unheard([note.source.pk])):
        return []
    return [Entry(note.pk, "repair", "note", one_line(note.text), 1.0, 0.0, REPAIRS, note.source_id)]


def pending_note(chat: Chat) -> VersionedText | None:
    """Return the note that the next prompt of the chat holds, or None.

    A note is answered by any reply written after it, whoever wrote it: also by another version of a reply.
    """
    note = current_version(chat, VersionedText.Kind.REPAIR)
    if note is None or note.source is None:
        return None
    replies = Swipe.objects.for_owner(chat.owner_id).filter(
        message__chat=chat, message__is_user=False, message__is_system=False
    )
    return None if replies.filter(created_at__gt=note.created_at).exists() else note


def _has_witnessed(turn: UserTurn, character: Character | None, version: VersionedText) -> bool:
    """Return whether the character witnessed all that a text covers."""
    end = version.source.index if version.source else turn.index - 1
    return Viewpoint(turn.chat, character).has_heard_all(0, end)


def version_before(turn: UserTurn, kind: str, character: Character | None) -> VersionedText | None:
    """Return the newest version of a text that covers only messages before the turn, or that a person wrote."""
    character_id = character.pk if character else None
    return VERSIONS[VersionedText.Kind(kind)].first(keys_of(turn.chat), character_id, turn.index)


def _versions_before(kind: str, chat: ChatKeys, character_id: Any, index: Any) -> QuerySet[VersionedText]:
    """Return the queryset of ``version_before`` for keys of a compiled query."""
    versions = versions_in(chat, kind).filter(character=character_id).exclude(state=VersionedText.State.RETIRED)
    by_person = ~Q(edited_by="") & Q(state=VersionedText.State.CURRENT)
    before = Q(source=None) | ~Q(source__chat=chat.pk) | Q(source__index__lt=index)
    return versions.filter(by_person | before)[:1]


VERSIONS: dict[VersionedText.Kind, CompiledQuery[VersionedText]] = {
    kind: CompiledQuery(partial(_versions_before, kind)) for kind in VersionedText.Kind
}


def _sentences(text: str) -> list[str]:
    return [sentence for line in text.splitlines() for sentence in _sentences_of_line(line)]


def _sentences_of_line(line: str) -> list[str]:
    """Return the sentences of a line. A part without a letter, as the number of a list, belongs to the next one."""
    sentences: list[str] = []
    before = ""
    for part in segment("en", line):
        sentence = one_line(f"{before} {part}")
        has_letter = any(map(str.isalpha, sentence))
        sentences += [sentence] if has_letter else []
        before = "" if has_letter else sentence
    return sentences


def _entries(version: VersionedText, lines: Sequence[str], priorities: Sequence[int]) -> list[Entry]:
    return [
        Entry(
            id=version.pk,
            tier=version.kind,
            kind=version.kind,
            line=line,
            priority=priority,
            score=0.0,
            why=ALWAYS,
            source_message=version.source_id,
            by_person=bool(version.edited_by),
        )
        for line, priority in zip(lines, priorities, strict=False)
        if line
    ]
