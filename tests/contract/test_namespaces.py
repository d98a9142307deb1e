"""What comes in with a message or a swipe is checked as what is written to its data."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.contract.test_patch_operations import messages, now, patch, url

WRONG = {"auto_recap_memory": {"memory": 1}}


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"extra": WRONG}, "/extra"),
        ({"extra": {"loci": {"leave_out": None}}}, "/extra"),
        ({"swipes": ["a", "b"], "swipe_info": [{}, {"extra": WRONG}]}, "/swipe_info/1/extra"),
    ],
)
def test_an_append_refuses_data_of_a_wrong_type(
    alice: APIClient, chat: dict[str, Any], fields: dict[str, Any], pointer: str
) -> None:
    reply = alice.post(url(chat, "append"), {"messages": [{"mes": "ok"}, {"mes": "a", **fields}]})
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"].startswith(f"/messages/1{pointer}/")
    inserted = patch(alice, chat, {"index": 0, "insert_before": {"mes": "a", **fields}})
    assert inserted.json()["errors"][0]["pointer"].startswith(f"/patches/0/insert_before{pointer}/")
    assert now(alice, chat)["rev"] == chat["rev"]


def test_a_new_swipe_refuses_data_of_a_wrong_type(alice: APIClient, chat: dict[str, Any]) -> None:
    reply = patch(alice, chat, {"index": 1, "add_swipe": {"mes": "b", "extra": WRONG}})
    assert reply.json()["errors"][0]["pointer"] == "/patches/0/add_swipe/extra/auto_recap_memory/memory"
    assert len(messages(alice, chat)[1]["swipes"]) == 1


def test_a_namespace_is_bounded_however_it_comes(alice: APIClient, chat: dict[str, Any], settings: Any) -> None:
    settings.MESSAGE_DATA_MAX_BYTES = 50
    large = {"notes": {"a": "x" * 60}}
    assert alice.post(url(chat, "append"), {"message": {"mes": "a", "extra": large}}).status_code == 413
    assert patch(alice, chat, {"index": 1, "add_swipe": {"mes": "b", "extra": large}}).status_code == 413
    kept = {"notes": {"a": None}, "model": "m", "list": ["x" * 60]}
    assert alice.post(url(chat, "append"), {"message": {"mes": "a", "extra": kept}}).status_code == 201
    assert messages(alice, chat)[-1]["extra"] == kept
