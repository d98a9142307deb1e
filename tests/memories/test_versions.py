"""Stored documents of any version are read: step by step, on copies, and nothing is taken away."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memories import versions
from apps.memories.versions import StepRemoves, TooNew, current_version, upgraded, versioned

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("kind", sorted(versions.STEPS))
@given(document=st.dictionaries(st.text().filter(lambda key: key != "schema_version"), JSON, max_size=4))
def test_a_document_of_version_0_is_read_and_keeps_everything(kind: str, document: dict[str, Any]) -> None:
    before = repr(document)
    newer = upgraded(kind, document)
    assert newer.pop("schema_version") == current_version(kind)
    assert newer == document
    assert repr(document) == before


@pytest.mark.parametrize("kind", sorted(versions.STEPS))
@pytest.mark.parametrize("version", [None, True, "1", -3, 0])
def test_an_odd_version_counts_as_the_first(kind: str, version: Any) -> None:
    assert upgraded(kind, {"schema_version": version, "a": 1}) == versioned(kind, {"a": 1})


@pytest.mark.parametrize("kind", sorted(versions.STEPS))
def test_a_current_document_stays_as_it_is_and_a_newer_one_is_refused(kind: str) -> None:
    document = versioned(kind, {"a": [1, {"b": 2}]})
    assert upgraded(kind, document) == document
    with pytest.raises(TooNew):
        upgraded(kind, {"schema_version": current_version(kind) + 1})


def test_steps_follow_each_other_from_any_version(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = tuple(lambda document, n=n: document | {"steps": [*document.get("steps", []), n]} for n in range(3))
    monkeypatch.setattr(versions, "STEPS", {"made_up": steps})
    assert [upgraded("made_up", {"schema_version": n} if n else {}).get("steps") for n in range(4)] == [
        [0, 1, 2],
        [1, 2],
        [2],
        None,
    ]


@pytest.mark.parametrize(
    "step",
    [
        lambda document: {},
        lambda document: document | {"list": document["list"][:1]},
        lambda document: document | {"inner": {}},
        lambda document: document | {"inner": None},
        lambda document: document | {"list": "gone"},
    ],
)
def test_a_step_that_removes_something_is_refused(monkeypatch: pytest.MonkeyPatch, step: Any) -> None:
    monkeypatch.setattr(versions, "STEPS", {"made_up": (step,)})
    document = {"inner": {"a": 1}, "list": [1, 2]}
    with pytest.raises(StepRemoves):
        upgraded("made_up", document)
    assert document == {"inner": {"a": 1}, "list": [1, 2]}
