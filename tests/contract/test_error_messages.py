"""Each write of the API says in words of its own what is wrong with a request, and where."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import cycle
from typing import Any

import pytest
from django.db import transaction

from tests.contract.conftest import client_of
from tests.contract.openapi import document
from tests.contract.test_owner_scope import alices, stored_once  # noqa: F401
from tests.lanes import further

SHAPES = ("{}", "null", "[]", '"text"', '{"no_such_field": 1}')
WRONG_VALUES = (None, {"a": [1]}, 5)
LONG_VALUE = "x" * 200_000
FRAMEWORK_WORDS = re.compile(
    r"this field|ensure|valid (choice|string|boolean|uuid|number|integer)|expected a|invalid (data|pk)|no data",
    re.IGNORECASE,
)


def bodies_of(operation: dict[str, Any], shapes: Iterable[str], values: Iterable[Any]) -> Iterator[str]:
    """Bodies that few writes take: of another shape, and with wrong values of all known fields."""
    yield from shapes
    for content in operation.get("requestBody", {}).get("content", {}).values():
        name = content["schema"].get("$ref", "").rpartition("/")[2]
        fields = document()["components"]["schemas"].get(name, {}).get("properties", {})
        yield from (json.dumps(dict.fromkeys(fields, value)) for value in values)


@pytest.mark.parametrize("every", [False, further(True)], ids=["a shape", "every shape"])
def test_every_write_says_in_words_of_its_own_what_is_wrong_and_where(
    every: bool,
    alices: dict[str, Any],  # noqa: F811
) -> None:
    """And names it in the detail, for those who read nothing else."""
    turn, values = cycle(SHAPES), cycle([WRONG_VALUES, WRONG_VALUES, (*WRONG_VALUES, LONG_VALUE)])
    client = client_of(alices["user"])
    checked = 0
    ids = defaultdict(lambda: "custom", alices, id=alices["pk"])  # a name, where a route has no id of Loci's
    for route, operations in document()["paths"].items():
        for method, operation in operations.items():
            if method not in ("post", "put", "patch"):
                continue
            shapes = SHAPES if every else [next(turn)]
            for body in bodies_of(operation, shapes, (*WRONG_VALUES, LONG_VALUE) if every else next(values)):
                with transaction.atomic():
                    path = route.format_map(ids)
                    reply = client.generic(method.upper(), path, body, content_type="application/json")
                    transaction.set_rollback(True)
                if reply.status_code < 400:
                    continue
                problem = reply.json()
                where = f"{method} {route} {body[:80]} {problem}"
                assert reply.status_code < 500, where
                texts = [problem["detail"], *(error["detail"] for error in problem.get("errors", ()))]
                assert not any(map(FRAMEWORK_WORDS.search, texts)), where
                assert not problem["detail"].startswith("It "), where
                assert max(map(len, texts)) < 500, where
                checked += 1
    assert checked > (500 if every else 250)
