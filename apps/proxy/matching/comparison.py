"""Compare a request with a chat. Nothing here writes or locks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from uuid import UUID

from django.db.models import F, QuerySet

from apps.chats.models import Character, Chat, Message, Swipe
from apps.proxy.matching.folded import unfolded_turns
from apps.proxy.matching.joined import divided_turns
from apps.proxy.matching.keys import key_of
from apps.proxy.matching.merging import plan_changes
from apps.proxy.matching.pairing import Texts
from apps.proxy.matching.plans import Entry, Plan
from apps.proxy.models import ProxiedChat
from apps.proxy.requests.speakers import NOBODY, Company
from apps.proxy.requests.texts import unspaced
from apps.proxy.requests.turns import Turn

KEPT_FINGERPRINTS = 40


@dataclass(frozen=True)
class Request:
    """What is stored of a request. ``keys`` are those of its turns, ``opening`` that of its system messages.

    ``character`` was named by the client if ``is_named``, else guessed. ``follows``: what the client left out is
    deleted, however much it is. ``is_nudged``: an instruction asks for another reply after the last one. ``client`` is
    a hash of the token's id, ``instance`` the one that the token is bound to. ``instructions`` are keys of paragraphs
    that nobody says, ``ends`` those of paragraphs of turns that may have such in them. ``company`` is who takes part.
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
    instructions: Sequence[int] = ()
    ends: Sequence[int] = ()
    company: Company = NOBODY

    @property
    def has_history(self) -> bool:
        """Return whether the client has sent a reply back."""
        return any(not turn.is_user for turn in self.turns)

    @property
    def asked(self) -> str:
        """Return the name of who is asked for a reply to another reply, or nothing."""
        return self.company.speaker if self.is_nudged else ""

    @property
    def fingerprints(self) -> list[int]:
        """Return by what the chat is found: the keys of the first user turn and the latest ones."""
        users = [key for key in self.keys if key & 1]
        return list(dict.fromkeys([*users[:1], *users[-KEPT_FINGERPRINTS:], *self.ends]))


@dataclass(frozen=True)
class Compared:
    """A chat as it was read, and the changes that a request makes to it, whose turns are without instructions."""

    chat: Chat
    plan: Plan
    request: Request

    @property
    def score(self) -> tuple[int, int]:
        return self.plan.equal - self.plan.cut - self.plan.changes, -self.plan.changes


def compare(chat: Chat, request: Request) -> Compared:
    """Compare a request with a chat.

    A message that somebody else has changed since the client had it is not deleted by the client.
    """
    entries = entries_of(chat, request.client)
    as_stored = entries

    @cache
    def texts(ids: tuple[UUID, ...]) -> dict[UUID, str]:
        return dict(_shown_swipes(chat, ids).values_list("message_id", "mes"))

    known = [*_instructions_of(chat, request.client), *request.instructions]
    turns, keys = divided_turns(chat.owner_id, entries, request.turns, request.keys, texts=texts)
    said = unfolded_turns(
        chat.owner_id,
        entries,
        turns,
        keys,
        known=known,
        own=request.instructions,
        is_nudged=request.is_nudged,
        texts=texts,
    )
    request = replace(request, turns=said.turns, keys=said.keys, instructions=said.instructions)
    entries = [
        replace(entry, key=said.keys[said.cleaned[place]]) if place in said.cleaned else entry
        for place, entry in enumerate(entries)
    ]
    plan = _plan(entries, request, texts)
    shown = _shown_keys(chat, plan.deletions)
    changed = {entry.id for entry in entries if shown.get(entry.id, entry.key) != entry.key}
    if changed:
        entries = [replace(entry, is_fixed=True) if entry.id in changed else entry for entry in entries]
        plan = _plan(entries, request, texts)
    plan.cleaned = [(as_stored[place], said.turns[number]) for place, number in said.cleaned.items()]
    edited = {entry.id: unspaced(turn.text) for entry, turn in plan.edits}
    swipes = Swipe.objects.for_owner(chat.owner_id).filter(message__in=edited).values_list("message_id", "mes")
    plan.selected = {pk for pk, text in (swipes if edited else ()) if unspaced(text) == edited[pk]}
    return Compared(chat, plan, request)


def _plan(entries: Sequence[Entry], request: Request, texts: Texts) -> Plan:
    return plan_changes(
        entries, request.turns, request.keys, follows=request.follows, speaker=request.asked, texts=texts
    )


def _instructions_of(chat: Chat, client: str) -> list[int]:
    """Return the keys of the paragraphs of which earlier requests of a client show that nobody says them."""
    rows = ProxiedChat.objects.for_owner(chat.owner_id).filter(chat=chat, client=client)
    return rows.values_list("instructions", flat=True).first() or []


def entries_of(chat: Chat, client: str) -> list[Entry]:
    """Return the messages of a chat in order, and those that the client knows although they were deleted.

    The first client of a chat, which names it, is taken to have read it. Any further one knows what it sends.
    """
    rows_of_chat = ProxiedChat.objects.for_owner(chat.owner_id).filter(chat=chat)
    row = next((row for row in rows_of_chat if row.client == client), None)
    is_read = row is None and not rows_of_chat
    known = dict(zip(row.known_messages, row.known_keys, strict=True)) if row else {}
    messages = Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("index")
    rows = list(messages.values_list("pk", "is_system", "name"))
    others = _shown_keys(chat, [pk for pk, *_ in rows if pk not in known])
    # One that is in neither was deleted since: nothing is locked.
    rows = [row for row in rows if row[0] in known or row[0] in others]
    entries = [
        Entry(
            pk,
            known.get(pk) or others[pk],
            is_known=is_read or pk in known,
            is_fixed=is_hidden or not (is_read or pk in known),
            name=name,
        )
        for pk, is_hidden, name in rows
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
