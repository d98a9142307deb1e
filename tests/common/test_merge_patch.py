"""JSON Merge Patch: results by RFC 7396, and computed differences."""

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from apps.common.documents.merge_patch import apply, diff, diff_by_key

KEYS = st.sampled_from(["a", "b", "c"])
LEAVES = st.none() | st.booleans() | st.integers(0, 2) | st.just(1.0) | st.text("xy", max_size=2)
VALUES = st.recursive(LEAVES, lambda v: st.lists(v, max_size=2) | st.dictionaries(KEYS, v, max_size=3), max_leaves=8)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=3)


def text(value: Any) -> str:
    """Return a form in which 1, 1.0 and true differ; in Python they are equal."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [  # the examples of RFC 7396, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_examples_of_the_rfc(document: Any, patch: Any, result: Any) -> None:
    assert apply(document, patch) == result


@given(OBJECTS, OBJECTS)
def test_applying_a_difference_gives_the_new_document(old: Any, new: Any) -> None:
    patch = diff(old, new)
    assume(patch is not None)
    assert text(apply(old, patch)) == text(new)


@given(OBJECTS, OBJECTS)
def test_a_patched_document_has_a_difference_unless_it_needs_a_null(old: Any, patch: Any) -> None:
    new = apply(old, patch)
    found = diff(old, new)
    assert found is None or text(apply(old, found)) == text(new)
    if "null" not in text(new):
        assert found is not None


@given(OBJECTS, OBJECTS)
def test_a_difference_by_key_gives_any_document(old: Any, new: Any) -> None:
    patch, replaced = diff_by_key(old, new)
    assert text({**apply(old, patch), **{key: patch[key] for key in replaced}}) == text(new)
    assert all("null" in text(patch[key]) for key in replaced)


@given(OBJECTS, OBJECTS)
def test_keys_keep_their_order_and_new_ones_come_last(old: Any, patch: Any) -> None:
    kept = [key for key in old if patch.get(key, 0) is not None]
    added = [key for key, value in patch.items() if key not in old and value is not None]
    assert list(apply(old, patch)) == kept + added


@given(OBJECTS, OBJECTS)
def test_a_document_is_never_changed_in_place(old: Any, patch: Any) -> None:
    before = text([old, patch])
    apply(old, patch)
    assert text([old, patch]) == before


@given(OBJECTS)
def test_no_difference_is_the_empty_patch(document: Any) -> None:
    assert diff(document, document) == {}
