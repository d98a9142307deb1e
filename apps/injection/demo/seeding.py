"""Loads the demo the way a person would: an account, a character, two chats, and then what Loci does itself."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings

from apps.accounts.models import User
from apps.accounts.operations import ensure_user
from apps.chats.models import Character, Chat, Message
from apps.chats.operations import create_character, delete_character, delete_chat
from apps.chats.transfer.imports import import_chats
from apps.extraction import pipeline
from apps.extraction.models import ExtractionRun
from apps.extraction.runs import start_run
from apps.injection.models import Recall
from apps.injection.recalling import recall_turn
from apps.memories.passages import index_messages

FOLDER = Path(__file__).parent
CARD = FOLDER / "ione_tarrow.json"
STORIES = {"The Salt Road": FOLDER / "the_salt_road.jsonl", "The Third Key": FOLDER / "the_third_key.jsonl"}
RECALLED_TURNS = 20  # user turns from the end of each story that get a recall card
PATIENCE = 60.0  # seconds that a worker may take for a story that it was quicker to begin
POLL = 0.2  # seconds


class ExtractionStuck(RuntimeError):
    """The run of a story failed, or takes too long."""


def seed() -> Iterator[str]:
    """Load what is missing of the demo, and say in words what is being done; nothing, where all is there.

    It may be interrupted at any point and run again.
    """
    owner = ensure_user(settings.DEMO_EMAIL, settings.DEMO_PASSWORD, name="Demo")
    for title, path in STORIES.items():
        chat = _imported(owner, path)
        if chat is None:
            chat = _import(owner, title, path)
            yield f"Imported {title}, {chat.message_count} messages."
        if not _is_extracted(chat):
            count = _extract(owner, chat)
            yield f"Remembered {count} things of {title}."
        index_messages(owner, chat)
        made = _recall_last_turns(owner, chat)
        if made:
            yield f"Recalled for {made} turns of {title}."


def remove() -> None:
    """Delete what the demo's account has."""
    owner = User.objects.filter(email__iexact=settings.DEMO_EMAIL).first()
    if owner is None:
        return
    for chat in Chat.objects.for_owner(owner):
        delete_chat(chat)
    for character in Character.objects.for_owner(owner):
        delete_character(character)


def _imported(owner: User, path: Path) -> Chat | None:
    """The chat that was made from this file, which its metadata names."""
    with path.open(encoding="utf-8") as file:
        mark = json.loads(file.readline())["chat_metadata"]["integrity"]
    chats = Chat.objects.for_owner(owner).select_related("character")
    return next((chat for chat in chats if chat.metadata.get("integrity") == mark), None)


def _import(owner: User, title: str, path: Path) -> Chat:
    with path.open("rb") as file:
        result = import_chats(owner, file, filename=path.name, title=title, character=_character(owner))
    return result.chats[0]


def _character(owner: User) -> Character:
    card: dict[str, Any] = json.loads(CARD.read_text(encoding="utf-8"))
    found = Character.objects.for_owner(owner).filter(name=card["name"]).first()
    known = {field.name for field in Character._meta.concrete_fields}
    return found or create_character(owner, **{name: value for name, value in card.items() if name in known})


def _is_extracted(chat: Chat) -> bool:
    return chat.runs.filter(state=ExtractionRun.State.SUCCEEDED).exists()


def _extract(owner: User, chat: Chat) -> int:
    """Go through the chat's run here, or wait for the worker that has it already; how many memories it has then.

    Raises ExtractionStuck.
    """
    run, _ = start_run(owner, chat)
    pipeline.execute(run.pk)
    deadline = time.monotonic() + PATIENCE
    while not _is_extracted(chat):
        if time.monotonic() > deadline or chat.runs.filter(pk=run.pk, state=ExtractionRun.State.FAILED).exists():
            raise ExtractionStuck(f"The demo's chat {chat.title} could not be extracted.")
        time.sleep(POLL)
    return chat.memories.count()


def _recall_last_turns(owner: User, chat: Chat) -> int:
    """Make the recalls that the story's last user turns lack; how many."""
    turns = Message.objects.for_owner(owner).filter(chat=chat, is_user=True).with_swipes().order_by("-index")
    last = list(turns[:RECALLED_TURNS])
    present = set(Recall.objects.for_owner(owner).filter(message__in=last).values_list("message_id", flat=True))
    missing = [message for message in last if message.pk not in present]
    for message in missing:
        recall_turn(chat, message)
    return len(missing)
