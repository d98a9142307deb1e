import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.replies.documents import DONE, NoDocument, documents, error_message_from_text, excerpt_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
DOCUMENTS = st.lists(
    st.dictionaries(TEXT, TEXT | st.integers() | st.none(), max_size=3),
    min_size=1,
    max_size=5,
)


def chunked(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


@given(DOCUMENTS, st.integers(1, 40), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_documents_are_whole_however_the_chunks_are_split(given_documents, size, end, as_events):
    prefix, gap = ("data: ", end * 2) if as_events else ("", end)
    body = "".join(prefix + json.dumps(one, ensure_ascii=False) + gap for one in given_documents)
    assert list(documents(chunked(body.encode(), size))) == given_documents


@given(DOCUMENTS.map(lambda given: given[0]), st.integers(1, 40))
def test_a_body_over_several_lines(document, size):
    body = json.dumps({"outer": document}, indent=2).encode()
    assert list(documents(chunked(body, size))) == [{"outer": document}]


@given(st.binary(max_size=200))
def test_any_bytes_are_documents_or_none(body):
    with contextlib.suppress(NoDocument):
        assert all(isinstance(document, dict) for document in documents([body]))


def test_an_event_stream_with_all_kinds_of_lines():
    body = b': hello\r\nevent: message\nid: 1\nretry: 5\ndata:{"a": 1}\n\ndata: {broken\n\ndata: [DONE]\n\n'
    assert list(documents([body])) == [{"a": 1}, DONE]


def test_a_document_is_yielded_as_soon_as_it_is_complete():
    def chunks():
        yield b'data: {"a": 1}\n'
        raise ConnectionError

    assert next(documents(chunks())) == {"a": 1}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"error": {"message": "Too long"}}', "Too long"),
        ('{"error": "Too long"}', "Too long"),
        ('[{"error": {"message": "Too long"}}]', "Too long"),
        ('{"detail": "Not Found"}', "Not Found"),
        ('{"detail": [{"loc": ["body"], "msg": "wrong"}]}', '[{"loc": ["body"], "msg": "wrong"}]'),
        ('{"message": "No"}', "No"),
        ("plain\n words\x00", "plain words"),
        ("<html><head><title>Bad\n Gateway</title></head>secret</html>", "a web page, “Bad Gateway”"),
        ("<!DOCTYPE html><body>secret", "a web page without a title"),
        ("", ""),
    ],
)
def test_messages_of_error_replies(body, message):
    assert error_message_from_text(body) == message


@given(st.text())
def test_an_excerpt_is_one_short_line(text):
    excerpt = excerpt_of(text)
    assert len(excerpt) <= 250
    assert excerpt.isprintable()
