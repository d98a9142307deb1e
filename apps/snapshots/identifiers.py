"""Ids of an archive of another account: that account may still have its rows, so that they get new ones."""

import json
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from apps.snapshots.archives import Archive, damaged

UUID_TEXT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
RANDOM_BITS = (1 << 62) - 1  # of a UUID of version 7; the others are its time, by which rows are sorted


@dataclass(frozen=True)
class Renaming:
    """New ids of the rows of an archive, by the old ones. Empty if they keep their ids."""

    ids: dict[str, str]

    @classmethod
    def of(cls, archive: Archive, owner_id: UUID) -> Self:
        """Return the new ids of the rows of an archive in the account of ``owner_id``. Raise DamagedArchive."""
        if archive.manifest.owner == owner_id:
            return cls({})
        mask = secrets.randbits(62) & RANDOM_BITS
        return cls({old: str(UUID(int=UUID(old).int ^ mask)) for old in _ids(archive)})

    def new(self, old: UUID) -> UUID:
        """Return the new id of a row."""
        return UUID(self.ids.get(str(old), str(old)))

    def lines(self, lines: Iterable[str]) -> Iterator[str]:
        """Return lines of the archive with the new ids, wherever a line names a row: also in lists and documents."""
        if not self.ids:
            return iter(lines)
        return (UUID_TEXT.sub(lambda found: self.ids.get(found[0], found[0]), line) for line in lines)


def _ids(archive: Archive) -> Iterator[str]:
    for file in archive.manifest.files:
        for line in archive.lines(file.table):
            try:
                row = json.loads(line)
                if "id" in row:
                    yield str(UUID(row["id"]))
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                raise damaged(f"The snapshot is damaged: a row of {file.table} has no id.") from error
