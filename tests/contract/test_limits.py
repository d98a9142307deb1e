"""What one request may cost: items, values and memory. What is too much is refused before it is worked through."""

import json
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from apps.exchange.formats import json_lines

# A tenth of what parsing what is sent here took; a refusal takes some hundredths of a second.
AT_ONCE = 1.0  # seconds of processor time
ITEMS = 75_000


@contextmanager
def counted_calls(*modules: str) -> Iterator[Counter[str]]:
    """Count the calls of functions in the modules that a path ends with."""
    calls: Counter[str] = Counter()

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_filename.endswith(modules):
            calls[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize(
    ("path", "key", "item"),
    [
        ("patch/", "patches", {"index": 0, "set": {"mes": "x"}}),
        ("append/", "messages", {"mes": "x"}),
    ],
)
def test_items_are_counted_before_they_are_validated(
    alice: APIClient, chat: dict[str, Any], path: str, key: str, item: dict[str, Any]
) -> None:
    address = f"/api/v1/chats/{chat['id']}/{path}"
    alice.post(address, {"integrity": chat["integrity"], key: []})  # the first request of a process imports modules
    body = json.dumps({"integrity": chat["integrity"], key: [item] * ITEMS})
    with counted_calls("rest_framework/serializers.py", "rest_framework/fields.py") as calls:
        reply = alice.generic("POST", address, body, content_type="application/json")
    assert sum(calls.values()) < ITEMS / 10  # validated, each item makes several
    assert reply.status_code == 400
    assert [error["pointer"] for error in reply.json()["errors"]] == [f"/{key}"]


def test_rows_named_in_a_request_are_counted_before_they_are_looked_up(
    alice: APIClient, chat: dict[str, Any], django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(10):
        reply = alice.post("/api/v1/memories/merge/", {"memories": [chat["id"]] * 1000, "text": "x"})
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/memories")


@pytest.mark.parametrize("body", [b"[" + b"{}," * 2_700_000 + b"{}]", b'["' + b'\\"' * 4_000_000 + b"," * 600_000])
def test_many_values_are_refused_before_they_are_in_memory(alice: APIClient, chat: dict[str, Any], body: bytes) -> None:
    started = time.process_time()
    tracemalloc.start()
    reply = alice.generic("POST", f"/api/v1/chats/{chat['id']}/append/", body, content_type="application/json")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reply.status_code in (400, 413)
    assert peak < 12 * len(body)  # the copies of the test client among them; parsed, it would be 30 times as much
    assert time.process_time() - started < 5 * AT_ONCE


def test_values_of_files_are_limited_too(alice: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "MAX_VALUES", 300_000)
    card = b'{"name": "Mira", "data": [' + b"{}," * 310_000 + b"{}]}"
    tracemalloc.start()
    upload = {"file": SimpleUploadedFile("card.json", card)}
    reply = alice.post("/api/v1/characters/import/", upload, format="multipart")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (reply.status_code, "more than 300000 values" in reply.content.decode()) == (400, True)
    assert peak < 12 * len(card)


def test_commas_inside_of_texts_are_no_values(alice: APIClient, settings: Any) -> None:
    settings.REQUEST_MAX_VALUES = 3
    assert alice.post("/api/v1/chats/", {"title": 'a, b, [c], {d}, ", e'}).status_code == 201
    assert alice.post("/api/v1/chats/", {"title": "a", "user_name": "b", "pinned": True, "tags": []}).status_code == 413


@pytest.mark.parametrize("text", ["k{0}: v\n", "? a\n", "- - - "], ids=["keys", "marks", "nested"])
def test_yaml_takes_no_seconds(alice: APIClient, text: str) -> None:
    card = "name: Mira\n" + "".join(text.format(number) for number in range(390_000 // len(text)))
    started = time.process_time()
    reply = alice.post(
        "/api/v1/characters/import/", {"file": SimpleUploadedFile("card.yaml", card.encode())}, format="multipart"
    )
    assert time.process_time() - started < AT_ONCE
    assert reply.status_code == 400
