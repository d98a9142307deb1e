"""Compare a request with a chat. Nothing here writes or locks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F, QuerySet

from apps.chats.models import Chat, Message, Swipe
from apps.common.scoping import Owner, owner_id_of
from apps.proxy.matching.dividing import divided_request
from apps.proxy.matching.keys import key_of, keys_of
from apps.proxy.matching.planning import plan_changes
from apps.proxy.matching.plans import ChangePlan, ComparedMessage, KeyedRequest
from apps.proxy.matching.unfolding import KEPT_INSTRUCTIONS, end_keys, instruction_keys, unfolded_request
from apps.proxy.models import ProxiedChat
from apps.proxy.requests.conversations import ClientRequest


@dataclass(frozen=True)
class Compared:
    """A chat as it was read, and the changes that a request makes to it, whose turns are without instructions."""

    chat: Chat
    plan: ChangePlan
    request: KeyedRequest

    @property
    def score(self) -> tuple[int, int]:
        plan = self.plan
        return plan.equal - plan.dropped_end.user_messages - plan.changes, -plan.changes


def keyed_request(owner: Owner, client_request: ClientRequest) -> KeyedRequest:
    """Return a request with the keys of what it has, which are made once for all chats that it is compared with."""
    owner_id = owner_id_of(owner)
    return KeyedRequest(
        client_request,
        client_request.turns,
        keys_of(owner_id, client_request.turns),
        opening=key_of(owner_id, is_user=False, text=client_request.opening),
        instructions=instruction_keys(owner_id, client_request.instructions)[-KEPT_INSTRUCTIONS // 2 :],
        ends=end_keys(owner_id, client_request.turns),
    )


def compare(chat: Chat, request: KeyedRequest) -> Compared:
    """Compare a request with a chat.

    A message that somebody else has changed since the client had it is not deleted by the client.
    """
    messages = messages_of(chat, request.client_request.client)
    shown = _ShownTexts(chat)
    rows = ProxiedChat.objects.for_owner(chat.owner_id).filter(chat=chat, client=request.client_request.client)
    known = rows.values_list("instructions", flat=True).first() or []
    request = divided_request(chat.owner_id, messages, request, shown.of)
    said = unfolded_request(chat.owner_id, messages, request, known, shown.of)
    return Compared(chat, plan_changes(messages, said.request, shown, said.cleaned), said.request)


class _ShownTexts:
    """The texts that the messages of a chat show at present. Those of the same messages are read once."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._read: dict[tuple[UUID, ...], Mapping[UUID, str]] = {}

    def of(self, ids: tuple[UUID, ...]) -> Mapping[UUID, str]:
        if ids not in self._read:
            self._read[ids] = dict(_shown_swipes(self._chat, ids).values_list("message_id", "mes"))
        return self._read[ids]

    def changed(self, messages: Sequence[ComparedMessage]) -> set[UUID]:
        shown = _shown_keys(self._chat, [message.id for message in messages])
        return {message.id for message in messages if shown.get(message.id, message.key) != message.key}

    def swipe_keys(self, messages: Sequence[ComparedMessage]) -> Mapping[UUID, Sequence[int]]:
        by_user = {message.id: message.is_user for message in messages}
        swipes = Swipe.objects.for_owner(self._chat.owner_id).filter(message__in=by_user)
        keys: dict[UUID, list[int]] = {}
        for pk, text in swipes.values_list("message_id", "mes"):
            keys.setdefault(pk, []).append(key_of(self._chat.owner_id, is_user=by_user[pk], text=text))
        return keys


def messages_of(chat: Chat, client: str) -> list[ComparedMessage]:
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
    compared = [
        ComparedMessage(
            pk,
            known.get(pk) or others[pk],
            is_known=is_read or pk in known,
            is_fixed=is_hidden or not (is_read or pk in known),
            name=name,
        )
        for pk, is_hidden, name in rows
    ]
    return _with_deleted(compared, known)


def _with_deleted(messages: list[ComparedMessage], known: dict[UUID, int]) -> list[ComparedMessage]:
    """Return the messages, with each message that was deleted after the known one before it."""
    stored = {message.id for message in messages}
    if known.keys() <= stored:
        return messages
    after: dict[UUID | None, list[ComparedMessage]] = {}
    previous: UUID | None = None
    for pk, key in known.items():
        if pk in stored:
            previous = pk
        else:
            after.setdefault(previous, []).append(ComparedMessage(pk, key, is_stored=False))
    merged = after.get(None, [])
    for message in messages:
        merged += [message, *after.get(message.id, [])]
    return merged


def _shown_swipes(chat: Chat, ids: Sequence[UUID]) -> QuerySet[Swipe]:
    """Return the shown swipes of messages."""
    swipes = Swipe.objects.for_owner(chat.owner_id)
    return swipes.filter(message__in=ids, position=F("message__swipe_id")) if ids else swipes.none()


def _shown_keys(chat: Chat, ids: Sequence[UUID]) -> dict[UUID, int]:
    """Return the keys of the shown texts of messages."""
    rows = _shown_swipes(chat, ids).values_list("message_id", "message__is_user", "mes")
    return {pk: key_of(chat.owner_id, is_user=is_user, text=text) for pk, is_user, text in rows}
