"""Render message text as HTML: Markdown without raw HTML, with direct speech in ``span`` elements.

Uploaded images are shown, and those that are part of the text, as data URLs. Others are links: loading them would tell
their server who reads what, and when.
"""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import nh3
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token

from apps.chats.images.references import ImageAddress

# In characters, not counting images. Longer texts are displayed without markup, since rendering it would take too long.
MAX_MARKUP_LENGTH = 100_000

# The elements and attributes that rendered messages may have.
_TAGS = {
    *("p", "br", "em", "strong", "s", "span", "a", "blockquote", "ul", "ol", "li", "code", "pre", "hr"),
    *("table", "thead", "tbody", "tr", "th", "td", "img"),
}
_ATTRIBUTES = {
    "a": {"href", "class", "target"},
    "img": {"src", "alt", "width", "height", "loading"},
    "span": {"class"},
    "p": {"class"},
    "ol": {"start"},
}
# An image in the text. While the text is rendered, a short URL stands for its data, which may be megabytes.
_DATA_IMAGE = re.compile(r"(!\[[^\]\n]{0,1000}\])\((data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2})\)")
_IMAGE_SCHEME = "loci-image"
_IMAGE = re.compile(rf'<img src="{_IMAGE_SCHEME}:(\d{{1,6}})"')
_URL_SCHEMES = {"http", "https", "mailto", _IMAGE_SCHEME}
_SPEECH_PATTERN = re.compile(r"&quot;.+?&quot;|“[^“”]+”|«[^«»]+»|„[^„“]+“")


def render_text(text: str) -> SafeString:
    """Return the text of a message as safe HTML."""
    images: list[str] = []

    def take(match: re.Match[str]) -> str:
        images.append(match[2])
        return f"{match[1]}({_IMAGE_SCHEME}:{len(images) - 1})"

    text = _DATA_IMAGE.sub(take, text)
    if len(text) > MAX_MARKUP_LENGTH:
        return mark_safe(f'<p class="raw">{escape(text)}</p>')  # noqa: S308 - escaped
    rendered = _markdown.render(text)
    html = nh3.clean(
        rendered,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        link_rel="noopener noreferrer nofollow",
        url_schemes=_URL_SCHEMES,
    )

    def put_back(match: re.Match[str]) -> str:
        number = int(match[1])
        return f'<img src="{images[number]}"' if number < len(images) else "<img"

    return mark_safe(_IMAGE.sub(put_back, html))  # noqa: S308 - cleaned, and data URLs hold no quotation marks


def plain_text(text: str, limit: int = 200) -> str:
    """Return the beginning of a message in one line, without markup, cut between words."""
    line = without_markup(text[: 2 * limit])
    return line if len(line) <= limit else f"{line[:limit].rpartition(' ')[0]} …"


def without_markup(text: str) -> str:
    """Return a message in one line, without markup."""
    text = re.sub(r"!\[([^\]]*)\]\([^)\s]*\)?", lambda image: f"[{image[1] or 'image'}]", text)
    return " ".join(re.sub(r"[*_`#>|~]+", "", text).split())


def _render_text_token(renderer: RendererProtocol, tokens: Sequence[Token], index: int, *options: Any) -> str:
    text = str(escape(tokens[index].content))
    return _SPEECH_PATTERN.sub(lambda match: f'<span class="speech">{match[0]}</span>', text)


def _render_image_token(renderer: RendererProtocol, tokens: Sequence[Token], index: int, *options: Any) -> str:
    """Return an image of ours or in the text; a link to any other one, which opens in a tab of its own."""
    source, alt = str(tokens[index].attrGet("src") or ""), tokens[index].content
    if address := ImageAddress.parse(source):
        url, size = reverse("api-image", args=[address.key]), f'width="{address.width}" height="{address.height}"'
        return f'<img src="{url}" alt="{escape(alt)}" {size} loading="lazy">'
    if source.startswith(f"{_IMAGE_SCHEME}:"):
        return f'<img src="{escape(source)}" alt="{escape(alt)}">'
    words = f"Open the image: {alt or urlsplit(source).hostname or source}"
    return f'<a class="remote-image" href="{escape(source)}" target="_blank">{escape(words)}</a>'


def _make_markdown() -> MarkdownIt:
    """Return a CommonMark parser that preserves line breaks and renders headings as paragraphs."""
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["strikethrough", "table"])
    # Chats indent paragraphs, so four spaces don't mean code.
    markdown.disable(["code", "html_block", "html_inline"])
    markdown.add_render_rule("text", _render_text_token)
    markdown.add_render_rule("image", _render_image_token)
    markdown.add_render_rule("heading_open", lambda *_: '<p class="heading">')
    markdown.add_render_rule("heading_close", lambda *_: "</p>")
    return markdown


_markdown = _make_markdown()
