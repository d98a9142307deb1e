"""Read a whole chat in one consistent state, even while others write to it."""

from collections.abc import Sequence

from loci_client import calls
from loci_client.errors import Gone, LociError
from loci_client.requests import Flow
from loci_client.state import ChatState, Delta
from loci_client.types import Change, Chat, Message

WINDOW = 200  # messages, the maximum of one reply
TRIES = 20


def read_chat(chat_id: str, *, with_messages: bool) -> Flow[ChatState]:
    """Return the state of a chat. Raise NotFound, and LociError if it changes too fast to be read."""
    for _ in range(TRIES):
        chat = yield from calls.get_chat(chat_id)
        state = ChatState(chat["integrity"], chat["rev"], chat["metadata"], () if with_messages else None)
        if not with_messages:
            return state
        whole = yield from _with_messages(chat, state)
        if whole is not None:
            return whole
    raise LociError(f"The chat {chat_id} changes faster than it can be read.")


def _with_messages(chat: Chat, state: ChatState) -> Flow[ChatState | None]:
    """Return the state with its messages, or None if messages moved while they were read."""
    messages: list[Message] = []
    is_whole = True
    while True:
        window = yield from calls.get_messages(chat["id"], len(messages), WINDOW)
        messages += window["results"]
        is_whole &= window["integrity"] == chat["integrity"]
        if len(messages) >= window["total"] or not window["results"]:
            break
    state = ChatState(chat["integrity"], chat["rev"], chat["metadata"], tuple(messages))
    if is_whole and is_gapless(messages, chat["message_count"]):
        return state
    try:
        changes = yield from calls.get_changes(chat["id"], chat["integrity"])
    except Gone:
        return None
    if not stay_in_place(messages, chat["message_count"], changes["changes"]):
        return None
    return state.after(changes["changes"], changes["integrity"], changes["rev"])


def stay_in_place(messages: Sequence[Message], count: int, changes: Sequence[Change]) -> bool:
    """Return True if ``changes`` made during the reading moved none of the first ``count`` messages."""
    delta = Delta.of(changes)
    known = {message["id"]: index for index, message in enumerate(messages)}
    if delta.deleted or not is_gapless(messages, len(messages)):
        return False
    return all(
        known.get(message["id"], message["index"]) == message["index"]
        and (message["id"] in known or message["index"] >= count)
        for message in delta.touched.values()
    )


def is_gapless(messages: Sequence[Message], count: int) -> bool:
    """Return True if these are ``count`` distinct messages in order without gaps."""
    ids = {message["id"] for message in messages}
    return len(ids) == count and [message["index"] for message in messages] == list(range(count))
