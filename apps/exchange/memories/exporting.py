"""Export the memories of a chat or of a character as a lorebook, and as Markdown."""

from collections.abc import Callable, Iterator
from typing import Any

from apps.chats.lorebook_entries import normalise_book
from apps.chats.message_data.layout import dump
from apps.exchange.formats.lorebooks import write
from apps.memories.labels import KIND_LABELS
from apps.memories.models import Arc, Entity, Memory, VersionedText
from apps.memories.queries.guesses import unsure_marker
from apps.memories.queries.knowledge import knowledge_in, knowledge_of
from apps.memories.queries.memory_book import MemoryBook
from apps.memories.trigger_words import trigger_words

MAX_TITLE = 60  # characters of the name of a lorebook's entry
FALLBACK_WORDS = 3  # keys of a memory that names nothing and has no triggers: its longest words

TEXT_TITLES = {
    VersionedText.Kind.SUMMARY: "The story so far",
    VersionedText.Kind.CANON: "What is settled",
    VersionedText.Kind.PROFILE: "Profile",
}


def lorebook_of(book: MemoryBook) -> bytes:
    """Return the active memories as a lorebook of SillyTavern. Names and triggers are the keys of its entries."""
    entries = [_entry(memory, number) for number, memory in enumerate(_active(book))]
    document = normalise_book({"name": f"Memories of {book.title}", "entries": entries}, lambda warning: None)
    return dump(write(document, "sillytavern")).encode()


def _active(book: MemoryBook) -> list[Memory]:
    return list(book.active(book.memories()).prefetch_related("entities", "sources__message"))


def _entry(memory: Memory, number: int) -> dict[str, Any]:
    names = [name for entity in memory.entities.all() for name in (entity.name, *entity.aliases)]
    keys = [*names, *memory.triggers] or sorted(trigger_words(memory.text), key=len, reverse=True)[:FALLBACK_WORDS]
    return {
        "id": number,
        "keys": list(dict.fromkeys(keys)),
        "comment": memory.text[:MAX_TITLE],
        "content": memory.text,
        "constant": memory.pinned,
        "enabled": not memory.hidden,
        "insertion_order": memory.importance * 100,
    }


def markdown_of(book: MemoryBook) -> bytes:
    """Return texts, threads, memories, and who knows what, as Markdown to read."""
    sections: tuple[Callable[[MemoryBook], Iterator[str]], ...] = (
        _texts, _arcs, _memories, _knowledge, _relationships, _names,
    )  # fmt: skip
    lines = [f"# {_plain(book.title)}", *(line for section in sections for line in section(book))]
    return ("\n".join(lines) + "\n").encode()


def _texts(book: MemoryBook) -> Iterator[str]:
    for text in book.texts():
        if text.state == VersionedText.State.CURRENT and text.kind in TEXT_TITLES and text.text:
            of = f" of {_plain(text.character.name)}" if text.character else ""
            yield f"\n## {TEXT_TITLES[VersionedText.Kind(text.kind)]}{of}\n"
            yield _escaped(text.text)


def _arcs(book: MemoryBook) -> Iterator[str]:
    arcs = book.arcs()
    if arcs:
        yield "\n## Threads\n"
    marked = unsure_marker(arcs)
    for arc in arcs:
        resolved = arc.state == Arc.State.RESOLVED
        outcome = f" – {arc.summary}" if resolved and arc.summary else ""
        yield f"- [{'x' if resolved else ' '}] {_plain(marked(arc, arc.text + outcome))}"


def _memories(book: MemoryBook) -> Iterator[str]:
    memories = _active(book)
    for tier in Memory.Tier:
        for kind, label in KIND_LABELS.items():
            rows = [memory for memory in memories if memory.tier == tier and memory.kind == kind]
            if rows:
                yield f"\n## {label} ({tier.label.lower()})\n"
            for memory in rows:
                said = memory.source_sent_at
                yield f"- {_plain(memory.text)}{f' ({said:%Y-%m-%d})' if said else ''}"


def _knowledge(book: MemoryBook) -> Iterator[str]:
    rows = list(knowledge_in(book.chat) if book.chat else knowledge_of(book.subject))
    if rows:
        yield "\n## Who knows what\n"
    marked = unsure_marker(rows)
    for row in rows:
        target = f" (from {row.target.name})" if row.target else ""
        text = _plain(marked(row, row.text))
        yield f"- {_plain(row.subject.name)} – {row.get_kind_display().lower()}{_plain(target)}: {text}"


def _relationships(book: MemoryBook) -> Iterator[str]:
    pairs = book.relationships()
    if pairs:
        yield "\n## Relationships\n"
    marked = unsure_marker(row for pair in pairs for row in pair.descriptors)
    for pair in pairs:
        words = ", ".join(marked(row, f"{row.descriptor} ({row.magnitude})") for row in pair.descriptors)
        yield f"- {_plain(pair.subject.name)} → {_plain(pair.target.name)}: {_plain(words)}"


def _names(book: MemoryBook) -> Iterator[str]:
    entities = list(book.entities())
    if entities:
        yield "\n## Names\n"
    for entity in entities:
        aliases = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
        kind = "" if entity.kind == Entity.Kind.UNKNOWN else f" ({entity.kind})"
        yield f"- {_plain(entity.name)}{kind}{_plain(aliases)}"


def _plain(text: str) -> str:
    """Return a text in one line."""
    return " ".join(_escaped(text).split())


def _escaped(text: str) -> str:
    """Return a text in which Markdown and HTML that a chat may contain are no markup of the document."""
    for character in "\\`*_[]<>#|":
        text = text.replace(character, f"\\{character}")
    return text
