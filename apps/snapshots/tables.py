"""Which tables a snapshot holds, and which rows of them. Every table with an owner is held or in LEFT_OUT."""

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import models
from django.db.models import Q

from apps.common.scoping import OwnedModel
from apps.memories.kinds import LAYERS
from apps.snapshots.models import Snapshot

# Tables of which no archive holds rows, and why.
LEFT_OUT = {
    "accounts.ApiToken": "secret",
    "mcp.OAuthGrant": "secret",
    "llm.BrowserCall": "under way",
    "llm.Usage": "consumption, which a restore doesn't undo",
    "llm.TokenLimit": "consumption, which a restore doesn't undo",
    "chats.ImportJob": "job",
    "extraction.EmbeddingJob": "job",
    "extraction.IndexJob": "job",
    "extraction.ModelTest": "job",
    "extraction.ModelCall": "log of a model's replies",
    "replies.Generation": "job; its reply is a message",
    "memories.Passage": "rebuilt from the messages",
    "mem0.Mem0Event": "log of what was added, with runs that may be under way",
    "accounts.StorageUse": "counted again",
    "sync.IdempotencyRecord": "a repeated request stays repeated",
    "moderation.Case": "record of the service, which a restore doesn't undo",
    "moderation.Report": "record of the service, which a restore doesn't undo",
    "moderation.Flag": "record of the service, which a restore doesn't undo",
    "moderation.Notice": "record of the service, which a restore doesn't undo",
    "moderation.Look": "record of the service, which a restore doesn't undo",
    "moderation.ScanJob": "job",
    "webhooks.Webhook": "secret",
    "webhooks.Delivery": "log of calls",
    "snapshots.Snapshot": "snapshot",
    "snapshots.Restore": "job",
    "snapshots.MirroredChat": "state of the mirror, which is rebuilt",
}
# Many-to-many tables, with the path to their owner.
RELATIONS = {"memories.Memory_entities": "memory__owner"}

OF_SETTINGS = ("sync.SettingsDocument", "sync.Setting", "sync.SettingsChange")

# The tables of a chat, with the path to it.
OF_CHAT = {
    "chats.Chat": "pk",
    "chats.Participant": "chat",
    "chats.Message": "chat",
    "chats.Swipe": "message__chat",
    "chats.ChatImage": "chat",
    "chats.ChatChange": "chat",
    "memories.Memory": "chat",
    "memories.Memory_entities": "memory__chat",
    "memories.MemorySource": "memory__chat",
    **{model._meta.label: "chat" for model in LAYERS},
    "memories.ChatMemory": "chat",
    "memories.Supersession": "memory__chat",
    "memories.Ending": "chat",
    "memories.Inheritance": "chat",
    "memories.Question": "chat",
    "extraction.ExtractionRun": "chat",
    "extraction.RunStep": "run__chat",
    "extraction.ExtractionProgress": "chat",
    "extraction.MemorySettings": "chat",
    "injection.Recall": "chat",
    "injection.AwayRecap": "chat",
    "injection.InjectionSettings": "chat",
    "injection.SlotStatistics": "chat",
    "injection.PromptState": "chat",
    "proxy.ProxiedChat": "chat",
    "mem0.Mem0Chat": "chat",
}
# What a chat shares with others, with the paths to it. A restored chat gets it back only where it is missing.
BESIDE_CHAT = {
    "chats.Persona": ("chats",),
    "chats.Character": ("chats", "participations__chat"),
    "chats.CharacterImage": ("character__chats", "character__participations__chat"),
    "chats.Avatar": ("character__chats", "character__participations__chat", "persona__chats"),
    "chats.Lorebook": ("chat", "persona__chats", "character__chats", "character__participations__chat"),
    "memories.Entity": ("chat", "character__chats", "character__participations__chat"),
}
# Rows that no restore replaces or deletes. A connection's key is in no archive.
KEPT = {"llm.Connection"}
SECRET_COLUMNS = {"api_key", "api_key_hint"}
# Writers wait for the locks of these rows: one that is deleted and inserted again would be gone for them. With the
# column by which a row is recognised.
UPDATED_IN_PLACE = {"chats.Chat": "id", "sync.SettingsDocument": "owner_id"}
# Of jobs, only those that have ended: no worker goes on with one of a snapshot.
ONLY = {
    "extraction.ExtractionRun": Q(state__in=("succeeded", "failed", "cancelled")),
    "extraction.RunStep": Q(run__state__in=("succeeded", "failed", "cancelled")),
}


@dataclass(frozen=True)
class SnapshotScope:
    """What a snapshot is of: the account of an owner, their settings, or one of their chats."""

    kind: str
    owner_id: UUID
    chat_id: UUID | None = None

    @property
    def tables(self) -> list["Table"]:
        """Return the tables of an archive of this kind."""
        if self.kind == Snapshot.Kind.SETTINGS:
            labels: list[str] = list(OF_SETTINGS)
        elif self.kind == Snapshot.Kind.CHAT:
            labels = [*BESIDE_CHAT, *OF_CHAT]
        else:
            labels = [*account_labels(), *RELATIONS]
        return [Table(label, self) for label in labels]


def account_labels() -> list[str]:
    """Return the labels of all tables of an account that are in its archive."""
    owned = (model._meta.label for model in apps.get_models() if issubclass(model, OwnedModel))
    return [label for label in owned if label not in LEFT_OUT]


@dataclass(frozen=True)
class Table:
    """A table, and its rows within a scope."""

    label: str
    scope: SnapshotScope

    @cached_property
    def model(self) -> type[models.Model]:
        app, name = self.label.split(".")
        return apps.get_model(app, name)

    @property
    def name(self) -> str:
        """Return the quoted name in the database."""
        return f'"{self.model._meta.db_table}"'

    @property
    def is_owned(self) -> bool:
        return issubclass(self.model, OwnedModel)

    @property
    def is_updated_in_place(self) -> bool:
        return self.label in UPDATED_IN_PLACE

    @property
    def is_kept(self) -> bool:
        """Return whether a restore keeps the rows that are there, and inserts only those that are missing."""
        return self.label in KEPT or (self.scope.kind == Snapshot.Kind.CHAT and self.label in BESIDE_CHAT)

    @cached_property
    def fields(self) -> "list[models.Field[Any, Any]]":
        """Return the fields of the columns that an archive holds. A relation's own key is counted by the database."""
        fields = [field for field in self.model._meta.concrete_fields if field.column not in SECRET_COLUMNS]
        return fields if self.is_owned else [field for field in fields if not field.primary_key]

    @property
    def rows(self) -> models.QuerySet[Any]:
        """Return the rows within the scope, also those in a bin."""
        scope = self.scope
        rows = self.model._base_manager.filter(**{RELATIONS.get(self.label, "owner"): scope.owner_id})
        if scope.kind != Snapshot.Kind.CHAT:
            return rows
        if path := OF_CHAT.get(self.label):
            return rows.filter(**{path: scope.chat_id})
        matching = self.model._base_manager.filter(
            reduce(or_, (Q(**{path: scope.chat_id}) for path in BESIDE_CHAT[self.label]))
        )
        return rows.filter(pk__in=matching.values("pk"))
