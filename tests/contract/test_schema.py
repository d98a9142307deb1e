"""The OpenAPI document describes what there is, and what there is bears what the document allows."""

import re
from functools import cache
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import transaction
from django.test import Client
from django.urls import get_resolver
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema
from hypothesis import HealthCheck, Phase, given, settings
from rest_framework.test import APIClient

from apps.common.api.serializer_fields import StrictSerializer
from apps.common.problems import ProblemType
from tests.contract.openapi import document
from tests.contract.test_owner_scope import routes
from tests.properties import HISTORIES

REQUESTS = max(HISTORIES // 2, 1)  # of each operation: there are two hundred
# The operations are known once the document is generated, which collecting tests should not wait for.
PARTS = 16


def test_the_document_is_valid_and_complete() -> None:
    GENERATOR_STATS.reset()
    generated = SchemaGenerator().get_schema(request=None, public=True)
    validate_schema(generated)
    GENERATOR_STATS.emit_summary()
    assert not GENERATOR_STATS
    described = {path.replace("{id}", "{pk}") for path in generated["paths"]}
    served = {
        "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
        for route in routes(get_resolver())
        if route.startswith("api/v1/")
    }
    assert described == served


def test_each_operation_has_a_description_of_its_own() -> None:
    for path, operations in document()["paths"].items():
        texts = [operation.get("description", "") for operation in operations.values() if "responses" in operation]
        assert all(texts), path
        assert len(set(texts)) == len(texts), path


def test_replies_are_described_as_they_are() -> None:
    generated = document()
    paths = generated["paths"]
    assert generated["components"]["schemas"]["Recall"]["properties"]["updated_at"]["nullable"]  # null in a preview
    assert paths["/api/v1/prompts/"]["get"]["responses"]["200"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/PromptTemplates"
    }
    message = "/api/v1/chats/{chat_id}/messages/{message_id}/"
    for path in (
        "/api/v1/chats/{chat_id}/fresh-start/",
        "/api/v1/prompts/{task}/",
        "/api/v1/chats/{chat_id}/scenes/{scene_id}/",
        f"{message}data/{{namespace}}/{{key}}/",
        f"{message}recap/",
    ):
        assert paths[path]["delete"]["responses"].keys() == {"200", "default"}
    events = paths["/api/v1/events/"]["get"]["description"]
    kinds = ("chat", "settings", "run", "reply", "chats", "memories", "resync")
    assert all(f"`event: {kind}`" in events for kind in kinds)


def test_problems_are_described_with_their_types_and_members() -> None:
    properties = document()["components"]["schemas"]["Problem"]["properties"]
    assert {"current_integrity", "current_rev", "changes", "conflicts", "reread"} <= properties.keys()
    assert all(f"`{known}`" in properties["type"]["description"] for known in ProblemType)


@pytest.mark.parametrize("call", ["append/", "patch/", "prompt/", "messages/{message_id}/recall/rerun/"])
def test_the_calls_of_every_turn_say_what_they_do(call: str) -> None:
    assert document()["paths"][f"/api/v1/chats/{{chat_id}}/{call}"]["post"]["description"]


def test_lists_say_how_much_a_page_holds() -> None:
    parameters = document()["paths"]["/api/v1/memories/"]["get"]["parameters"]
    descriptions = {parameter["name"]: parameter.get("description", "") for parameter in parameters}
    assert "50" in descriptions["limit"]
    assert "200" in descriptions["limit"]
    assert "`next`" in descriptions["cursor"]


def test_no_schema_has_the_description_of_a_class_behind_it() -> None:
    described = [schema.get("description") for schema in document()["components"]["schemas"].values()]
    assert StrictSerializer.__doc__ not in described


def test_its_pages_are_served(client: Client, db: None) -> None:
    assert client.get("/api/schema/").status_code == 200
    assert client.get("/api/docs/").status_code == 200


@cache
def operations() -> list[Any]:
    import schemathesis

    return [found.ok() for found in schemathesis.openapi.from_dict(document()).get_all_operations()]


@pytest.mark.parametrize("part", range(PARTS))
def test_no_request_makes_the_server_fail(part: int, alice: APIClient) -> None:
    asked = operations()[part::PARTS]
    assert asked
    for operation in asked:
        with transaction.atomic():
            ask_for_trouble(operation, alice)
            transaction.set_rollback(True)


def ask_for_trouble(operation: Any, alice: APIClient) -> None:
    """Send requests that the document allows for an operation, and look at the replies."""

    @settings(
        max_examples=REQUESTS,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        path = case.formatted_path
        body = case.body if isinstance(case.body, dict | list) else None
        reply = alice.generic(
            case.method,
            path if path.startswith("/") else f"/{path}",
            data=alice._encode_data(body, "json")[0] if body is not None else b"",
            content_type="application/json",
            QUERY_STRING=urlencode(case.query or {}, doseq=True, errors="surrogatepass"),
        )
        assert reply.status_code < 500, (operation.label, reply.content)
        if reply.status_code >= 400:
            assert reply["Content-Type"] == "application/problem+json", operation.label

    ask()
