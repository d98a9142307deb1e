"""Render message text as HTML: Markdown without raw HTML, with direct speech in ``span`` elements."""

import re
from collections.abc import Sequence
from typing import Any

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token

# In characters. Longer texts are displayed without markup, since rendering it would take too long.
MAX_MARKUP_LENGTH = 100_000

# The elements and attributes that rendered messages may have.
_TAGS = {
    *("p", "br", "em", "strong", "s", "span", "a", "blockquote", "ul", "ol", "li", "code", "pre", "hr"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {"a": {"href"}, "span": {"class"}, "p": {"class"}, "ol": {"start"}}
_SPEECH_PATTERN = re.compile(r"&quot;.+?&quot;|“[^“”]+”|«[^«»]+»|„[^„“]+“")


def render_text(text: str) -> SafeString:
    """Return the text of a message as safe HTML."""
    if len(text) > MAX_MARKUP_LENGTH:
        return mark_safe(f'<p class="raw">{escape(text)}</p>')  # noqa: S308 - escaped
    rendered = _markdown.render(text)
    html = nh3.clean(rendered, tags=_TAGS, attributes=_ATTRIBUTES, link_rel="noopener noreferrer nofollow")
    return mark_safe(html)  # noqa: S308 - cleaned


def plain_text(text: str, limit: int = 200) -> str:
    """Return the beginning of a message in one line, without markup, cut between words."""
    line = " ".join(re.sub(r"[*_`#>|~]+", "", text[: 2 * limit]).split())
    return line if len(line) <= limit else f"{line[:limit].rpartition(' ')[0]} …"


def _render_text_token(renderer: RendererProtocol, tokens: Sequence[Token], index: int, *options: Any) -> str:
    text = str(escape(tokens[index].content))
    return _SPEECH_PATTERN.sub(lambda match: f'<span class="speech">{match[0]}</span>', text)


def _make_markdown() -> MarkdownIt:
    """Return a CommonMark parser that preserves line breaks, renders headings as paragraphs and ignores images."""
    markdown = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["strikethrough", "table"])
    # Chats indent paragraphs, so four spaces don't mean code. Images would reveal the reader's IP to other servers.
    markdown.disable(["code", "image", "html_block", "html_inline"])
    markdown.add_render_rule("text", _render_text_token)
    markdown.add_render_rule("heading_open", lambda *_: '<p class="heading">')
    markdown.add_render_rule("heading_close", lambda *_: "</p>")
    return markdown


_markdown = _make_markdown()
