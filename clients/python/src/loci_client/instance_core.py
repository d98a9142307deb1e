"""What both kinds of ``Instance`` share: writes to the local copy, and the flows that sync it."""

import json
import os
from pathlib import Path
from typing import Any

from loci_client import calls
from loci_client.errors import ConflictError
from loci_client.requests import Flow
from loci_client.shared_memory import SharedMemory, key_of, new_memory, now, tombstone_of
from loci_client.writable import check_content, check_filename, check_text


class InstanceCore:
    """The local copy of instance ``name``, kept in the JSON file at ``path`` if one is given."""

    def __init__(self, name: str, path: str | os.PathLike[str] | None = None) -> None:
        self._path = Path(path) if path is not None else None
        if self._path and self._path.exists():
            self.memory = SharedMemory(**json.loads(self._path.read_text("utf-8")))
        else:
            self.memory = SharedMemory(name)

    @property
    def memories(self) -> dict[str, str]:
        """The texts of all memories, by id."""
        return self.memory.present()

    def remember(self, text: str) -> str:
        """Add a memory and return its id. Raise ValueError if the text can't be stored."""
        document = new_memory(text)
        check_text(text, document["tier"])
        self._write(key_of(document), document)
        return str(document["id"])

    def edit(self, memory_id: str, text: str) -> None:
        """Change the text of a memory. Raise KeyError if there is none, ValueError if the text can't be stored."""
        entry = self._present(memory_id)
        check_text(text, entry["tier"])
        kept = {name: entry[name] for name in ("id", "tier", "period", "clock")}
        self._write(key_of(entry), kept | {"text": text, "updated_at": now()})

    def forget(self, memory_id: str) -> None:
        """Delete a memory. Raise KeyError if there is none."""
        entry = self._present(memory_id)
        self._write(key_of(entry), tombstone_of(entry))

    def write_file(self, category: str, filename: str, content: str) -> None:
        """Write an identity file. Raise ValueError if its name or its content can't be stored."""
        check_filename(category, filename)
        check_content(content)
        names = {"category": category, "filename": filename}
        self._write(key_of(names), names | {"content": content, "updated_at": now()})

    def _present(self, memory_id: str) -> dict[str, Any]:
        entry = self.memory.entries[f"memory/{memory_id}"]
        if "text" not in entry:
            raise KeyError(f"The memory {memory_id} was deleted.")
        return entry

    def _registering(self, *, type: str, name: str, priority: int) -> Flow[None]:
        try:
            yield from calls.register_instance(self.memory.name, type=type, name=name, priority=priority)
        except ConflictError:
            return

    def _pulling(self) -> Flow[None]:
        cursor: str | None = None
        is_last = False
        while not is_last:
            page = yield from calls.sync_pull(self.memory.name, self.memory.since, cursor=cursor)
            self.memory.take_page(page)
            self._save()
            cursor = page["next"]
            is_last = cursor is None

    def _pushing(self) -> Flow[list[dict[str, Any]]]:
        if self.memory.since is None:
            yield from self._pulling()
        reports: list[dict[str, Any]] = []
        for sent, body in list(self.memory.bodies()):
            reply = yield from calls.sync_push(body)
            reports += reply["conflicts"]
            self.memory.forget_pushed(sent)
            self._save()
        return reports

    def _write(self, key: str, document: dict[str, Any]) -> None:
        self.memory.write(key, document)
        self._save()

    def _save(self) -> None:
        if self._path:
            written = self._path.with_name(f"{self._path.name}.new")
            written.write_text(json.dumps(self.memory.as_json()), "utf-8")
            written.replace(self._path)  # so that a crash leaves the old or the new file
