"""Message text as HTML."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.chats.pages.markup import MAX_MARKUP_LENGTH, plain_text, render_text


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*She waits.*", "<p><em>She waits.</em></p>"),
        ('"Hello," he said.', '<p><span class="speech">"Hello,"</span> he said.</p>'),
        ("“Hello,” he said.", '<p><span class="speech">“Hello,”</span> he said.</p>'),
        ("One\nTwo", "<p>One<br>\nTwo</p>"),
        ("    indented", "<p>indented</p>"),
        ("# Loud", '<p class="heading">Loud</p>'),
        ("~~no~~", "<p><s>no</s></p>"),
        ("Tom & Jerry", "<p>Tom &amp; Jerry</p>"),
        ("", ""),
    ],
)
def test_what_chats_use(text: str, html: str) -> None:
    assert render_text(text).strip() == html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "![x](https://elsewhere.example/track.png)",
        '<p style="position:fixed">',
        "[x](data:text/html;base64,AAAA)",
    ],
)
def test_what_would_do_something_does_nothing(text: str) -> None:
    html = render_text(text)
    assert not re.search(r"<(script|img|style|iframe)", html)
    assert not re.search(r"<[^>]*(javascript:|data:|onerror=|style=)", html)


def test_a_document_is_shown_as_it_is() -> None:
    assert render_text("<b>" + "*x* " * MAX_MARKUP_LENGTH).startswith('<p class="raw">&lt;b&gt;*x*')


@given(st.text())
def test_no_text_breaks_it_or_brings_a_tag_of_its_own(text: str) -> None:
    tags = set(re.findall(r"<(\w+)", render_text(text)))
    assert not tags & {"script", "style", "img", "iframe", "object", "form", "input", "h1", "h2"}


def test_the_plain_beginning() -> None:
    assert plain_text('*She*\n\nsaid: "no"') == 'She said: "no"'
    assert plain_text("word " * 100, limit=20) == "word word word word …"
