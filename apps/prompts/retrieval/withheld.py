"""Leave out of the entries of a prompt what its character must not be told."""

from collections.abc import Iterable
from dataclasses import replace

from apps.chats.models import Character
from apps.memories.secrets import Secrets, secrets_kept_from
from apps.memories.witnesses import participants_of
from apps.prompts.slots.entries import Entry
from apps.prompts.turns import UserTurn


def secrets_of(turn: UserTurn, character: Character | None) -> Secrets:
    """Return what was kept from the character just before the turn.

    Without a character, in a group, anyone may speak: what is kept from any member.
    """
    names = [character.name] if character else [member.name for member in participants_of(turn.chat)]
    return secrets_kept_from(names, turn.knowledge)


def tellable(secrets: Secrets, entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries that tell no secret; those of several sentences without the ones that do."""
    lines = [(entry, secrets.without(entry.line)) for entry in entries]
    return [entry if line == entry.line else replace(entry, line=line) for entry, line in lines if line]
