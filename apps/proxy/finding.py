"""Find the chat that a request continues, and compare it with the request. Nothing here writes or locks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet

from apps.chats.models import Character, Chat, Message, Swipe
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.scoping import Owner, owner_id_of
from apps.proxy.conversation import Turn, key_of, normalized, unspaced
from apps.proxy.matching import is_same_chat, plan_changes
from apps.proxy.models import ProxiedChat
from apps.proxy.plans import Entry, Plan

KEPT_FINGERPRINTS = 40
MAX_FOUND = 50  # chats with an equal user turn, latest first
CANDIDATES = 5  # chats that are compared with a request


@dataclass(frozen=True)
class Request:
    """What is stored of a request. ``keys`` are those of its turns, ``opening`` that of its system messages.

    ``character`` was named by the client if ``is_named``, else guessed. ``follows``: what the client left out is
    deleted, however much it is. ``is_nudged``: an instruction asks for another reply after the last one. ``client`` is
    a hash of the token's id, ``instance`` the one that the token is bound to.
    """

    turns: Sequence[Turn]
    keys: Sequence[int]
    opening: int
    character: Character | None = None
    follows: bool = False
    is_nudged: bool = False
    client: str = ""
    instance: str = ""
    is_named: bool = False

    @property
    def has_history(self) -> bool:
        """Return whether the client has sent a reply back."""
        return any(not turn.is_user for turn in self.turns)

    @property
    def fingerprints(self) -> list[int]:
        """Return by what the chat is found: the keys of the first user turn and the latest ones."""
        users = [key for key in self.keys if key & 1]
        return list(dict.fromkeys([*users[:1], *users[-KEPT_FINGERPRINTS:]]))


@dataclass(frozen=True)
class Compared:
    """A chat as it was read, and the changes that a request makes to it."""

    chat: Chat
    plan: Plan

    @property
    def score(self) -> tuple[int, int]:
        return self.plan.equal - self.plan.cut - self.plan.changes, -self.plan.changes


def compare(chat: Chat, request: Request) -> Compared:
    """Compare a request with a chat.

    A message that somebody else has changed since the client had it is not deleted by the client.
    """
    entries = entries_of(chat, request.client)

    @cache
    def texts(ids: tuple[UUID, ...]) -> dict[UUID, str]:
        return dict(_shown_swipes(chat, ids).values_list("message_id", "mes"))

    plan = plan_changes(entries, request.turns, request.keys, follows=request.follows, texts=texts)
    shown = _shown_keys(chat, plan.deletions)
    changed = {entry.id for entry in entries if shown.get(entry.id, entry.key) != entry.key}
    if changed:
        entries = [replace(entry, is_fixed=True) if entry.id in changed else entry for entry in entries]
        plan = plan_changes(entries, request.turns, request.keys, follows=request.follows, texts=texts)
    edited = {entry.id: unspaced(turn.text) for entry, turn in plan.edits}
    swipes = Swipe.objects.for_owner(chat.owner_id).filter(message__in=edited).values_list("message_id", "mes")
    plan.selected = {pk for pk, text in (swipes if edited else ()) if unspaced(text) == edited[pk]}
    return Compared(chat, plan)


def entries_of(chat: Chat, client: str) -> list[Entry]:
    """Return the messages of a chat in order, and those that the client knows although they were deleted.

    The first client of a chat, which names it, is taken to have read it. Any further one knows what it sends.
    """
    rows_of_chat = ProxiedChat.objects.for_owner(chat.owner_id).filter(chat=chat)
    row = next((row for row in rows_of_chat if row.client == client), None)
    is_read = row is None and not rows_of_chat
    known = dict(zip(row.known_messages, row.known_keys, strict=True)) if row else {}
    messages = Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("index")
    rows = list(messages.values_list("pk", "is_user", "is_system"))
    others = _shown_keys(chat, [pk for pk, *_ in rows if pk not in known])
    # One that is in neither was deleted since: nothing is locked.
    rows = [row for row in rows if row[0] in known or row[0] in others]
    entries = [
        Entry(
            pk,
            known.get(pk) or others[pk],
            is_known=is_read or pk in known,
            is_fixed=is_hidden or not (is_read or pk in known),
        )
        for pk, _, is_hidden in rows
    ]
    return _with_deleted(entries, known)


def _with_deleted(entries: list[Entry], known: dict[UUID, int]) -> list[Entry]:
    """Return the entries, with each message that was deleted after the known one before it."""
    stored = {entry.id for entry in entries}
    if known.keys() <= stored:
        return entries
    after: dict[UUID | None, list[Entry]] = {}
    previous: UUID | None = None
    for pk, key in known.items():
        if pk in stored:
            previous = pk
        else:
            after.setdefault(previous, []).append(Entry(pk, key, is_stored=False))
    merged = after.get(None, [])
    for entry in entries:
        merged += [entry, *after.get(entry.id, [])]
    return merged


def _shown_swipes(chat: Chat, ids: Sequence[UUID]) -> QuerySet[Swipe]:
    """Return the shown swipes of messages."""
    swipes = Swipe.objects.for_owner(chat.owner_id)
    return swipes.filter(message__in=ids, position=F("message__swipe_id")) if ids else swipes.none()


def _shown_keys(chat: Chat, ids: Sequence[UUID]) -> dict[UUID, int]:
    """Return the keys of the shown texts of messages."""
    rows = _shown_swipes(chat, ids).values_list("message_id", "message__is_user", "mes")
    return {pk: key_of(chat.owner_id, is_user=is_user, text=text) for pk, is_user, text in rows}


def _latest(owner_id: Any, fingerprints: Any, story: Any, character_id: Any) -> QuerySet[ProxiedChat]:
    """Return what clients know of chats that share a message with these fingerprints, the latest first."""
    found = ProxiedChat.objects.for_owner(owner_id).filter(chat__deleted_at=None, fingerprints__overlap=fingerprints)
    if story is not None:
        found = found.filter(chat__story=story)
    if character_id is not None:
        found = found.filter(chat__character=character_id)
    latest: QuerySet[ProxiedChat] = found.select_related("chat__character").order_by("-updated_at")[:MAX_FOUND]
    return latest


LATEST: CompiledQuery[ProxiedChat] = CompiledQuery(_latest)


def find_chat(owner: Owner, request: Request, *, story: UUID | None = None) -> Compared | None:
    """Return the chat, of a story if one is given, that shares most with a request, or None if it isn't certain.

    A chat of another character than the client names is none of them. Of two that share as much, one is chosen only if
    the request changes nothing in it.
    """
    character = request.character if request.is_named else None
    sought = set(request.fingerprints)
    latest = LATEST.rows(owner_id_of(owner), list(request.fingerprints), story, character.pk if character else None)
    rows = sorted(latest, key=lambda row: -len(sought & set(row.fingerprints)))
    openings: dict[Chat, set[int]] = {}
    for row in rows:
        openings.setdefault(row.chat, set()).add(row.opening)
    likely: list[Compared] = []
    for chat in list(openings)[:CANDIDATES]:
        compared = compare(chat, request)
        if is_same_chat(request.turns, compared.plan, same_opening=request.opening in openings[chat]):
            likely.append(compared)
    likely.sort(key=lambda compared: compared.score, reverse=True)
    is_tie = len(likely) > 1 and likely[0].score == likely[1].score
    return None if not likely or (is_tie and likely[0].plan.changes) else likely[0]


def same_text(first: str, second: str) -> bool:
    """Return whether two texts differ in white space alone."""
    return normalized(first) == normalized(second)
