"""Add what a client of mem0 sends: as memories as they are, or as messages that are read."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from apps.chats.models import Chat
from apps.chats.operations import append_messages
from apps.common.problems import Invalid
from apps.common.scoping import Owner, owner_id_of
from apps.extraction.runs.operations import request_run
from apps.mem0.ids import Ids, chat_of
from apps.mem0.messages import SYSTEM, parsed_message
from apps.mem0.models import Mem0Event
from apps.memories.models import Memory
from apps.memories.operations import NewMemory, create_memory
from apps.memories.operations.memories import MAX_TEXT_LENGTH, Vector, vectors_of


@dataclass(frozen=True)
class Addition:
    """Messages to add with ids, and what the memories from them are to have."""

    ids: Ids
    messages: Sequence[dict[str, Any]]
    metadata: dict[str, Any] = field(default_factory=dict)
    tags: Sequence[str] = ()
    expires_at: dt.datetime | None = None
    at: dt.datetime | None = None

    @property
    def data(self) -> dict[str, Any]:
        return {"metadata": self.metadata, "tags": list(self.tags), "expires_at": self.expires_at}


@transaction.atomic
def store_as_they_are(owner: Owner, addition: Addition) -> Mem0Event:
    """Store the text of each message as a memory, without the system's. Raise Invalid for a text that is too long."""
    for number, message in enumerate(addition.messages):
        if len(message["content"]) > MAX_TEXT_LENGTH:
            detail = f"A memory has at most {MAX_TEXT_LENGTH} characters. Longer texts are for infer=true."
            raise Invalid.at(f"/messages/{number}/content", detail)
    texts = [message["content"] for message in addition.messages if message["role"] != SYSTEM]
    vectors = vectors_of(owner, texts)  # a server may take its time for them, and nobody waits for a lock meanwhile
    chat = chat_of(owner, addition.ids)
    memories = [_store(owner, chat, text, vector, addition) for text, vector in zip(texts, vectors, strict=True)]
    return Mem0Event.objects.create(
        owner_id=owner_id_of(owner), chat=chat, memories=[memory.pk for memory in memories], **addition.data
    )


def _store(owner: Owner, chat: Chat, text: str, vector: Vector, addition: Addition) -> Memory:
    new = NewMemory(text, Memory.Tier.LONG_TERM, Memory.Kind.FACT, chat=chat, **addition.data)
    memory = create_memory(owner, new, editor=str(owner), vector=vector)
    set_created_at(memory, addition.at)
    return memory


def set_created_at(memory: Memory, at: dt.datetime | None) -> None:
    """Set when a memory was made, if the client says so."""
    if at is not None:
        Memory.objects.for_owner(memory.owner_id).filter(pk=memory.pk).update(created_at=at)


@transaction.atomic
def append_and_read(owner: Owner, addition: Addition) -> Mem0Event:
    """Append the messages to the chat of the ids, and start a run that reads them to the last one."""
    chat = chat_of(owner, addition.ids)
    parsed = [parsed_message(message, chat, addition.at) for message in addition.messages]
    stored = append_messages(owner, chat.pk, parsed).messages
    run, _ = request_run(owner, chat, asked=True, whole=True)
    return Mem0Event.objects.create(
        owner_id=owner_id_of(owner), chat=chat, run=run, first=stored[0], last=stored[-1], **addition.data
    )
