"""Render memories as text blocks of a heading and bullets, and split a text into such blocks."""

from collections.abc import Iterable, Mapping, Sequence

SEPARATOR = "\n\n"


def one_line(text: str) -> str:
    """Return ``text`` without line breaks, so that text from a chat can't be mistaken for a heading or an entry."""
    return " ".join(text.split())


def render_block(heading: str, entries: Sequence[str]) -> str:
    """Return the heading and one bullet for each entry, or an empty string if there are no entries."""
    if not entries:
        return ""
    return "\n".join([heading, *(f"- {one_line(entry)}" for entry in entries)])


def join_blocks(blocks: Iterable[str]) -> str:
    """Return the non-empty blocks as one text."""
    return SEPARATOR.join(block for block in blocks if block)


def split_blocks(text: str, headings: Mapping[str, str], default: str) -> dict[str, str]:
    """Split a text of joined blocks, which a user may have edited. Return the blocks by slot name.

    ``headings`` maps slot names to heading lines. Lines before the first heading belong to the slot ``default``.
    """
    names = {heading: name for name, heading in headings.items()}
    lines: dict[str, list[str]] = {}
    current = default
    for line in text.splitlines():
        current = names.get(line.strip(), current)
        lines.setdefault(current, []).append(line)
    return {name: "\n".join(block).strip() for name, block in lines.items()}
