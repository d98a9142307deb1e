"""Read passages with a model and measure what is kept: facts, traps, unused lines, calls, tokens, seconds."""

import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import append_messages, create_chat
from apps.extraction.models import ModelCall
from apps.memories.models import Memory
from tests.extraction.engine.story import read
from tests.factories import make_character, parsed

OWN = Path(__file__).with_name("passages.json")
COLUMNS = tuple("passage messages kept facts stored traps memories unused calls tokens seconds".split())


@dataclass(frozen=True)
class Measured:
    """What a reading of a passage kept and cost."""

    name: str
    texts: Sequence[str]
    figures: Mapping[str, float]


def passages() -> list[dict[str, Any]]:
    """Return the passages of this folder, or those of the file of JSON lines that LOCI_TEST_PASSAGES names.

    LOCI_TEST_PASSAGES_IDS limits those to some, separated by commas.
    """
    if not (path := os.environ.get("LOCI_TEST_PASSAGES")):
        return list(json.loads(OWN.read_text(encoding="utf-8")))
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    wanted = set(filter(None, os.environ.get("LOCI_TEST_PASSAGES_IDS", "").split(",")))
    return [
        {**row, "name": row["id"], "messages": [(one["name"], one["mes"]) for one in row["messages"]]}
        for row in rows
        if not wanted or row["id"] in wanted
    ]


def chat_of(owner: User, passage: Mapping[str, Any]) -> Chat:
    """Return a new chat with the messages of a passage."""
    character = make_character(owner, passage["character"])
    chat = create_chat(owner, character=character, title=passage["name"], user_name=passage["user"])
    append_messages(
        owner,
        chat.pk,
        [
            parsed(text, name=name, is_user=name == passage["user"], send_date=f"2026-02-01T10:{minute:02d}:00Z")
            for minute, (name, text) in enumerate(passage["messages"])
        ],
    )
    return chat


def measure(owner: User, passage: Mapping[str, Any]) -> Measured:
    """Read a passage, and count what is kept of it."""
    chat = chat_of(owner, passage)
    start = time.monotonic()
    run = read(chat)
    seconds = time.monotonic() - start
    assert run.state == "succeeded", run.error
    memories = Memory.objects.for_owner(owner).active().filter(chat=chat)
    texts = list(memories.order_by("pk").values_list("text", flat=True))
    calls = ModelCall.objects.for_owner(owner).filter(run=run)
    figures = {
        "messages": len(passage["messages"]),
        "kept": sum(is_told(fact["keywords"], texts) for fact in passage["facts"]),
        "facts": len(passage["facts"]),
        "stored": sum(is_told(trap["keywords"], texts) for trap in passage["traps"]),
        "traps": len(passage["traps"]),
        "memories": len(texts),
        "unused": run.counts.get("unused", 0),
        "calls": calls.count(),
        "tokens": sum(call.prompt_tokens + call.completion_tokens for call in calls),
        "seconds": seconds,
    }
    return Measured(passage["name"], texts, figures)


def is_told(keywords: Iterable[str], texts: Iterable[str]) -> bool:
    """Return whether one of the texts has an alternative of each keyword, in any case."""
    return any(
        all(any(_has(text, word) for word in alternatives.split("|")) for alternatives in keywords) for text in texts
    )


def _has(text: str, word: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(word.casefold())}", text.casefold())) or (
        not word.isascii() and word.casefold() in text.casefold()
    )


def table(rows: Sequence[Measured]) -> str:
    """Return the figures of all passages, their sums, and what they are a message."""
    sums = {name: sum(row.figures[name] for row in rows) for name in COLUMNS[1:]}
    lines = ["  ".join(f"{name:>10}" for name in COLUMNS)]
    for name, figures in [*((row.name, row.figures) for row in rows), ("all", sums)]:
        lines.append("  ".join([f"{name:>10}", *(f"{figures[column]:>10.0f}" for column in COLUMNS[1:])]))
    each = {name: sums[name] / sums["messages"] for name in ("memories", "tokens", "seconds")}
    lines.append(
        f"kept {sums['kept'] / sums['facts']:.3f}, traps {sums['stored'] / max(sums['traps'], 1):.3f}, a message: "
        f"{each['memories']:.2f} memories, {each['tokens']:.0f} tokens, {each['seconds']:.1f} s"
    )
    return "\n".join(lines)
