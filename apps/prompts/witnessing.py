"""What a character may be told: what they witnessed in a group, without what is kept from them.

History, lore, search and slots ask here.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from django.db.models import Q

from apps.chats.models import Character, Chat, Message, Participant
from apps.chats.operations.characters import check_namespace
from apps.common.problems import Invalid
from apps.memories.models import Knowledge, Memory
from apps.memories.secrets import Secrets, secrets_kept_from
from apps.memories.witnesses import Said, ids_in_story, is_known_to, participant_of, participants_of, witnesses


@dataclass(frozen=True)
class Viewpoint:
    """What ``character`` may be told of a chat: outside groups everything.

    In a group, a character who is no member, or none at all, is told what all members know: anyone may speak.
    """

    chat: Chat
    character: Character | None

    @cached_property
    def member(self) -> Participant | None:
        """Return the member of the group who is this character, or None."""
        return participant_of(self.chat, self.character)

    @cached_property
    def _participants(self) -> list[Participant]:
        return participants_of(self.chat)

    @cached_property
    def ids(self) -> list[UUID] | None:
        """Return the ids of the member in all branches of the story, or None if nothing is withheld.

        For all members together there are none: of what is stored, they are told only what everybody witnessed.
        """
        if not self.chat.is_group:
            return None
        return ids_in_story(self.member) if self.member else []

    @cached_property
    def _speaking(self) -> set[UUID]:
        """Return the ids of the members who may speak; while all are muted, those of all."""
        unmuted = {member.pk for member in self._participants if not member.muted}
        return unmuted or {member.pk for member in self._participants}

    def has_heard(self, said: Said) -> bool:
        """Return whether the character, or all who may speak, witnessed a message."""
        if self.ids is None:
            return True
        heard_by = witnesses(said, self._participants)
        return not heard_by.isdisjoint(self.ids) if self.member else heard_by >= self._speaking

    def known_of(self, memory_ids: Collection[UUID]) -> set[UUID]:
        """Return the ids of those memories that are the character's own or, of the session, were witnessed by them."""
        if self.ids is None or not memory_ids:
            return set(memory_ids)
        condition = is_known_to(self.member.character_id if self.member else None, self.ids)
        rows = Memory.objects.for_owner(self.chat.owner_id).filter(condition, pk__in=memory_ids)
        return set(rows.values_list("pk", flat=True))

    def unheard(self, message_ids: Collection[UUID | None]) -> set[UUID]:
        """Return the ids of those messages of the chat that the character did not witness."""
        ids = {pk for pk in message_ids if pk is not None}
        if not ids or self.ids is None:
            return set()
        return {message.pk for message in self._messages(Q(pk__in=ids)) if not self.has_heard(message)}

    def has_heard_all(self, start: int, end: int) -> bool:
        """Return whether the character witnessed all messages from index ``start`` to ``end``."""
        return self.ids is None or all(map(self.has_heard, self._messages(Q(index__range=(start, end)))))

    def secrets(self, knowledge: Iterable[Knowledge]) -> Secrets:
        """Return what ``knowledge`` says is kept from the character.

        Without a character, in a group, anyone may speak: what is kept from any member.
        """
        names = [self.character.name] if self.character else [member.name for member in self._participants]
        return secrets_kept_from(names, knowledge)

    def _messages(self, condition: Q) -> Collection[Message]:
        rows = Message.objects.for_owner(self.chat.owner_id).filter(condition, chat=self.chat)
        messages: Collection[Message] = rows.with_swipes()
        return messages


def speaker_or_default(chat: Chat, character: Character | None) -> Character | None:
    """Return who speaks: ``character``, else the chat's own, in a group only if they take part."""
    speaker = character or chat.character
    return None if chat.is_group and participant_of(chat, speaker) is None else speaker


def require_member(chat: Chat, character: Character | None) -> None:
    """Raise Invalid if a character is of another namespace, or not in the group: nothing tells what they witnessed."""
    check_namespace(character, chat.namespace)
    if character is not None and chat.is_group and participant_of(chat, character) is None:
        raise Invalid.at("/character", f"{character.name} doesn't take part in this chat.")
