"""JSON Patch: results by RFC 6902, errors that name the operation, size limits."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonpatch import JsonPatch

from apps.common.documents.json_patch import MAX_OPERATIONS, PatchTestFailed, apply
from apps.common.problems import Invalid

KEYS = st.sampled_from(["a", "b", "~", "/", "", "0"])
LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, "x"])
VALUES = st.recursive(LEAVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=3), max_leaves=8)
POINTERS = st.lists(KEYS | st.sampled_from(["-", "1", "01"]), max_size=3).map(
    lambda parts: "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
)
OPERATIONS = st.one_of(
    st.fixed_dictionaries({"op": st.sampled_from(["add", "replace", "test"]), "path": POINTERS, "value": VALUES}),
    st.fixed_dictionaries({"op": st.just("remove"), "path": POINTERS}),
    st.fixed_dictionaries({"op": st.sampled_from(["move", "copy"]), "from": POINTERS, "path": POINTERS}),
)


def patched(document: Any, *operations: Any, max_copied: int = 10_000) -> Any:
    return apply(document, operations, max_copied=max_copied)


@pytest.mark.parametrize(
    ("document", "operation", "result"),
    [
        ({"a": 1}, {"op": "add", "path": "/b", "value": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"op": "add", "path": "/a", "value": 2}, {"a": 2}),
        ({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": [2]}, {"a": [1, [2]]}),
        ({"a": 1}, {"op": "add", "path": "", "value": {"b": None}}, {"b": None}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}),
        ({"a/b": {"m~n": 1}}, {"op": "replace", "path": "/a~1b/m~0n", "value": 2}, {"a/b": {"m~n": 2}}),
        ({"a": {"b": 1}, "c": {}}, {"op": "move", "from": "/a/b", "path": "/c/d"}, {"a": {}, "c": {"d": 1}}),
        ({"a": [1, 2, 3]}, {"op": "move", "from": "/a/0", "path": "/a/2"}, {"a": [2, 3, 1]}),
        ({"a": {"b": 1}}, {"op": "copy", "from": "/a", "path": "/a/c"}, {"a": {"b": 1, "c": {"b": 1}}}),
        ({"a": 1}, {"op": "test", "path": "/a", "value": 1.0}, {"a": 1}),
        ({"": 5}, {"op": "test", "path": "/", "value": 5, "unknown": True}, {"": 5}),
    ],
)
def test_each_operation_does_what_the_rfc_says(document: Any, operation: Any, result: Any) -> None:
    before = copy.deepcopy(document)
    assert patched(document, operation) == result
    assert document == before


@pytest.mark.parametrize(
    ("operation", "pointer"),
    [
        ("add", "/operations/1"),
        ({"op": "append", "path": "/a", "value": 1}, "/operations/1/op"),
        ({"op": ["add"], "path": "/a", "value": 1}, "/operations/1/op"),
        ({"op": "add", "path": "/a"}, "/operations/1/value"),
        ({"op": "remove"}, "/operations/1/path"),
        ({"op": "remove", "path": 5}, "/operations/1/path"),
        ({"op": "remove", "path": "a"}, "/operations/1/path"),
        ({"op": "remove", "path": "/~2"}, "/operations/1/path"),
        ({"op": "remove", "path": "/gone"}, "/operations/1/path"),
        ({"op": "remove", "path": "/list/-"}, "/operations/1/path"),
        ({"op": "replace", "path": "/gone", "value": 1}, "/operations/1/path"),
        ({"op": "add", "path": "/list/01", "value": 1}, "/operations/1/path"),
        ({"op": "add", "path": "/list/4", "value": 1}, "/operations/1/path"),
        ({"op": "add", "path": "/gone/x", "value": 1}, "/operations/1/path"),
        ({"op": "add", "path": "/text/0", "value": 1}, "/operations/1/path"),
        ({"op": "move", "from": "/list", "path": "/list/0"}, "/operations/1/path"),
        ({"op": "move", "from": "/gone", "path": "/a"}, "/operations/1/from"),
        ({"op": "copy", "from": "/list/-", "path": "/a"}, "/operations/1/from"),
    ],
)
def test_an_impossible_operation_is_named(operation: Any, pointer: str) -> None:
    document = {"list": [1, 2, 3], "text": "x"}
    with pytest.raises(Invalid) as caught:
        patched(document, {"op": "add", "path": "/new", "value": 1}, operation)
    assert [error.pointer for error in caught.value.errors] == [pointer]
    assert len(caught.value.detail) < 300
    assert document == {"list": [1, 2, 3], "text": "x"}


@pytest.mark.parametrize("value", [True, "1", [1], None, 2])
def test_a_test_that_fails_names_its_operation(value: Any) -> None:
    with pytest.raises(PatchTestFailed) as caught:
        patched({"a": 1}, {"op": "test", "path": "/a", "value": value})
    assert caught.value.document()["errors"][0]["pointer"] == "/operations/0/path"


def test_the_size_of_copies_is_limited() -> None:
    doubling = [{"op": "copy", "from": "", "path": f"/{n}"} for n in range(60)]
    with pytest.raises(Invalid, match="copy more than 10000 bytes"):
        patched({"text": "x" * 100}, *doubling)


def test_the_depth_of_the_result_is_limited() -> None:
    with pytest.raises(Invalid, match="levels deep"):
        patched({}, {"op": "add", "path": "/a" * 100, "value": {}})
    with pytest.raises(Invalid, match="levels deep"):
        patched(_nested(60), {"op": "add", "path": "/a" * 60, "value": _nested(20)})
    endless = [{"op": "copy", "from": "", "path": "/a" * 60}] * 100
    with pytest.raises(Invalid, match="too deeply"):
        patched(_nested(60), *endless, max_copied=10**9)


def _nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def test_the_number_of_operations_is_limited() -> None:
    with pytest.raises(Invalid, match=str(MAX_OPERATIONS)):
        patched({}, *[{"op": "test", "path": "", "value": {}}] * (MAX_OPERATIONS + 1))


@given(VALUES, st.lists(OPERATIONS, max_size=5))
def test_operations_one_by_one_give_the_same_result(document: Any, operations: list[Any]) -> None:
    try:
        expected = JsonPatch(operations).apply(document)
    except Exception:
        with pytest.raises((Invalid, PatchTestFailed)):
            patched(document, *operations)
    else:
        assert patched(document, *operations) == expected
