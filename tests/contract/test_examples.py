"""The examples of the OpenAPI document: each is sent, in their order, and what comes back has the shape they show."""

import re
from typing import Any
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from config.api_examples import examples
from tests.contract.test_schema import document

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Ids = dict[str, str]  # what an id of the examples is here


def test_twenty_main_calls_have_an_example_in_the_document() -> None:
    described = document()["paths"]
    told = {(call["method"], call["path"]) for call in examples()}
    assert len(told) >= 20
    for call in examples():
        operation = described[call["path"]][call["method"]]
        if "request" in call:
            assert operation["requestBody"]["content"]["application/json"]["example"] == call["request"]
        if "response" in call:
            content = operation["responses"][str(call["status"])]["content"]["application/json"]
            assert content["example"] == call["response"]
        examples_of = {parameter["name"]: parameter.get("example") for parameter in operation.get("parameters", [])}
        assert examples_of.items() >= (call.get("values", {}) | call.get("query", {})).items()


def test_each_example_is_answered_as_it_says(alice: APIClient) -> None:
    ids: Ids = {}
    for call in examples():
        name = f"{call['method']} {call['path']}"
        address = call["path"].format(**here(call.get("values", {}), ids))
        if call["method"] == "get":
            reply = alice.get(address, here(call.get("query", {}), ids))
        else:
            reply = getattr(alice, call["method"])(address, here(call.get("request"), ids), format="json")
        assert reply.status_code == call["status"], f"{name}: {reply.content.decode()}"
        if "response" in call:
            shown, got = call["response"], reply.json()
            assert differences(shown, got) == [], name
            ids |= same_ids(shown, got)


@pytest.mark.parametrize(
    "got",
    [{"id": 1, "tags": ["a"]}, {"id": "x"}, {"id": "x", "tags": ["a"], "more": None}, {"id": "x", "tags": [1]}],
)
def test_another_shape_is_noticed(got: Any) -> None:
    shown = {"id": "y", "tags": ["b"]}
    assert differences(shown, {"id": "x", "tags": ["a", "c"]}) == []
    assert len(differences(shown, got)) == 1


def here(value: Any, ids: Ids) -> Any:
    """Return a value of an example with the ids that things have here."""
    if isinstance(value, dict):
        return {name: here(each, ids) for name, each in value.items()}
    if isinstance(value, list):
        return [here(each, ids) for each in value]
    return ids.get(value, value) if isinstance(value, str) else value


def same_ids(shown: Any, got: Any) -> Ids:
    """Return the ids of an example by those that stand at the same places of what came back."""
    if isinstance(shown, dict):
        return {a: b for name in shown for a, b in same_ids(shown[name], got[name]).items()}
    if isinstance(shown, list):
        return {a: b for one, other in zip(shown, got, strict=False) for a, b in same_ids(one, other).items()}
    is_id = isinstance(shown, str) and ID.fullmatch(shown) and isinstance(got, str) and UUID(got)
    return {shown: got} if is_id else {}


def differences(shown: Any, got: Any, where: str = "") -> list[str]:
    """Return where the shape differs: names of an object, types of values, and a list that has nothing."""
    if isinstance(shown, dict) and isinstance(got, dict):
        if shown.keys() != got.keys():
            return [f"{where or '/'}: {sorted(shown.keys() ^ got.keys())}"]
        return [found for name in shown for found in differences(shown[name], got[name], f"{where}/{name}")]
    if isinstance(shown, list) and isinstance(got, list):
        if bool(shown) != bool(got):
            return [f"{where}: {len(shown)} and {len(got)} entries"]
        return [
            found for one, other in zip(shown, got, strict=False) for found in differences(one, other, f"{where}/0")
        ]
    kinds = [float if type(value) is int else type(value) for value in (shown, got)]
    return [] if kinds[0] is kinds[1] else [f"{where}: {kinds[0].__name__} and {kinds[1].__name__}"]
