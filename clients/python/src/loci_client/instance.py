"""An instance of an assistant that shares its memory with others."""

import json
import os
from pathlib import Path
from typing import Any

from loci_client import calls
from loci_client.blocking import Loci
from loci_client.errors import ConflictError
from loci_client.shared_memory import SharedMemory, key_of, new_memory, now, tombstone_of


class Instance:
    """Remembers locally, also offline, and syncs by ``pull`` and ``push``.

    ``path`` is a JSON file that keeps the local copy and what is not yet pushed; one process uses it at a time.
    Without one, they last as long as the object.
    """

    def __init__(self, loci: Loci, name: str, path: str | os.PathLike[str] | None = None) -> None:
        self._loci = loci
        self._path = Path(path) if path is not None else None
        if self._path and self._path.exists():
            self.memory = SharedMemory(**json.loads(self._path.read_text("utf-8")))
        else:
            self.memory = SharedMemory(name)

    @property
    def memories(self) -> dict[str, str]:
        """The texts of all memories, by id."""
        return self.memory.present()

    def register(self, *, type: str = "", name: str = "", priority: int = 0) -> None:
        """Register the instance, unless it is registered."""
        try:
            self._loci.run(calls.register_instance(self.memory.name, type=type, name=name, priority=priority))
        except ConflictError:
            return

    def remember(self, text: str) -> str:
        """Add a memory and return its id."""
        document = new_memory(text)
        self._write(key_of(document), document)
        return str(document["id"])

    def edit(self, memory_id: str, text: str) -> None:
        """Change the text of a memory. Raise KeyError if there is none."""
        key = f"memory/{memory_id}"
        kept = {name: self.memory.entries[key][name] for name in ("id", "tier", "period", "clock")}
        self._write(key, kept | {"text": text, "updated_at": now()})

    def forget(self, memory_id: str) -> None:
        """Delete a memory. Raise KeyError if there is none."""
        key = f"memory/{memory_id}"
        self._write(key, tombstone_of(self.memory.entries[key]))

    def write_file(self, category: str, filename: str, content: str) -> None:
        """Write an identity file."""
        names = {"category": category, "filename": filename}
        self._write(key_of(names), names | {"content": content, "updated_at": now()})

    def pull(self) -> None:
        """Take over what others have changed since the last pull."""
        cursor: str | None = None
        is_last = False
        while not is_last:
            page = self._loci.run(calls.sync_pull(self.memory.name, self.memory.since, cursor=cursor))
            self.memory.take_page(page)
            self._save()
            cursor = page["next"]
            is_last = cursor is None

    def push(self) -> list[dict[str, Any]]:
        """Push what was written here. Return what lost, or was merged, with the reasons.

        After a failure push again: what the server has stored already changes nothing.
        """
        if self.memory.since is None:
            self.pull()
        reports: list[dict[str, Any]] = []
        for keys, body in list(self.memory.bodies()):
            reports += self._loci.run(calls.sync_push(body))["conflicts"]
            self.memory.pending = [key for key in self.memory.pending if key not in keys]
            self._save()
        return reports

    def status(self) -> dict[str, Any]:
        """Return the instances, their clocks and how many conflicts are open."""
        return self._loci.run(calls.sync_status())

    def _write(self, key: str, document: dict[str, Any]) -> None:
        self.memory.write(key, document)
        self._save()

    def _save(self) -> None:
        if self._path:
            written = self._path.with_name(f"{self._path.name}.new")
            written.write_text(json.dumps(self.memory.as_json()), "utf-8")
            written.replace(self._path)  # so that a crash leaves the old or the new file
