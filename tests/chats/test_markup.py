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


CAT = "data:image/png;base64,iVBORw0KGgo="


def test_an_image_in_the_text_is_shown_at_once_and_one_of_another_server_by_a_click() -> None:
    assert render_text(f"See: ![a cat]({CAT})") == f'<p>See: <img src="{CAT}" alt="a cat"></p>\n'
    link = render_text("![a cat](https://elsewhere.example/cat.png)")
    assert "<img" not in link
    assert 'href="https://elsewhere.example/cat.png"' in link
    assert 'rel="noopener noreferrer nofollow"' in link
    assert "Open the image: a cat" in link


def test_an_image_of_any_size_leaves_the_text_its_markup() -> None:
    large = f"data:image/webp;base64,{'A' * 2 * MAX_MARKUP_LENGTH}"
    assert render_text(f"*She* ![]({large})") == f'<p><em>She</em> <img src="{large}" alt=""></p>\n'


@pytest.mark.parametrize(
    "text",
    ["![x](loci-image:0)", f"[x]({CAT})", "![x](data:image/svg+xml;base64,AAAA)", '![x](data:image/png;base64,A")'],
)
def test_only_images_have_data(text: str) -> None:
    assert not re.search(r"<[^>]*data:", render_text(text))


def test_a_document_is_shown_as_it_is() -> None:
    assert render_text("<b>" + "*x* " * MAX_MARKUP_LENGTH).startswith('<p class="raw">&lt;b&gt;*x*')


@given(st.text())
def test_no_text_breaks_it_or_brings_a_tag_of_its_own(text: str) -> None:
    tags = set(re.findall(r"<(\w+)", render_text(text)))
    assert not tags & {"script", "style", "img", "iframe", "object", "form", "input", "h1", "h2"}


def test_the_plain_beginning() -> None:
    assert plain_text('*She*\n\nsaid: "no"') == 'She said: "no"'
    assert plain_text(f"See ![a cat]({CAT * 20}) there") == "See [a cat]"
    assert plain_text("See ![](https://elsewhere.example/a.png) there") == "See [image] there"
    assert plain_text("word " * 100, limit=20) == "word word word word …"
