"""What no client should send: each is an error that names itself, and nothing is written."""

import base64
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from apps.extraction.models import ExtractionRun
from apps.webhooks.models import Webhook
from tests.contract.openapi import document

BASE = "/api/v1/"
JSON, JSON_PATCH = "application/json", "application/json-patch+json"


def everything(client: APIClient, chat: dict[str, Any]) -> Any:
    url = f"{BASE}chats/{chat['id']}/"
    return [client.get(url).json(), client.get(f"{url}messages/").json(), client.get(f"{BASE}settings/").json()]


def send(client: APIClient, method: str, path: str, body: str | bytes, content_type: str = JSON) -> Any:
    return client.generic(method, BASE + path, body, content_type=content_type)


def writes(chat: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Each write of the wire protocol, with the member that holds its content."""
    url = f"chats/{chat['id']}/"
    return [
        ("POST", f"{url}append/", "messages"),
        ("POST", f"{url}patch/", "patches"),
        ("POST", f"{url}patch-metadata/", "metadata"),
        ("PATCH", "settings/", "settings"),
    ]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b'{"%s": NaN}', "NaN"),
        (b'{"%s": 1e999}', "too large"),
        (b'{"%s": ' + b"1" * 5000 + b"}", "4300 digits"),
        (b'{"%s": {}, "%s": {}}', "occurs twice"),
        (b'{"%s": {"a": {"k": 1, "k": 2}}}', "'k' occurs twice"),
        (b'{"%s": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested"),
        (b'{"%s": ' + b'{"a":' * 70 + b"1" + b"}" * 70 + b"}", "nested"),
        (b'{"%s": "a\\u0000b"}', "NUL"),
        (b'{"%s": {"a\\u0000b": 1}}', "NUL"),
        (b'{"%s": "\\ud800"}', "surrogate"),
    ],
)
def test_what_is_not_acceptable_json_is_a_400_everywhere(
    alice: APIClient, chat: dict[str, Any], body: bytes, reason: str
) -> None:
    before = everything(alice, chat)
    for method, path, member in writes(chat):
        reply = send(alice, method, path, body.replace(b"%s", member.encode()))
        assert reply.status_code == 400, (path, reply.content)
        assert reply["Content-Type"] == "application/problem+json"
        assert reason in reply.json()["detail"]
    assert everything(alice, chat) == before


@pytest.mark.parametrize("content", [None, 5, "text", True, [1], [None], [["a"]]])
def test_content_of_the_wrong_type_is_named(alice: APIClient, chat: dict[str, Any], content: Any) -> None:
    before = everything(alice, chat)
    for method, path, member in writes(chat):
        body = json.dumps({"integrity": chat["integrity"], member: content})
        reply = send(alice, method, path, body)
        assert reply.status_code == 400, (path, reply.content)
        assert reply.json()["errors"][0]["pointer"].startswith(f"/{member}")
    assert everything(alice, chat) == before


@pytest.mark.parametrize("body", ["", "[]", "5", '"text"', "null"])
def test_a_body_that_is_empty_or_no_object_is_a_400(alice: APIClient, chat: dict[str, Any], body: str) -> None:
    for method, path, _ in writes(chat):
        assert send(alice, method, path, body).status_code == 400


@pytest.mark.parametrize(
    ("envelope", "pointer"),
    [
        ({"integrity": "soon"}, "/integrity"),
        ({"integrity": 5}, "/integrity"),
        ({"integrity": 10**400}, "/integrity"),
        ({"force": "yes"}, "/force"),
        ({"on_conflict": "overwrite"}, "/on_conflict"),
        ({"unknown": 1}, "/unknown"),
    ],
)
def test_an_envelope_that_is_wrong_is_named(
    alice: APIClient, chat: dict[str, Any], envelope: dict[str, Any], pointer: str
) -> None:
    content = {"messages": [{"mes": "x"}], "patches": [{"index": 0, "set": {"mes": "x"}}]}
    before = everything(alice, chat)
    for method, path, member in writes(chat):
        reply = send(alice, method, path, json.dumps({member: content.get(member, {"a": 1})} | envelope))
        assert reply.status_code == 400, (path, reply.content)
        assert [error["pointer"] for error in reply.json()["errors"]] == [pointer]
    assert everything(alice, chat) == before


def test_ten_thousand_patches_are_too_many(alice: APIClient, chat: dict[str, Any]) -> None:
    before = everything(alice, chat)
    url = f"chats/{chat['id']}/"
    batches = {
        f"{url}patch/": ("patches", [{"index": 0, "set": {"mes": "x"}}]),
        f"{url}append/": ("messages", [{"mes": "x"}]),
    }
    for path, (member, content) in batches.items():
        reply = send(alice, "POST", path, json.dumps({"integrity": chat["integrity"], member: content * 10_000}))
        assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, f"/{member}")
        assert "1,000" in reply.json()["detail"]
    body = json.dumps({"integrity": chat["integrity"], "operations": [{"op": "remove", "path": "/a"}] * 10_000})
    for method, path in (("POST", f"{url}patch-metadata/"), ("PATCH", "settings/")):
        reply = send(alice, method, path, body, JSON_PATCH)
        assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/operations")
    assert everything(alice, chat) == before


def test_ten_thousand_wrong_patches_are_no_long_reply(alice: APIClient, chat: dict[str, Any]) -> None:
    body = json.dumps({"integrity": chat["integrity"], "patches": [{"wrong": 1}] * 10_000})
    reply = send(alice, "POST", f"chats/{chat['id']}/patch/", body)
    assert reply.status_code == 400
    assert len(reply.content) < 100_000


@pytest.mark.parametrize("operations", [None, {}, "x", [1], [None], [{"op": "add"}], [{"op": "x", "path": "/a"}]])
def test_operations_that_are_none_are_named(alice: APIClient, chat: dict[str, Any], operations: Any) -> None:
    before = everything(alice, chat)
    body = json.dumps({"integrity": chat["integrity"], "operations": operations})
    for method, path in (("POST", f"chats/{chat['id']}/patch-metadata/"), ("PATCH", "settings/")):
        reply = send(alice, method, path, body, JSON_PATCH)
        assert reply.status_code == 400, reply.content
        assert reply.json()["errors"][0]["pointer"].startswith("/operations")
    assert everything(alice, chat) == before


def test_huge_integers_are_kept_where_any_json_is(alice: APIClient, chat: dict[str, Any]) -> None:
    """A whole number of up to 4,300 digits is JSON as good as any; it must come back as it was."""
    number = 10**4000
    body = json.dumps({"integrity": chat["integrity"], "metadata": {"n": number}})
    assert send(alice, "POST", f"chats/{chat['id']}/patch-metadata/", body).status_code == 200
    assert json.loads(alice.get(f"{BASE}chats/{chat['id']}/").content)["metadata"]["n"] == number


def test_another_users_chat_is_not_there(alice: APIClient, charlie: APIClient, chat: dict[str, Any]) -> None:
    before = everything(alice, chat)
    for method, path, member in writes(chat)[:3]:
        assert send(charlie, method, path, json.dumps({member: {}})).status_code == 404
    assert everything(alice, chat) == before


def lists_by_cursor() -> list[str]:
    """The path of each list that comes by cursor, as the OpenAPI document tells it."""
    return [
        path
        for path, operations in document()["paths"].items()
        if any(parameter["name"] == "cursor" for parameter in operations.get("get", {}).get("parameters", ()))
    ]


def ids_of_lists(alice: APIClient, chat: dict[str, Any]) -> dict[str, Any]:
    owner = alice.user.pk
    run = ExtractionRun.objects.create(owner_id=owner, chat_id=chat["id"])
    webhook = Webhook.objects.create(owner_id=owner, url="https://example.com/", events=["memory.added"])
    return {"chat_id": chat["id"], "run_id": run.pk, "webhook_id": webhook.pk}


@pytest.mark.parametrize("content", [None, "p=abc", "p=", "p=a%00b", "p=2026-13-01", "o=-1", "o=x", "r=x"])
def test_a_cursor_that_no_page_gave_is_a_400_in_every_list(
    alice: APIClient, chat: dict[str, Any], content: str | None
) -> None:
    """None is a cursor that isn't even base64 of ASCII; the others are base64 of what can't be a place in a list."""
    cursor = "\u00e9" if content is None else base64.b64encode(content.encode()).decode()
    ids = ids_of_lists(alice, chat)
    paths = lists_by_cursor()
    assert len(paths) >= 10
    for path in paths:
        reply = alice.get(path.format(**ids), {"cursor": cursor})
        assert (reply.status_code, reply["Content-Type"]) == (400, "application/problem+json"), path
        assert [error["pointer"] for error in reply.json()["errors"]] == ["/cursor"]


@pytest.mark.parametrize("limit", ["null", "-1", "0", "1.5", "\u0663"])
def test_a_limit_that_is_no_number_is_a_400_in_every_list(alice: APIClient, chat: dict[str, Any], limit: str) -> None:
    ids = ids_of_lists(alice, chat)
    for path in lists_by_cursor():
        reply = alice.get(path.format(**ids), {"limit": limit})
        assert (reply.status_code, [error["pointer"] for error in reply.json()["errors"]]) == (400, ["/limit"]), path


def test_an_export_with_hidden_messages_or_without_them_is_asked_for(alice: APIClient, chat: dict[str, Any]) -> None:
    reply = alice.get(f"/api/v1/chats/{chat['id']}/export/?format=text&hidden=null")
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/hidden")


def test_a_method_that_no_route_has_is_a_405_with_any_key(alice: APIClient) -> None:
    for path in ("/api/v1/chats/", "/api/v1/personas/"):
        assert alice.generic("TRACE", path, HTTP_IDEMPOTENCY_KEY="k").status_code == 405


@pytest.mark.parametrize(
    ("fields", "pointers", "detail"),
    [
        ({}, ["/file"], "file is missing."),
        ({"fil": SimpleUploadedFile("a.jsonl", b"{}")}, ["/file", "/fil"], "file is missing."),
        ({"file": "a.jsonl"}, ["/file"], "file must be a file."),
        (
            {"file": SimpleUploadedFile("a.jsonl", b"{}"), "existing": "x"},
            ["/existing"],
            "must be one of: copy, update",
        ),
    ],
)
def test_an_import_without_its_file_says_so(
    alice: APIClient, fields: dict[str, Any], pointers: list[str], detail: str
) -> None:
    for path in ("chats/import/", "imports/"):
        reply = alice.post(f"{BASE}{path}", fields, format="multipart")
        assert (reply.status_code, [error["pointer"] for error in reply.json()["errors"]]) == (400, pointers)
        assert detail in reply.json()["detail"]


def test_a_body_of_another_kind_is_told_which_one_it_must_be(alice: APIClient) -> None:
    for path, kind in (("chats/import/", "multipart/form-data"), ("chats/", "application/json")):
        reply = send(alice, "POST", path, "x", "text/plain")
        assert (reply.status_code, reply.json()["detail"]) == (415, f"The body must be {kind}.")


@pytest.mark.parametrize(
    ("path", "body", "errors", "detail"),
    [
        ("personas/", {}, {"/name": "It is missing."}, "name is missing."),
        (
            "generation-presets/",
            {"nam": "Calm"},
            {"/name": "It is missing.", "/nam": "It is unknown."},
            "name is missing.",
        ),
        ("personas/", {"name": None}, {"/name": "It can't be null."}, "name can't be null."),
        ("personas/", {"name": ["Mira"]}, {"/name": "It must be a string."}, "name must be a string."),
        (
            "connections/",
            {"name": "A", "base_url": "https://models.example"},
            {"/backend": "It is missing."},
            "backend is missing.",
        ),
        ("journal/", {"text": "Rain."}, {"/granularity": "It is missing."}, "granularity is missing."),
        (
            "journal/",
            {"text": "Rain.", "granularity": None},
            {"/granularity": "It can't be null."},
            "granularity can't",
        ),
        ("chats/", {"title": "x" * 201}, {"/title": "It can have at most 200 characters."}, "title can have at most"),
        ("chats/", {"metadata": []}, {"/metadata": "It must be an object."}, "metadata must be an object."),
        ("chats/", [], {"": "It must be an object."}, "The body must be an object."),
        (
            "memories/search/",
            {"query": "x", "tiers": "messages"},
            {"/tiers": "It must be a list."},
            "tiers must be a list.",
        ),
        (
            "memories/search/",
            {"query": "x", "limit": "5"},
            {"/limit": "It must be a whole number."},
            "limit must be a whole",
        ),
    ],
)
def test_the_first_error_is_told_as_a_sentence(
    alice: APIClient, path: str, body: Any, errors: dict[str, str], detail: str
) -> None:
    reply = send(alice, "POST", path, json.dumps(body))
    assert {error["pointer"]: error["detail"] for error in reply.json()["errors"]} == errors
    assert reply.json()["detail"].startswith(detail)


def test_an_unknown_address_is_a_404_that_says_where_the_known_ones_are_listed(alice: APIClient) -> None:
    for path in ("chat/", "chats/x/", "chats"):
        reply = alice.get(f"{BASE}nothing/{path}")
        assert (reply.status_code, reply["Content-Type"]) == (404, "application/problem+json")
        assert "/api/docs/" in reply.json()["detail"]


@pytest.mark.parametrize(("field", "value"), [("swipe_id", 1), ("swipe_info", [{}, {}])])
def test_a_number_of_swipes_is_told_without_a_plural(
    alice: APIClient, chat: dict[str, Any], field: str, value: Any
) -> None:
    body = {"integrity": chat["integrity"], "message": {"mes": "Hi.", field: value}}
    reply = send(alice, "POST", f"chats/{chat['id']}/append/", json.dumps(body))
    [error] = reply.json()["errors"]
    assert error["pointer"] == f"/message/{field}"
    assert error["detail"].endswith(", 1.")


@pytest.mark.parametrize("value", ["", 0, "soon", {}])
def test_what_is_no_id_is_not_taken_as_none(alice: APIClient, chat: dict[str, Any], value: Any) -> None:
    url = f"chats/{chat['id']}/"
    writes = [
        *(("PATCH", url, name, {}) for name in ("connection", "character", "persona")),
        *(("POST", "lorebooks/", name, {"name": "Salt"}) for name in ("character", "persona", "chat")),
        ("POST", "model-tests/", "connection", {}),
    ]
    before = everything(alice, chat)
    for method, path, name, others in writes:
        reply = send(alice, method, path, json.dumps({**others, name: value}))
        assert reply.status_code == 400, (path, name, reply.content)
        assert [error["pointer"] for error in reply.json()["errors"]] == [f"/{name}"]
    assert everything(alice, chat) == before


def test_an_empty_field_of_a_form_is_none(alice: APIClient) -> None:
    file = SimpleUploadedFile("a.jsonl", b'{"user_name":"Alice","character_name":"unused"}\n{"name":"A","mes":"a"}')
    reply = alice.post(f"{BASE}chats/import/", {"file": file, "character": ""}, format="multipart")
    assert reply.status_code == 201, reply.content
