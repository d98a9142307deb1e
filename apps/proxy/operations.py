"""Store what a client sends and what the model replies. The chat is never locked during a call of the model."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from apps.chats.dates import timestamp
from apps.chats.formats.parsed import ParsedMessage, ParsedSwipe
from apps.chats.locking import Guard, lock_chat
from apps.chats.message_data.namespaces import LOCI_NAMESPACE, PARTIAL_KEY, DataChange, namespace_of
from apps.chats.models import Character, Chat, Message, Swipe
from apps.chats.operations import Patch, append_messages, branch_chat, create_chat, patch_messages
from apps.common.scoping import Owner, owner_id_of
from apps.proxy.conversation import Turn, joined, normalized
from apps.proxy.matching import Plan, StoredTurn, is_same_chat, plan_changes
from apps.proxy.models import ProxiedChat
from apps.proxy.replies import CollectedReply

KEPT_FINGERPRINTS = 40
MAX_FOUND = 50  # chats with an equal user turn, latest first
CANDIDATES = 5  # chats that are compared with a request
SPARE_MESSAGES = 100  # stored messages compared beyond the number of the request's turns
TITLE_LENGTH = 60
MAX_TOOL_CHARACTERS = 10_000  # of a call and its result, as stored
GUARD = Guard(optional=True)


@dataclass(frozen=True)
class StoredRequest:
    """The chat of a request, and the message of its last turn, which the reply follows."""

    chat: Chat
    anchor: UUID


@dataclass(frozen=True)
class _Compared:
    """A locked chat, the indexes of the messages that were compared with a request, and what makes them equal."""

    chat: Chat
    indexes: list[int]
    plan: Plan

    @property
    def score(self) -> int:
        return len(self.plan.aligned) - self.plan.cut


@transaction.atomic
def store_request(
    owner: Owner, turns: Sequence[Turn], *, opening: str, named: UUID | None = None, character: Character | None = None
) -> StoredRequest:
    """Make the stored chat equal to the turns. Return it; a request that is repeated stores nothing twice.

    The chat is the named one, else the one that the turns continue, else a new one. If they continue an earlier point
    of a chat that isn't named, it is kept, and they continue a branch. Raise Missing.
    """
    _lock_owner(owner)
    compared = _compare(lock_chat(owner, named), turns) if named else _find_chat(owner, turns, opening)
    if compared is None:
        title = " ".join(next(turn.text for turn in turns if turn.is_user).split())[:TITLE_LENGTH]
        created = create_chat(owner, title=character.name if character else title, character=character)
        compared = _compare(created, turns)
    if compared.plan.cut and not named:
        last_kept = compared.indexes[compared.plan.first_dropped - 1]
        compared = _compare(branch_chat(owner, compared.chat.pk, last_kept), turns)
    chat = compared.chat
    anchor = _apply(owner, chat, compared.plan)
    _remember(owner, chat, turns, opening)
    chat.refresh_from_db()
    return StoredRequest(chat, anchor)


def _lock_owner(owner: Owner) -> None:
    """Lock the matching of an owner's requests, so that two of one new chat at once don't create two chats."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"proxy {owner_id_of(owner)}"])


def _find_chat(owner: Owner, turns: Sequence[Turn], opening: str) -> _Compared | None:
    """Return the chat that shares most with the turns, locked, or None."""
    sought = set(_fingerprints(owner, turns))
    found = ProxiedChat.objects.for_owner(owner).filter(chat__deleted_at=None, fingerprints__overlap=list(sought))
    latest = found.order_by("-updated_at")[:MAX_FOUND]
    rows = sorted(latest, key=lambda row: -len(sought & set(row.fingerprints)))[:CANDIDATES]
    best: _Compared | None = None
    # Locked in one order before they are read, so that what is compared is what the plan changes.
    chats = {row.chat_id: lock_chat(owner, row.chat_id) for row in sorted(rows, key=lambda row: row.chat_id)}
    for row in rows:
        compared = _compare(chats[row.chat_id], turns)
        is_same = is_same_chat(turns, compared.plan, same_opening=row.opening == _fingerprint(owner, opening))
        if is_same and (best is None or compared.score > best.score):
            best = compared
    return best


def _compare(chat: Chat, turns: Sequence[Turn]) -> _Compared:
    """Compare the turns with the last visible messages of a locked chat, as many as they may be equal to."""
    first = chat.message_count - 2 * len(turns) - SPARE_MESSAGES
    visible = Message.objects.for_owner(chat.owner_id).filter(chat=chat, is_system=False, index__gte=first)
    swipes = Swipe.objects.for_owner(chat.owner_id).filter(message__in=visible.order_by()).order_by("position")
    texts: defaultdict[UUID, list[str]] = defaultdict(list)
    for message_id, text in swipes.values_list("message_id", "mes"):
        texts[message_id].append(text)
    rows = list(visible.order_by("index").values_list("pk", "is_user", "swipe_id", "index"))
    stored = [StoredTurn(pk, is_user, tuple(texts[pk]), active) for pk, is_user, active, _ in rows]
    return _Compared(chat, [index for *_, index in rows], plan_changes(stored, turns))


def _apply(owner: Owner, chat: Chat, plan: Plan) -> UUID:
    """Write a plan. Return the id of the last turn's message."""
    changed = plan.edits.keys() | plan.selections.keys() | plan.tools.keys()
    patches = [Patch(id=before, insert_before=_parsed(chat, turn)) for before, turn in plan.insertions]
    for pk in changed:
        values = {"mes": plan.edits[pk]} if pk in plan.edits else {}
        data = DataChange(LOCI_NAMESPACE, {"tools": _storable(plan.tools[pk])}) if pk in plan.tools else None
        patches.append(Patch(id=pk, values=values, swipe_id=plan.selections.get(pk), data=data))
    patches += [Patch(id=pk, delete=True) for pk in plan.deletions]
    if patches:
        patch_messages(owner, chat.pk, patches, GUARD)
    if plan.appended:
        return append_messages(owner, chat.pk, [_parsed(chat, turn) for turn in plan.appended]).messages[-1].pk
    assert plan.anchor is not None
    return plan.anchor


def _remember(owner: Owner, chat: Chat, turns: Sequence[Turn], opening: str) -> None:
    """Store by what the next request is recognised."""
    row = ProxiedChat.objects.for_owner(owner).filter(chat=chat).first()
    row = row or ProxiedChat(owner_id=chat.owner_id, chat=chat)
    latest = _fingerprints(owner, turns)
    row.opening = _fingerprint(owner, opening)
    row.fingerprints = list(dict.fromkeys([*row.fingerprints[:1], *latest[:1], *latest[-KEPT_FINGERPRINTS:]]))
    row.save()


def _fingerprints(owner: Owner, turns: Sequence[Turn]) -> list[str]:
    return [_fingerprint(owner, turn.text) for turn in turns if turn.is_user]


def _fingerprint(owner: Owner, text: str) -> str:
    return hashlib.sha256(f"{owner_id_of(owner)} {normalized(text)}".encode()).hexdigest()[:16]


@transaction.atomic
def store_reply(owner: Owner, chat_id: UUID, anchor_id: UUID, reply: CollectedReply) -> None:
    """Store a reply after its turn: as a message, as a swipe of the reply that is there, or in its continuation.

    Store nothing if the turn was deleted in the meantime, or the reply is stored already. Raise Missing.
    """
    chat = lock_chat(owner, chat_id)
    messages = Message.objects.for_owner(owner).filter(chat=chat, is_system=False).with_swipes()
    anchor = messages.filter(pk=anchor_id).first()
    if anchor is None:
        return
    if not anchor.is_user:
        tools = [*namespace_of(anchor.extra, LOCI_NAMESPACE).get("tools", []), *reply.tools]
        text = joined(anchor.mes, reply.text) if tools else anchor.mes + reply.text
        _patch(owner, chat, anchor, replace(reply, text=text, tools=tuple(tools)))
        return
    following = messages.filter(index__gt=anchor.index).order_by("index").first()
    turn = Turn(False, reply.text, reply.tools)
    if following is None:
        append_messages(owner, chat.pk, [_parsed(chat, turn, is_partial=reply.is_partial)])
    elif following.is_user:
        inserted = _parsed(chat, turn, is_partial=reply.is_partial)
        patch_messages(owner, chat.pk, [Patch(id=following.pk, insert_before=inserted)], GUARD)
    else:
        _add_version(owner, chat, following, reply)


def _add_version(owner: Owner, chat: Chat, message: Message, reply: CollectedReply) -> None:
    """Show the reply in a message: in the swipe that has its text, in place of a partial one, or in a new one."""
    texts = [normalized(swipe.mes) for swipe in message.ordered_swipes]
    if normalized(reply.text) in texts:
        position = texts.index(normalized(reply.text))
        patch_messages(owner, chat.pk, [Patch(id=message.pk, swipe_id=position)], GUARD)
    elif message.is_partial:
        _patch(owner, chat, message, reply)
    else:
        swipe = ParsedSwipe(reply.text, _extra(reply.tools, is_partial=reply.is_partial))
        patch_messages(owner, chat.pk, [Patch(id=message.pk, add_swipe=swipe)], GUARD)


def _patch(owner: Owner, chat: Chat, message: Message, reply: CollectedReply) -> None:
    values = _extra(reply.tools, is_partial=reply.is_partial).get(LOCI_NAMESPACE, {})
    clear = frozenset() if reply.is_partial else frozenset({PARTIAL_KEY})
    data = DataChange(LOCI_NAMESPACE, values, clear)
    patch_messages(owner, chat.pk, [Patch(id=message.pk, values={"mes": reply.text}, data=data)], GUARD)


def _parsed(chat: Chat, turn: Turn, *, is_partial: bool = False) -> ParsedMessage:
    """Return a turn in the form in which it is stored."""
    now = timezone.now()
    assistant = chat.character.name if chat.character else "Assistant"
    return ParsedMessage(
        name=(chat.user_name or "User") if turn.is_user else assistant,
        is_user=turn.is_user,
        is_system=False,
        send_date=timestamp(now),
        sent_at=now,
        swipe_id=0,
        swipes=(ParsedSwipe(turn.text, _extra(turn.tools, is_partial=is_partial)),),
        layout="",
    )


def _extra(tools: Sequence[dict[str, Any]], *, is_partial: bool) -> dict[str, Any]:
    data = ({"tools": _storable(tools)} if tools else {}) | ({PARTIAL_KEY: True} if is_partial else {})
    return {LOCI_NAMESPACE: data} if data else {}


def _storable(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return name, arguments and result of each call, cut to a length that a message may hold."""
    stored = []
    for call in tools[:20]:
        # As a client sends it, or as it is stored.
        given = call.get("function")
        function = given if isinstance(given, dict) else call
        texts = {"id": call.get("id"), "name": function.get("name"), "arguments": function.get("arguments")}
        texts["result"] = call.get("result")
        stored.append({name: str(text)[:MAX_TOOL_CHARACTERS] for name, text in texts.items() if text is not None})
    return stored
