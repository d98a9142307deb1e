"""Chats that are told, changed and read, through the operations of the product."""

from collections.abc import Sequence
from typing import Any

from apps.accounts.models import User
from apps.chats import operations
from apps.chats.locking import Guard
from apps.chats.message_data.parsed import ParsedSwipe
from apps.chats.models import Chat, Message
from apps.chats.operations.patches import Patch
from apps.extraction.models import ExtractionRun
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.extraction.runs.settling import extract_if_due, invalidate_if_exists
from tests.factories import make_character, make_chat, parsed

UNGUARDED = Guard(optional=True)  # a forced write would store a snapshot of the chat before each

# One marker of every tier, in three scenes' worth of messages; the user speaks first, and every other time.
STORY = (
    "FACT(3): Mira lives in Port Salt.\nFEELS: Mira -> Alice: wary(high)",
    "DETAIL(2): Alice carries a brass key.\nARC: Mira is looking for her brother Tom.",
    "STATE: Mira/character/location=harbour | mood=calm",
    "EVENT(3): Tom sold the ferry.\nKNOWS(Mira): The ferry was sold.\n"
    "DEVELOPMENT(2): Alice and Mira agreed to share the reward.",
    "PREFERENCE(2): Alice loves strong coffee.",
    "HIDES(Mira from Alice): The key opens the chart room.\nFEELS: Mira -> Alice: warm(medium), !wary",
    "Three days later, the two of them stood on the quay of Marrow.\nSTATE: Mira/character/location=quay",
    "FACT(3): Mira lives in Marrow now.\nRESOLVED: Mira found her brother Tom.",
    "STATE: Mira/character/mood=cleared\nREVELATION(3): Tom never left the island.",
    "Two weeks later, they met again in a tavern of Marrow.\nKNOWS(Alice): The key opens the chart room.",
    "Three days later, the ferry came back to the harbour.\nOVER: The ferry was sold.",
    "The next morning, Mira woke up at the lighthouse.",
    "She was alone.",
    "Good.",
)


def tell(owner: User, *texts: str, **fields: Any) -> Chat:
    """A chat with a character; the user speaks first, then they take turns."""
    return make_chat(owner, *texts, character=make_character(owner), **fields)


def append(chat: Chat, *texts: str, is_user: bool = False, **fields: Any) -> None:
    operations.append_messages(chat.owner_id, chat.pk, [parsed(text, is_user=is_user, **fields) for text in texts])


def patch(chat: Chat, *patches: Patch) -> None:
    operations.patch_messages(chat.owner_id, chat.pk, list(patches), UNGUARDED)


def swipe(chat: Chat, index: int, text: str) -> None:
    """The message gets another version, which is the active one."""
    patch(chat, Patch(index=index, add_swipe=ParsedSwipe(text)))


def swipe_back(chat: Chat, index: int, position: int = 0) -> None:
    patch(chat, Patch(index=index, swipe_id=position))


def edit(chat: Chat, index: int, text: str) -> None:
    patch(chat, Patch(index=index, values={"mes": text}))


def delete(chat: Chat, index: int) -> None:
    patch(chat, Patch(index=index, delete=True))


def undo(chat: Chat) -> None:
    operations.undo_change(chat.owner_id, chat.pk, UNGUARDED)


def message(chat: Chat, index: int) -> Message:
    return Message.objects.for_owner(chat.owner_id).with_swipes().get(chat=chat, index=index)


def read(chat: Chat, **options: Any) -> ExtractionRun:
    """A run over what is new, taken here and now."""
    run, made = start_run(chat.owner_id, chat, **options)
    assert made, "a run had not ended"
    return taken(run)


def taken(run: ExtractionRun) -> ExtractionRun:
    while pipeline.execute(run.pk):
        pass
    run.refresh_from_db()
    return run


def settle(chat: Chat) -> list[ExtractionRun]:
    """Do what the background tasks do once a chat has changed, and return the runs that it took."""
    found: list[ExtractionRun] = []
    while True:
        chat = Chat.objects.for_owner(chat.owner_id).select_related("character").get(pk=chat.pk)
        invalidate_if_exists(chat)
        extract_if_due(chat)
        run = chat.runs.active().first()
        if run is None:
            return found
        found.append(taken(run))
        if found[-1].state != ExtractionRun.State.SUCCEEDED:
            return found


def states(found: Sequence[ExtractionRun]) -> list[tuple[str, str]]:
    return [(run.state, run.error) for run in found]
