"""The walk through JSON documents."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.exchange.formats import json_stream
from apps.exchange.formats.json_lines import BrokenLine
from apps.exchange.formats.json_stream import BrokenDocument, JsonStream, array_at

# Without NUL, which is replaced.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


def ignore(_: str) -> None:
    """Of values that need no repair."""


def stream_of(content: bytes) -> JsonStream:
    return JsonStream(io.BytesIO(content))


@pytest.mark.parametrize("chunk", [1, 7, 2**18])
@given(values=st.lists(VALUES), indent=st.sampled_from([None, 2]))
def test_values_come_as_they_were_written(values: list[Any], indent: int | None, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_CHUNK_BYTES", chunk)
        stream = stream_of(json.dumps(values, indent=indent).encode())
        assert [stream.value(ignore) for _ in stream.items()] == values
        assert stream.peek() == b""


@given(VALUES, st.lists(VALUES))
def test_what_is_not_asked_for_is_passed_over(other: Any, values: list[Any]) -> None:
    document = {"other": other, "a": {"other": other, "b": values, "c": other}, "d": other}
    stream = stream_of(json.dumps(document).encode())
    assert [stream.value(ignore) for number in array_at(stream, ("a", "b"))] == values


def test_a_broken_or_large_value_costs_only_itself() -> None:
    stream = stream_of(b'["a", nul, {"b" 1}, "' + b"x" * 1000 + b'", [[[[2]]]], 3]')
    found = []
    for _ in stream.items():
        try:
            found.append(stream.value(ignore, 100))
        except BrokenLine as broken:
            found.append(str(broken)[:6])
    assert found == ["a", "Not va", "Not va", "Larger", [[[[2]]]], 3]


@pytest.mark.parametrize("content", [b"", b"[", b"[1", b"[1,", b'["a', b"[1 2]", b"[1}", b"[,]", b"[1,]", b'[{"a":1'])
def test_a_document_that_can_not_go_on(content: bytes) -> None:
    stream = stream_of(content)
    with pytest.raises(BrokenDocument):
        sum(1 for _ in stream.items() if stream.value(ignore))


@pytest.mark.parametrize("content", [b"{1:2}", b'{"a"}', b'{"a":}', b'{"a":1', b'{"a":1,}', b"[]"])
def test_an_object_that_can_not_go_on(content: bytes) -> None:
    stream = stream_of(content)
    with pytest.raises(BrokenDocument):
        sum(1 for _ in stream.members() if stream.value(ignore))
