"""Assembly of a prompt for a chat of 5,000 messages with 18,000 memories, compared to a search in that chat.

Targets: a median below 60 ms, and at most 1.6 times that of the search; for the search at most 3 times an exact scan of
the vectors.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import numpy as np
from django.db import connection, transaction

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.chats.operations import find_or_create_character
from apps.common.database.restriction import restricted_to
from apps.llm.backends.selection import embedder_for
from apps.llm.embeddings import get_embedder
from apps.memories.models import Memory, Passage
from apps.prompts.assembly.prompt import Prompt, assemble
from apps.prompts.assembly.requests import PromptRequest
from apps.search.service import SearchQuery, search
from apps.text.lexemes import Lexemes
from benchmarks.page import chat_with_text
from benchmarks.search import BATCH, MEMORIES, QUESTIONS, scan_vectors, store_memories
from benchmarks.timing import interleaved, ratio, summary

MESSAGES, CONTEXT, ROUNDS, WARM_UP = 5000, 16_384, 40, 5


def main() -> None:
    """Assemble prompts and search alternately, then measure the parts of the assembly, and print both."""
    owner = User.objects.create_user("bench-prompt@example.com")
    chat = chat_with_memories(owner)
    character = chat.character
    assert character is not None
    asked, sought = cycle(QUESTIONS), cycle(QUESTIONS)
    calls: dict[str, Callable[[], object]] = {
        "prompt": lambda: prompt(chat, next(asked)),
        "search": lambda: search(owner, SearchQuery(next(sought), chat=chat.pk, character=character.pk, limit=100)),
        "scan": lambda: scan_vectors(owner, "memories_memory", "memories_passage"),
    }
    with restricted_to(owner.pk):  # by row-level security, as requests are
        interleaved(calls, WARM_UP)
        times = interleaved(calls, ROUNDS)
    print(f"prompt of {MESSAGES} messages, {MEMORIES} memories: {summary(times['prompt'])} (target: p50 60)")
    print(f"search in the same chat:              {summary(times['search'])}")
    print(f"bare scan of the vectors:             {summary(times['scan'])}")
    print(f"prompt ratio of medians {ratio(times['prompt'], times['search']):.2f} (target: 1.6)")
    print(f"search ratio to the bare scan {ratio(times['search'], times['scan']):.2f} (target: 3)")
    report_parts(chat)
    slots = prompt(chat, QUESTIONS[0]).slots
    for item in slots:
        if item.text:
            print(f"  {item.slot.name:14} {item.tokens:5} of {item.budget:5} tokens")
    injected, budget = sum(item.tokens for item in slots), sum(item.budget for item in slots)
    print(f"tokens injected {injected} of {budget}")


def prompt(chat: Chat, question: str) -> Prompt:
    """Assemble the prompt for a turn that is not sent yet."""
    return assemble(
        PromptRequest(chat=chat, text=question, character=chat.character, context_tokens=CONTEXT, has_history=True)
    )


def chat_with_memories(owner: User) -> Chat:
    """Create the chat with its search index and its memories: one half of the chat, the other of its character."""
    character = find_or_create_character(owner, "Mira")
    chat = chat_with_text(owner, MESSAGES, character)
    messages = list(Message.objects.for_owner(owner).filter(chat=chat).with_swipes().order_by("index"))
    store_passages(messages)
    tiers, kinds = (Memory.Tier.SESSION, Memory.Tier.LONG_TERM), list(Memory.Kind)
    store_memories(
        owner,
        lambda number: {
            "chat": chat,
            "story": chat.story,
            "character": character,
            "tier": tiers[number % 2],
            "kind": kinds[number // 2 % len(kinds)],
            "valid_from": messages[number * MESSAGES // MEMORIES],
        },
    )
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")  # nothing is written in the background while times are measured
    return chat


def store_passages(messages: list[Message]) -> None:
    """Insert the search index of messages, with random vectors: a model would take minutes."""
    noise, embedder = np.random.default_rng(3), get_embedder()
    size = embedder.embed(["size"]).shape[1]
    for start in range(0, len(messages), BATCH):
        vectors = iter(noise.normal(0, 1 / size**0.5, (2 * BATCH, size)))
        Passage.objects.bulk_create(
            Passage(
                owner_id=message.owner_id,
                chat_id=message.chat_id,
                message=message,
                message_rev=message.rev,
                speaker=message.name,
                is_user=message.is_user,
                length=80,
                window_length=240,
                embedding=next(vectors),
                window_embedding=next(vectors),
                embedding_model=embedder.model,
                lexemes=Lexemes(message.mes),
                window_lexemes=Lexemes(message.mes),
            )
            for message in messages[start : start + BATCH]
        )


def report_parts(chat: Chat) -> None:
    """Print which shares of the assembly are embedding, SQL, and the rest: ranking, counting tokens, rendering.

    In a transaction nothing runs at the same time, so that the parts add up.
    """
    spent: Counter[str] = Counter()
    with restricted_to(chat.owner_id), transaction.atomic(), timed_embedding(chat.owner_id, spent), timed_sql(spent):
        begun = time.perf_counter()
        for question, _ in zip(cycle(QUESTIONS), range(ROUNDS), strict=False):
            prompt(chat, question)
        whole = time.perf_counter() - begun
    print(f"parts of {whole * 1000 / ROUNDS:.1f} ms where nothing runs at the same time:")
    spent["rendering and the rest"] = whole - spent["embedding"] - spent["SQL"]
    for name in ("embedding", "SQL", "rendering and the rest"):
        print(f"  {name:22} {spent[name] / whole:4.0%}  {spent[name] * 1000 / ROUNDS:6.1f} ms")
    print(f"  {spent['statements'] // ROUNDS} statements, {spent['texts'] // ROUNDS} embedded texts")


@contextmanager
def timed_sql(spent: Counter[str]) -> Iterator[None]:
    """Add the time of SQL statements."""

    def execute_timed(execute: Callable[..., Any], *args: Any) -> Any:
        begun = time.perf_counter()
        try:
            return execute(*args)
        finally:
            spent["SQL"] += time.perf_counter() - begun  # type: ignore[assignment]
            spent["statements"] += 1

    with connection.execute_wrapper(execute_timed):
        yield


@contextmanager
def timed_embedding(owner_id: Any, spent: Counter[str]) -> Iterator[None]:
    """Add the time of embedding."""
    kind = type(embedder_for(owner_id))
    embed = kind.embed

    def embed_timed(self: Any, texts: list[str], *args: Any, **options: Any) -> Any:
        begun = time.perf_counter()
        try:
            return embed(self, texts, *args, **options)
        finally:
            spent["embedding"] += time.perf_counter() - begun  # type: ignore[assignment]
            spent["texts"] += len(texts)

    kind.embed = embed_timed  # type: ignore[assignment]
    try:
        yield
    finally:
        kind.embed = embed
