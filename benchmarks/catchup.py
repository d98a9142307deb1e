"""A long chat caught up with by the built-in backend in one go: wall time, messages a second, memory pass by pass.

The chat is a file that BENCH_CHAT names, or one made up. Baseline: the same messages read and embedded, and no more.
"""

import io
import json
import os
import time
from pathlib import Path

import psutil

from apps.accounts.models import User
from apps.chats.imports import import_chats
from apps.chats.models import Chat
from apps.extraction import pipeline, runs
from apps.llm.embeddings import get_embedder

PASSES = 5
MESSAGES = 660
PLACES = ("Port Salt", "Harrow", "the lighthouse", "Lisbon", "the old mill")
PEOPLE = ("Anna", "Tom", "Ines", "Ruben", "Salma")


def main() -> None:
    owner = User.objects.create_user("bench-catchup@example.com")
    pipeline.MAX_SECONDS = float("inf")  # in one go
    baseline = _embed_all(_imported(owner))
    process = psutil.Process()
    for number in range(1, PASSES + 1):
        chat = _imported(owner)
        seconds = _catch_up(chat)
        print(
            f"pass {number}: {chat.message_count} messages in {seconds:.1f} s, {chat.message_count / seconds:.1f} a "
            f"second, {seconds / baseline:.1f} of embedding them; memory {process.memory_info().rss / 2**20:.0f} MB"
        )


def _imported(owner: User) -> Chat:
    path = os.environ.get("BENCH_CHAT")
    data = Path(path).read_bytes() if path else _made_up()
    [chat] = import_chats(owner, io.BytesIO(data), filename="long.jsonl").chats
    return chat


def _made_up() -> bytes:
    lines = [{"user_name": "Alice", "character_name": "Mira"}]
    for n in range(MESSAGES):
        person, place = PEOPLE[n % 5], PLACES[n // 5 % 5]
        text = f'{person} moved to {place} in {1700 + n}. "I will find the key of {place}," said {person}, and left.'
        lines.append({"name": "Alice" if n % 2 else "Mira", "is_user": bool(n % 2), "mes": text})
    return "\n".join(map(json.dumps, lines)).encode()


def _embed_all(chat: Chat) -> float:
    texts = [message.mes for message in chat.messages.with_swipes()]
    get_embedder().embed(texts[:1])
    begun = time.perf_counter()
    get_embedder().embed(texts)
    return time.perf_counter() - begun


def _catch_up(chat: Chat) -> float:
    run, _ = runs.start_run(chat.owner_id, chat)
    begun = time.perf_counter()
    pipeline.execute(run.pk)
    seconds = time.perf_counter() - begun
    run.refresh_from_db()
    if run.state != run.State.SUCCEEDED:
        raise RuntimeError(f"The run {run.state}: {run.error}")
    return seconds
