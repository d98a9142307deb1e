"""Which memories and layers a reader may see, and which of them count: the one rule for all who read them.

What a reader is shown is decided in this order:

1. **Whose.** Rows of the reader's account (``for_owner``), and none whose chats are all in the bin (``in_bin``, which
   follows from the sources and is stored for the indexes). A layer entry is in the bin with its chat.
2. **Seen.** A chat sees what it learnt, what it inherited as a branch, and the long-term memories that its character
   keeps from other stories (``relevant_to``; ``is_seen_in`` for layers). A branch and its parent continue one story
   differently: what one of them learns after the branch point must not reach the other, also after either is deleted.
3. **Counting.** Of what is seen, those rows count (``active_in``) that are not deleted (``deleted_at``) or expired
   (``expires_at``), and whose state in the chat is ``life.holds``. That is the state of the row, but

   - for a memory that a branch inherited, that of its Inheritance (of layer entries a branch has copies), and
   - if another story has superseded or ended it (Supersession, Ending), only chats that see the successor or the end
     see it as such. A successor that is itself retired or in the bin supersedes nothing.
4. **When.** As of a message, what had begun and had not ended after it (``known_at`` for prompts, ``valid_at`` for
   pages). A position counts only within its chat: what other chats tell has always begun.
5. **To whom.** In a group, what the character witnessed (``witnesses``), and nothing that is kept from it
   (``secrets``). Models are told nothing that is ``hidden``, as all is that moderators have ``withheld``.

Whoever reads memories narrows a ``MemoryQuerySet``; statements in SQL begin with one, too, by ``named_sql``. Which of
them a prompt may tell is told by ``recallable``, also in SQL, what branches of a story say apart by ``other_branches``.
"""

from collections.abc import Sequence
from typing import Self
from uuid import UUID

from django.db import models
from django.db.models import Case, Exists, F, FilteredRelation, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce, Now

from apps.chats.models import Message
from apps.chats.queries.keys import ChatOrKeys
from apps.common.database.named_parameters import ids_of
from apps.common.scoping import OwnedManager, OwnedQuerySet, Owner, owner_id_of
from apps.memories.other_branches import (
    SAID_IN_OTHER_BRANCHES_SQL,
    SUPERSEDED_BY_ANOTHER_STORY_SQL,
    has_earlier_copy,
    stories_with_branches,
)


class MemoryQuerySet(OwnedQuerySet["Memory"]):  # type: ignore[name-defined]
    # What a chat sees

    def relevant_to(self, chat: ChatOrKeys, character_id: UUID | None = None) -> Self:
        """Return memories that the chat learnt or inherited, and a character's long-term ones from other stories.

        The character is the chat's if none is given. Memories of other branches of the same story are excluded, also
        those of deleted ones, those of deleted chats that only other branches still say, and those of a member of a
        group whose namespace is another one.
        """
        character_id = character_id or chat.character_id
        relevant = is_learnt_in(chat)
        if character_id is not None:
            from_elsewhere = (Q(story=None) | ~Q(story=chat.story)) & Q(namespace=chat.namespace)
            unseen = ids_of(SAID_IN_OTHER_BRANCHES_SQL, owner=chat.owner_id, character=character_id, chat=chat.pk)
            from_elsewhere &= ~Q(pk__in=unseen)
            relevant |= Q(tier="long_term", character_id=character_id) & from_elsewhere
        return self.as_in(chat).filter(relevant)

    def learnt_in(self, chat: ChatOrKeys) -> Self:
        """Return memories that were learnt in the chat, or that it inherited as a branch."""
        return self.as_in(chat).filter(is_learnt_in(chat))

    def carried_to(self, chat: ChatOrKeys) -> Self:
        """Exclude memories that expire with the session of another chat."""
        return self.as_in(chat).filter(~Q(expiration="session") | is_learnt_in(chat))

    # What counts

    def active_in(self, chat: ChatOrKeys, character_id: UUID | None = None) -> Self:
        """Return memories that are relevant to the chat and active in it; inherited ones as the branch has them."""
        return self.relevant_to(chat, character_id).present().filter(state_here="active")

    def active(self) -> Self:
        """Return memories that count in their own story: to readers of no chat, such as the book of a character."""
        return self.filter(counts())

    def present(self) -> Self:
        """Exclude tombstones and what has expired. The API still returns that by its id, and with ``expired=true``."""
        return self.undeleted().filter(is_unexpired())

    def undeleted(self) -> Self:
        """Exclude tombstones."""
        return self.filter(deleted_at=None)

    # What counted after a message

    def known_at(self, chat: ChatOrKeys, index: int) -> Self:
        """Return memories that were known and not superseded after the message at ``index`` of the chat.

        Positions count only within the chat: memories of other chats are always known.
        """
        is_superseded_later = Q(state_here="superseded", ends_message_id__in=_messages_after(chat, index))
        return self.as_in(chat).filter(_has_begun(chat, index), Q(state_here="active") | is_superseded_later)

    def begun_at(self, chat: ChatOrKeys, index: int) -> Self:
        """Return memories that the chat had learnt or inherited when the message at ``index`` was the last one."""
        return self.learnt_in(chat).filter(_has_begun(chat, index))

    def valid_at(self, chat: ChatOrKeys, index: int) -> Self:
        """Return the memories of ``begun_at`` that were active then.

        A memory that was superseded by another chat stayed valid to the end of its own chat.
        """
        superseded_elsewhere = Q(state="superseded", valid_to__isnull=False) & ~Q(valid_to__chat=chat.pk)
        superseded_elsewhere &= ~is_inherited_by(chat)
        if _is_branch(chat):
            superseded_elsewhere |= Q(inherited__state="active", state_here="superseded")
        is_superseded_later = Q(state_here="superseded", ends_message_id__in=_messages_after(chat, index))
        not_ended = Q(state_here="active") | is_superseded_later | superseded_elsewhere
        return self.begun_at(chat, index).filter(not_ended)

    # How a memory stands in a chat

    def as_in(self, chat: ChatOrKeys) -> Self:
        """Join what the chat inherited, and add aliases for lookups: how each memory stands in the chat.

        ``inherited`` is the chat's Inheritance, or null. ``state_here``, ``reason_here`` and ``confidence_here`` are
        its values, else the memory's own. What another story replaced is superseded if the chat sees a successor, else
        active. ``begins_index`` is the index of a message of the chat, null if unknown or in another chat;
        ``begins_message_id`` and ``ends_message_id`` are ids of messages of any chat.
        """
        if "state_here" in self.query.annotations:
            return self
        return self._as_in_branch(chat) if _is_branch(chat) else self._as_in_root(chat)

    def _as_in_root(self, chat: ChatOrKeys) -> Self:
        """Add the aliases of ``as_in`` for a chat that isn't a branch. Without the join, the statement is faster."""
        return self.alias(
            own_state=F("state"),
            state_here=self._state_here(chat, Q()),
            reason_here=F("retired_reason"),
            confidence_here=F("confidence"),
            begins_index=Case(When(valid_from__chat=chat.pk, then=F("valid_from__index"))),
            begins_message_id=F("valid_from_id"),
            ends_message_id=F("valid_to_id"),
        )

    def _as_in_branch(self, chat: ChatOrKeys) -> Self:
        is_inherited = Q(inherited__isnull=False)
        return self.alias(
            inherited=FilteredRelation("inheritances", condition=Q(inheritances__chat=chat.pk)),
            own_state=Coalesce("inherited__state", "state"),
            state_here=self._state_here(chat, Q(inherited=None)),
            reason_here=Coalesce("inherited__retired_reason", "retired_reason"),
            confidence_here=Coalesce("inherited__confidence", "confidence"),
            begins_index=Case(
                When(is_inherited, then=F("inherited__valid_from__index")),
                When(valid_from__chat=chat.pk, then=F("valid_from__index")),
            ),
            begins_message_id=Case(When(is_inherited, then=F("inherited__valid_from_id")), default=F("valid_from_id")),
            ends_message_id=Case(When(is_inherited, then=F("inherited__valid_to_id")), default=F("valid_to_id")),
        )

    def _state_here(self, chat: ChatOrKeys, is_own: Q) -> Case:
        """Return the state in the chat, from ``own_state`` and what other stories replaced."""
        by_another_story = ids_of(SUPERSEDED_BY_ANOTHER_STORY_SQL, owner=chat.owner_id)
        return Case(
            When(
                ~Q(own_state="retired"),
                pk__in=self.supersessions_in(chat).values("memory"),
                then=Value("superseded"),
            ),
            When(is_own, state="superseded", pk__in=by_another_story, then=Value("active")),
            default=F("own_state"),
        )

    def supersessions_in(self, chat: ChatOrKeys) -> models.QuerySet[models.Model]:
        """Return the supersessions of which the chat sees the successor, unless that is retired there."""
        is_seen = Q(successor__chat=chat.pk) | Q(known__isnull=False) | ~Q(successor__story=chat.story)
        return (
            self._related("supersessions")
            .alias(
                known=FilteredRelation("successor__inheritances", condition=Q(successor__inheritances__chat=chat.pk)),
                successor_state=Coalesce("known__state", "successor__state"),
            )
            .filter(is_seen, owner=chat.owner_id, successor__in_bin=False)
            .exclude(successor_state="retired")
        )

    # What else readers narrow and add

    def without_copies(self, owner: Owner) -> Self:
        """Exclude copies in branches of one story, except the first of each: to people they are one memory.

        The owner of the rows is named too, so that only stories with branches are looked into: few have any.
        """
        return self.filter(~has_earlier_copy(self.model, owner_id_of(owner)))

    def copies(self, owner: Owner) -> Self:
        """Return what ``without_copies`` excludes. No row is read of an owner of whose stories none has branches."""
        has_branches = Exists(stories_with_branches(self.model, owner_id_of(owner)))
        return self.filter(has_branches, has_earlier_copy(self.model, owner_id_of(owner)))

    def comparable(self, hashes: Sequence[str], previous_ids: Sequence[UUID]) -> Self:
        """Return the memories of ``as_in`` with which new candidates are compared.

        These are active memories that have not expired, tombstones, those made from the same lines (``hashes``), and
        those from the same messages (``previous_ids``).
        """
        also = Q(candidate_hash__in=hashes) | Q(pk__in=previous_ids)
        active = Q(state_here="active") & is_unexpired()
        return self.filter(active | Q(deleted_at__isnull=False) | also)

    def with_inheritance(self, chat: ChatOrKeys) -> Self:
        """Prefetch the Inheritance of the chat, if any, as the list ``inheritances_here``.

        ``successor_here`` is the id of the newest memory of another story that supersedes it in the chat, or None.
        """
        inherited = self._related("inheritances").filter(chat=chat.pk)
        successors = self.supersessions_in(chat).filter(memory=OuterRef("pk")).order_by("-pk").values("successor")
        return self.annotate(successor_here=Subquery(successors[:1])).prefetch_related(
            models.Prefetch("inheritances", inherited, to_attr="inheritances_here")
        )

    def with_history(self) -> Self:
        """Prefetch everything that a page or an API response shows: sources, entities, predecessors and successor."""
        visible = self._related("sources").filter(message__chat__deleted_at=None)
        sources = models.Prefetch("sources", visible.select_related("message__chat"))
        predecessors = self._related("supersedes").filter(in_bin=False, deleted_at=None).select_related("valid_to")
        return self.select_related("superseded_by").prefetch_related(
            sources, models.Prefetch("supersedes", predecessors), "entities"
        )

    def _related(self, name: str) -> models.QuerySet[models.Model]:
        """Return the rows of a reverse relation unscoped; joining them to this queryset scopes them."""
        return self.model._meta.get_field(name).related_model._base_manager.order_by("pk")


class MemoryWithBinManager(OwnedManager.from_queryset(MemoryQuerySet)):  # type: ignore[misc]
    """Manager of all memories, those in the bin included."""


class MemoryManager(MemoryWithBinManager):
    """Manager of the memories that are not in the bin."""

    condition = Q(in_bin=False)


# Conditions of memories, and of layers (``is_seen_in``, ``is_remembered``)


def is_seen_in(chat: ChatOrKeys, story: str = "story") -> Q:
    """Return the condition of rows of a layer that come from the chat itself, from no chat, or from other stories.

    ``story`` is the lookup of the row's story: rows without one of their own have that of their chat.
    """
    is_of_other_story = Q(**{story: None}) | ~Q(**{story: chat.story})
    return Q(chat=chat.pk) | is_of_other_story & is_remembered()


def is_remembered() -> Q:
    """Return the condition of rows whose chat is not in the bin, or whose character keeps what was learnt in it."""
    return Q(chat__deleted_at=None) | Q(chat__keeps_memories=True)


def counts(of: str = "") -> Q:
    """Return the condition of memories that count in their own story. ``of`` is the lookup of a relation to them."""
    return Q(**{f"{of}state": "active", f"{of}deleted_at": None, f"{of}in_bin": False}) & is_unexpired(of)


def is_unexpired(of: str = "") -> Q:
    """Return the condition of memories that have not expired."""
    return Q(**{f"{of}expires_at": None}) | Q(**{f"{of}expires_at__gt": Now()})


def is_learnt_in(chat: ChatOrKeys) -> Q:
    """Return the condition of memories of ``as_in`` that the chat learnt or inherited."""
    return Q(chat=chat.pk) | Q(inherited__isnull=False) if _is_branch(chat) else Q(chat=chat.pk)


def is_inherited_by(chat: ChatOrKeys) -> Q:
    """Return the condition of memories of ``as_in`` that the chat inherited."""
    return Q(inherited__isnull=False) if _is_branch(chat) else Q(pk__in=[])


def _is_branch(chat: ChatOrKeys) -> bool:
    """Return whether the chat may inherit memories. Statements about other chats can do without the join."""
    return chat.parent_index is not None


def _has_begun(chat: ChatOrKeys, index: int) -> Q:
    """Return the condition of memories of ``as_in`` that were known after the message at ``index`` of the chat."""
    return Q(begins_message_id=None) | ~Q(begins_message_id__in=_messages_after(chat, index))


def _messages_after(chat: ChatOrKeys, index: int) -> models.QuerySet[Message]:
    """Return the messages of the chat after the one at ``index``.

    Most questions are about the end of a chat, where these are few: looking a message up among them is faster than
    joining the message of each memory.
    """
    return Message.objects.for_owner(chat.owner_id).filter(chat=chat.pk, index__gt=index).order_by()
