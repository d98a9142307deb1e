"""Extraction of a long chat by the built-in backend: time, messages a second and memory of each pass.

The chat is the file BENCH_CHAT, or a generated one. Baseline: reading and embedding the same messages.
"""

import io
import json
import os
import time
from pathlib import Path

import psutil

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.exchange.chats.imports import import_chats
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.llm.embeddings import get_embedder

PASSES = 5
MESSAGES = 660
PLACES = ("Port Salt", "Harrow", "the lighthouse", "Lisbon", "the old mill")
PEOPLE = ("Anna", "Tom", "Ines", "Ruben", "Salma")


def main() -> None:
    """Run and print all passes."""
    owner = User.objects.create_user("bench-catchup@example.com")
    baseline = _embedding_seconds(_import_chat(owner))
    process = psutil.Process()
    for number in range(1, PASSES + 1):
        chat = _import_chat(owner)
        seconds = _extraction_seconds(chat)
        print(
            f"pass {number}: {chat.message_count} messages in {seconds:.1f} s, {chat.message_count / seconds:.1f} a "
            f"second, {seconds / baseline:.1f} of embedding them; memory {process.memory_info().rss / 2**20:.0f} MB"
        )


def _import_chat(owner: User) -> Chat:
    path = os.environ.get("BENCH_CHAT")
    data = Path(path).read_bytes() if path else _generated()
    [chat] = import_chats(owner, io.BytesIO(data), filename="long.jsonl").chats
    return chat


def _generated() -> bytes:
    lines = [{"user_name": "Alice", "character_name": "Mira"}]
    for n in range(MESSAGES):
        person, place = PEOPLE[n % 5], PLACES[n // 5 % 5]
        text = f'{person} moved to {place} in {1700 + n}. "I will find the key of {place}," said {person}, and left.'
        lines.append({"name": "Alice" if n % 2 else "Mira", "is_user": bool(n % 2), "mes": text})
    return "\n".join(map(json.dumps, lines)).encode()


def _embedding_seconds(chat: Chat) -> float:
    """Return the time to embed all messages, after a warm-up."""
    texts = [message.mes for message in chat.messages.with_swipes()]
    get_embedder().embed(texts[:1])
    started = time.perf_counter()
    get_embedder().embed(texts)
    return time.perf_counter() - started


def _extraction_seconds(chat: Chat) -> float:
    """Return the time of an extraction run over the chat. Raises RuntimeError if the run fails."""
    run, _ = start_run(chat.owner_id, chat)
    started = time.perf_counter()
    pipeline.execute(run.pk)
    seconds = time.perf_counter() - started
    run.refresh_from_db()
    if run.state != run.State.SUCCEEDED:
        raise RuntimeError(f"The run {run.state}: {run.error}")
    return seconds
