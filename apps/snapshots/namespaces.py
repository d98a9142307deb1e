"""Export all rows of a namespace as JSON lines."""

import json
import tempfile
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

from django.db import models, transaction
from django.db.models import Q

from apps.chats.models import Character, Chat
from apps.common.database.replica import from_replica, reading_connection
from apps.common.problems import Missing
from apps.common.scoping import OWN_NAMESPACE, Owner, owner_id_of
from apps.memories.kinds import OF_CHARACTER
from apps.memories.models import Memory
from apps.snapshots.models import Snapshot
from apps.snapshots.tables import OF_CHAT, SnapshotScope, Table
from apps.snapshots.writing import lines_of

# Computed from the texts, and of no use elsewhere.
COMPUTED = {"embedding", "embedding_model", "lexemes", "terms"}
# The tables with a namespace, or of a character, with the path to it. The others belong to a chat.
OF_NAMESPACE = {
    "chats.Character": "namespace",
    "chats.CharacterImage": "character__namespace",
    "chats.Avatar": "character__namespace",
    "chats.Lorebook": "character__namespace",
    "memories.Memory": "namespace",
    "memories.Memory_entities": "memory__namespace",
    "memories.MemorySource": "memory__namespace",
}
# What may outlive its chat, or belongs to a character alone.
ALSO_OF_CHARACTER = ("memories.Entity", *(model._meta.label for model in OF_CHARACTER))


@dataclass(frozen=True)
class NamespaceTable(Table):
    """A table, and its rows within a namespace."""

    namespace: str

    @cached_property
    def fields(self) -> "list[models.Field[object, object]]":
        return [field for field in super().fields if field.column not in COMPUTED]

    @property
    def rows(self) -> models.QuerySet[models.Model]:
        """Return the rows within the namespace, also those in a bin."""
        rows = super().rows
        if path := OF_NAMESPACE.get(self.label):
            return rows.filter(**{path: self.namespace})
        path = OF_CHAT.get(self.label, "chat")
        condition = Q(**{"namespace" if path == "pk" else f"{path}__namespace": self.namespace})
        if self.label in ALSO_OF_CHARACTER:
            condition |= Q(character__namespace=self.namespace)
        return rows.filter(condition)


def export_namespace(owner: Owner, namespace: str) -> BinaryIO:
    """Return a file with a line for each row of a namespace: ``{"table", "row"}``. Raise Missing if it has none.

    The rows are those of one moment. A replica may answer.
    """
    rows = [model._base_manager.filter(owner_id=owner_id_of(owner)) for model in (Memory, Chat, Character)]
    if namespace == OWN_NAMESPACE or not any(each.filter(namespace=namespace).exists() for each in rows):
        raise Missing("There is no such namespace.")
    return from_replica(lambda: _write(owner, namespace))


def _write(owner: Owner, namespace: str) -> BinaryIO:
    scope = SnapshotScope(Snapshot.Kind.ACCOUNT, owner_id_of(owner))
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
    with transaction.atomic(using=reading_connection().alias):
        with reading_connection().cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for label in dict.fromkeys([*OF_NAMESPACE, *OF_CHAT, *ALSO_OF_CHARACTER]):
            for line in lines_of(NamespaceTable(label, scope, namespace)):
                file.write(f'{{"table": {json.dumps(label)}, "row": {line}}}\n'.encode())
    file.seek(0)
    return file
