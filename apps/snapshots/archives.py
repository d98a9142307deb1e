"""The archive of a snapshot: a ZIP file with a manifest, its signature, and a file of JSON lines for each table.

``manifest.json`` names format and version, what the archive is of, and the rows, bytes and SHA-256 of each file. The
signature is made with the secret key of the installation. A line is a row, as an object of its columns.
"""

import datetime as dt
import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO, Self
from uuid import UUID

from django.conf import settings
from django.core.signing import BadSignature, Signer
from rest_framework import serializers

from apps.common.api.serializer_fields import StrictSerializer
from apps.common.problems import Invalid
from apps.common.stored_texts import gettext_stored
from apps.snapshots.models import Snapshot

FORMAT, VERSION = "loci-snapshot", 1
MANIFEST, SIGNATURE = "manifest.json", "signature"
MAX_MANIFEST_BYTES = 2**20
MAX_LINE_BYTES = 128 * 2**20  # of a row
MAX_FILES = 500
SIGNER = Signer(salt="apps.snapshots")


class DamagedArchive(Invalid):
    """The file is not an archive that can be restored here."""


def damaged(detail: str) -> DamagedArchive:
    """Return the problem with a file."""
    return DamagedArchive.at("/file", detail)


@dataclass(frozen=True)
class TableFile:
    """The file of a table: its number of rows, its bytes when unpacked, and their hexadecimal SHA-256."""

    table: str
    rows: int
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        return f"tables/{self.table}.jsonl"


@dataclass(frozen=True)
class Manifest:
    """What an archive is of. ``profile`` are the name and the time zone of the owner of an account."""

    kind: str
    owner: UUID
    chat: UUID | None
    title: str
    created_at: str
    profile: dict[str, str]
    files: tuple[TableFile, ...]

    @property
    def taken_at(self) -> dt.datetime | None:
        """Return the moment of the archive, or None if it names none."""
        try:
            moment = dt.datetime.fromisoformat(self.created_at)
        except ValueError:
            return None
        return moment if moment.tzinfo else None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of rows of each table that has some."""
        return {file.table: file.rows for file in self.files if file.rows}


class TableFileSerializer(StrictSerializer):
    table = serializers.RegexField(r"\A[a-z0-9_]+\.[A-Za-z0-9_]+\Z", max_length=100)
    rows = serializers.IntegerField(min_value=0)
    bytes = serializers.IntegerField(min_value=0)
    sha256 = serializers.RegexField(r"\A[0-9a-f]{64}\Z")


class ArchivedProfileSerializer(StrictSerializer):
    name = serializers.CharField(required=False, allow_blank=True, max_length=100)
    time_zone = serializers.CharField(required=False, max_length=64)
    language = serializers.CharField(required=False, allow_blank=True, max_length=10)


class ManifestSerializer(StrictSerializer):
    format = serializers.CharField()
    version = serializers.IntegerField(min_value=1)
    kind = serializers.ChoiceField(choices=Snapshot.Kind.choices)
    owner = serializers.UUIDField()
    chat = serializers.UUIDField(allow_null=True)
    title = serializers.CharField(allow_blank=True, max_length=200)
    created_at = serializers.CharField(max_length=40)
    profile = ArchivedProfileSerializer()
    files = serializers.ListField(child=TableFileSerializer(), max_length=MAX_FILES)


class Writer:
    """Write an archive within ``with``: the tables one after the other, then the manifest."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._files: list[TableFile] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()

    def write_table(self, table: str, lines: Iterable[str]) -> int:
        """Write the rows of a table, each a JSON object without line breaks. Return their number."""
        entry = TableFile(table, 0, 0, "")
        digest, rows, size = hashlib.sha256(), 0, 0
        with self._zip.open(entry.name, "w", force_zip64=True) as member:
            for line in lines:
                data = line.encode() + b"\n"
                member.write(data)
                digest.update(data)
                rows, size = rows + 1, size + len(data)
        self._files.append(TableFile(table, rows, size, digest.hexdigest()))
        return rows

    def write_manifest(self, **fields: Any) -> Manifest:
        """Write the manifest with ``fields`` and the signature, and return the manifest."""
        manifest = Manifest(files=tuple(self._files), **fields)
        document = {"format": FORMAT, "version": VERSION, **asdict(manifest)}
        text = json.dumps(document, default=str, indent=1)
        self._zip.writestr(MANIFEST, text)
        self._zip.writestr(SIGNATURE, SIGNER.signature(text))
        return manifest


class Archive:
    """An archive to read. Nothing of it is trusted: files are read as far as the manifest names them.

    Raise DamagedArchive if it is not one, has a newer version, or ``signed`` is True and it was made elsewhere.
    """

    def __init__(self, file: BinaryIO, *, signed: bool = True) -> None:
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise damaged(
                gettext_stored("The file is not a snapshot, or it is damaged: it is no complete ZIP file.")
            ) from error
        text = self._text(MANIFEST)
        self.manifest = _read_manifest(text)
        if signed:
            try:
                SIGNER.unsign(f"{text}:{self._text(SIGNATURE)}")
            except BadSignature as error:
                raise damaged(
                    gettext_stored(
                        "The snapshot was made by another installation, or it was changed since. An administrator can"
                        " import one of another installation with “manage.py import_user”."
                    )
                ) from error
        expected = sorted([MANIFEST, SIGNATURE, *(file.name for file in self.manifest.files)])
        if sorted(self._zip.namelist()) != expected:
            raise damaged(gettext_stored("The snapshot is damaged: it holds other files than its manifest names."))

    def check(self) -> None:
        """Read everything, and compare it with the manifest. Raise DamagedArchive."""
        if sum(file.bytes for file in self.manifest.files) > settings.SNAPSHOT_MAX_BYTES:
            raise damaged(f"Unpacked, the snapshot is larger than {settings.SNAPSHOT_MAX_BYTES} bytes.")
        for file in self.manifest.files:
            digest, rows, size = hashlib.sha256(), 0, 0
            for line in self._lines(file):
                digest.update(line)
                rows, size = rows + 1, size + len(line)
            if TableFile(file.table, rows, size, digest.hexdigest()) != file:
                raise damaged(
                    gettext_stored(
                        "The snapshot is damaged: the rows of %(table)s don't have their checksum.", table=file.table
                    )
                )

    def lines(self, table: str) -> Iterator[str]:
        """Return the rows of a table as JSON; none if the archive doesn't hold the table. Raise DamagedArchive."""
        for file in self.manifest.files:
            if file.table == table:
                yield from (line.decode() for line in self._lines(file))

    def _lines(self, file: TableFile) -> Iterator[bytes]:
        """Return the lines of a file, not more bytes of it than the manifest says."""
        left = file.bytes
        try:
            with self._zip.open(file.name) as member:
                while line := member.readline(min(left, MAX_LINE_BYTES) + 1):
                    left -= len(line)
                    if left < 0 or not line.endswith(b"\n"):
                        raise damaged(
                            gettext_stored(
                                "The snapshot is damaged: %(table)s has more bytes than its manifest says.",
                                table=file.table,
                            )
                        )
                    yield line
        except _UNREADABLE as error:
            raise damaged(
                gettext_stored("The snapshot is damaged: %(table)s can't be read.", table=file.table)
            ) from error

    def _text(self, name: str) -> str:
        try:
            with self._zip.open(name) as member:
                text = member.read(MAX_MANIFEST_BYTES + 1)
            if len(text) > MAX_MANIFEST_BYTES:
                raise damaged(gettext_stored("The snapshot is damaged: %(name)s is too large.", name=name))
            return text.decode()
        except KeyError as error:
            raise damaged(gettext_stored("The file is not a snapshot: it has no %(name)s.", name=name)) from error
        except (*_UNREADABLE, UnicodeDecodeError) as error:
            raise damaged(gettext_stored("The snapshot is damaged: %(name)s can't be read.", name=name)) from error


# What zipfile raises for a member that is cut off, changed, encrypted or compressed in a way that it doesn't know.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)


def _read_manifest(text: str) -> Manifest:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(gettext_stored("The snapshot is damaged: its manifest is not JSON.")) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise damaged(gettext_stored("The file is not a snapshot of Loci."))
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        raise damaged(
            gettext_stored(
                "The snapshot has version %(version)s; this installation reads versions up to %(version_2)s.",
                version=version,
                version_2=VERSION,
            )
        )
    serializer = ManifestSerializer(data=document)
    if not serializer.is_valid():
        raise damaged(
            gettext_stored(
                "The snapshot is damaged: its manifest is not valid (%(value)s).", value=", ".join(serializer.errors)
            )
        )
    fields: dict[str, Any] = serializer.validated_data
    del fields["format"], fields["version"]
    return Manifest(**fields | {"files": tuple(TableFile(**file) for file in fields["files"])})
