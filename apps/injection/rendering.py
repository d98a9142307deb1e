"""How memories read in a prompt: a heading and plain lines, the same bytes as long as nothing has changed."""

from collections.abc import Iterable, Mapping, Sequence

SEPARATOR = "\n\n"


def one_line(text: str) -> str:
    """``text`` without line breaks: what a chat says cannot pass for a heading or for an entry of its own."""
    return " ".join(text.split())


def render_block(heading: str, entries: Sequence[str]) -> str:
    """The heading and one bullet an entry; nothing at all without entries."""
    if not entries:
        return ""
    return "\n".join([heading, *(f"- {one_line(entry)}" for entry in entries)])


def join_blocks(blocks: Iterable[str]) -> str:
    """Blocks as one text, empty ones left out."""
    return SEPARATOR.join(block for block in blocks if block)


def split_blocks(text: str, headings: Mapping[str, str], default: str) -> dict[str, str]:
    """A text of joined blocks, perhaps edited since, as blocks by slot name.

    ``headings`` maps slot names to heading lines. What stands before the first heading belongs to ``default``.
    """
    names = {heading: name for name, heading in headings.items()}
    lines: dict[str, list[str]] = {}
    current = default
    for line in text.splitlines():
        current = names.get(line.strip(), current)
        lines.setdefault(current, []).append(line)
    return {name: "\n".join(block).strip() for name, block in lines.items()}
