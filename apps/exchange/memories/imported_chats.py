"""Read what memory extensions of SillyTavern left in an imported chat: in its metadata, and in the data of messages."""

from collections.abc import Mapping
from typing import Any

from django.template.defaultfilters import pluralize

from apps.chats.models import Chat
from apps.exchange.formats.parsed import ImportReport
from apps.exchange.memories.reading import smart_memory, st_bme
from apps.exchange.memories.reading.found import Found
from apps.exchange.memories.recalls import read_recalls
from apps.exchange.memories.writing import write
from apps.exchange.memories.writing.target import ImportTarget


def read_documents(chat: Chat, metadata: Mapping[str, Any], report: ImportReport) -> None:
    """Write memories, layers and recalls that are new in a chat's file, and say so in the report.

    ``metadata`` are those of the file: a chat that is updated keeps its own.
    The documents of a new chat stay in it as they are, so that an export has them.
    """
    document = metadata.get(smart_memory.CHAT_KEY)
    if isinstance(document, dict):
        _write(smart_memory.read_chat(document), _target(chat, "Smart Memory", report), report)
    graph = st_bme.graph_in(metadata.get(st_bme.CHAT_KEY))
    target = _target(chat, "ST-BME", report)
    if graph is not None:
        _write(st_bme.read_graph(graph), target, report)
    elif metadata.get(st_bme.CHAT_KEY):
        report.note("ST-BME: its graph could not be read.")
    recalls, damaged = read_recalls(chat, target.memory_ids)
    if recalls:
        report.note(f"ST-BME: {recalls} recall{pluralize(recalls)} read.")
    if damaged:
        report.note(f"ST-BME: {damaged} damaged recall{pluralize(damaged)} not read.")


def _target(chat: Chat, program: str, report: ImportReport) -> ImportTarget:
    """Return the target. After lines that could not be read, positions in documents are of other messages."""
    return ImportTarget(chat.owner_id, chat, chat.character, program, linked=not report.skipped)


def _write(found: Found, target: ImportTarget, report: ImportReport) -> None:
    write(found, target)
    for line in (target.summary(), *found.warnings):
        report.note(f"{target.program}: {line}")
