"""Load the demo: an account, a character, two imported chats, and their memories, recalls and journal."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from apps.accounts.models import User
from apps.accounts.operations import ensure_user
from apps.chats.models import Character, Chat, Message
from apps.chats.operations import create_character, delete_character, purge_chat
from apps.exchange.chats.imports import import_chats
from apps.extraction.models import ExtractionRun
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.launcher.demo.journal import write_journal
from apps.launcher.demo.readings import write_reading
from apps.llm.models import Connection
from apps.llm.operations import create_connection, use_for
from apps.prompts.models import Recall
from apps.prompts.operations import recall_turn
from apps.search.indexing import index_messages

FOLDER = Path(__file__).parent
CHARACTER_FILE = FOLDER / "ione_tarrow.json"
STORY_FILES = {"The Salt Road": FOLDER / "the_salt_road.jsonl", "The Third Key": FOLDER / "the_third_key.jsonl"}
RECALLED_TURNS = 20  # number of last user turns of each story that get a recall card
EXTRACTION_TIMEOUT = 60.0  # seconds, if a worker has claimed the run
POLL_INTERVAL = 0.2  # seconds


class ExtractionFailed(RuntimeError):
    """The extraction of a story failed or timed out."""


def seed_demo() -> Iterator[str]:
    """Load the missing parts of the demo. Yield a sentence for each step done.

    It can be interrupted at any point and run again. Raise ExtractionFailed.
    """
    owner = ensure_user(settings.DEMO_EMAIL, settings.DEMO_PASSWORD, name="Demo")
    for title, path in STORY_FILES.items():
        chat = _find_chat(owner, path)
        if chat is None:
            with path.open("rb") as file:
                result = import_chats(owner, file, filename=path.name, title=title, character=_ensure_character(owner))
            chat = result.chats[0]
            yield f"Imported {title}, {chat.message_count} messages."
        if not _is_extracted(chat):
            count = _extract(owner, chat)
            yield f"Extracted {count} memories from {title}."
        if write_reading(owner, chat, title):
            yield f"Read {title} as a model does."
        index_messages(owner, chat)
        count = _recall_last_turns(owner, chat)
        if count:
            yield f"Made {count} recalls for {title}."
        if write_journal(owner, chat):
            yield f"Wrote {title} into the journal."
    if connect_model(owner):
        yield f"Connected {settings.DEMO_MODEL}."


def connect_model(owner: User) -> bool:
    """Connect the model server of the settings, unless the account has a connection. Return whether it was connected.

    That is the last step, since memories of the stories need no model.
    """
    if not (settings.DEMO_MODEL_URL and settings.DEMO_MODEL) or Connection.objects.for_owner(owner).exists():
        return False
    with transaction.atomic():
        fields = {"name": "Demo", "base_url": settings.DEMO_MODEL_URL, "model": settings.DEMO_MODEL}
        use_for(create_connection(owner, **fields), generation=True)
    return True


def delete_demo() -> None:
    """Delete all chats and characters of the demo's account."""
    owner = User.objects.filter(email__iexact=settings.DEMO_EMAIL).first()
    if owner is None:
        return
    for chat in [*Chat.objects.for_owner(owner), *Chat.in_bin.for_owner(owner)]:
        purge_chat(owner, chat.pk)
    for character in Character.objects.for_owner(owner):
        delete_character(character)


def _find_chat(owner: User, path: Path) -> Chat | None:
    """Return the chat that was imported from this file, or None. Both have the same integrity in their metadata."""
    with path.open(encoding="utf-8") as file:
        integrity = json.loads(file.readline())["chat_metadata"]["integrity"]
    chats = Chat.objects.for_owner(owner).select_related("character")
    return next((chat for chat in chats if chat.metadata.get("integrity") == integrity), None)


def _ensure_character(owner: User) -> Character:
    """Return the demo's character. Create it if it is missing."""
    card: dict[str, Any] = json.loads(CHARACTER_FILE.read_text(encoding="utf-8"))
    character = Character.objects.for_owner(owner).filter(name=card["name"]).first()
    field_names = {field.name for field in Character._meta.concrete_fields}
    return character or create_character(owner, **{name: value for name, value in card.items() if name in field_names})


def _is_extracted(chat: Chat) -> bool:
    return chat.runs.filter(state=ExtractionRun.State.SUCCEEDED).exists()


def _extract(owner: User, chat: Chat) -> int:
    """Run the chat's extraction, or wait for the worker that has claimed it. Return the number of memories.

    Raise ExtractionFailed.
    """
    run, _ = start_run(owner, chat)
    pipeline.execute(run.pk)
    deadline = time.monotonic() + EXTRACTION_TIMEOUT
    while not _is_extracted(chat):
        if time.monotonic() > deadline or chat.runs.filter(pk=run.pk, state=ExtractionRun.State.FAILED).exists():
            raise ExtractionFailed(f"The demo's chat {chat.title} could not be extracted.")
        time.sleep(POLL_INTERVAL)
    return chat.memories.count()


def _recall_last_turns(owner: User, chat: Chat) -> int:
    """Make the missing recalls of the story's recent user turns. Return how many were made."""
    turns = Message.objects.for_owner(owner).filter(chat=chat, is_user=True).with_swipes().order_by("-index")
    recent = list(turns[:RECALLED_TURNS])
    recalled_ids = set(Recall.objects.for_owner(owner).filter(message__in=recent).values_list("message_id", flat=True))
    missing = [message for message in recent if message.pk not in recalled_ids]
    for message in missing:
        recall_turn(chat, message)
    return len(missing)
