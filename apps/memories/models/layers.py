"""What is derived beside memories: scenes, arcs, the state ledger, who knows what, relationships, and digests."""

from typing import Any

from django.db import models
from django.db.models import Q
from pgvector.django import VectorField

from apps.chats.models import Character, Chat, Message, Swipe
from apps.common import clock
from apps.common.fields import OrderedJSONField
from apps.common.scoping import OwnedModel
from apps.memories.models.memory import Entity


class Derived(OwnedModel):
    """What entries of every layer share: where they came from, by which run, and who corrected them."""

    source = models.ForeignKey(
        Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", help_text="Where it was said."
    )
    swipe = models.ForeignKey(Swipe, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    until = models.ForeignKey(
        Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", help_text="Where it ended."
    )
    until_swipe = models.ForeignKey(Swipe, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    run = models.ForeignKey(
        "extraction.ExtractionRun", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    retired_reason = models.CharField(max_length=32, blank=True, default="")
    edited_by = models.CharField(max_length=100, blank=True, default="")
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True


class Scene(Derived):
    """A scene that was found to end with the message ``source``. Those that people set are kept with the message."""

    class State(models.TextChoices):
        FOUND = "found"
        DISMISSED = "dismissed"  # a person said that no scene ends here
        RETIRED = "retired"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="found_scenes", db_index=False)
    state = models.CharField(max_length=16, choices=State.choices, default=State.FOUND)
    reason = models.CharField(max_length=200, blank=True, default="", help_text="What told that it ends.")
    name = models.CharField(max_length=200, blank=True, default="")
    recap = models.TextField(blank=True, default="")
    collapsed = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chat", "source"], condition=Q(source__isnull=False), name="scene_once_a_message"
            )
        ]
        indexes = [models.Index("owner", "chat", "state", name="scene_owner_chat")]


class Arc(Derived):
    """A thread of the story: open until it is resolved. A persistent one goes on in the character's other chats."""

    class State(models.TextChoices):
        OPEN = "open"
        RESOLVED = "resolved"
        RETIRED = "retired"

    chat = models.ForeignKey(Chat, on_delete=models.SET_NULL, null=True, blank=True, related_name="arcs")
    character = models.ForeignKey(Character, on_delete=models.CASCADE, null=True, blank=True, related_name="arcs")
    text = models.TextField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.OPEN)
    summary = models.TextField(blank=True, default="", help_text="How it went, once it is resolved.")
    persistent = models.BooleanField(default=False)
    embedding = VectorField(null=True, blank=True)
    embedding_model = models.CharField(max_length=100, blank=True, default="")
    line_hash = models.CharField(max_length=64, blank=True, default="", editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "chat", "line_hash"], condition=~Q(line_hash=""), name="arc_once_a_run"
            )
        ]
        indexes = [
            models.Index("owner", "chat", "state", name="arc_owner_chat"),
            models.Index("owner", "character", "state", name="arc_owner_character"),
        ]


class LedgerEntry(Derived):
    """The value that a field of somebody or something had from ``source`` on, until ``until``."""

    class State(models.TextChoices):
        CURRENT = "current"
        REPLACED = "replaced"
        CLEARED = "cleared"  # it holds no longer, and nothing took its place
        RETIRED = "retired"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="ledger", db_index=False)
    entity = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="ledger")
    field = models.CharField(max_length=32)
    value = models.TextField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.CURRENT)

    class Meta:
        verbose_name_plural = "ledger entries"
        constraints = [
            models.UniqueConstraint(
                fields=["chat", "entity", "field"], condition=Q(state="current"), name="ledger_one_current_value"
            )
        ]
        indexes = [models.Index("owner", "chat", "state", name="ledger_owner_chat")]


class Knowledge(Derived):
    """What somebody knows, suspects, believes or is unaware of, or hides from somebody."""

    class Kind(models.TextChoices):
        KNOWS = "knows"
        SUSPECTS = "suspects"
        BELIEVES = "believes"
        UNAWARE = "unaware"
        HIDING = "hiding"

    class State(models.TextChoices):
        ACTIVE = "active"
        RETIRED = "retired"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="knowledge", db_index=False)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    subject = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="knowledge")
    target = models.ForeignKey(
        Entity, on_delete=models.CASCADE, null=True, blank=True, related_name="+", help_text="From whom it is hidden."
    )
    text = models.TextField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.ACTIVE)
    line_hash = models.CharField(max_length=64, blank=True, default="", editable=False)

    class Meta:
        verbose_name_plural = "knowledge"
        constraints = [
            models.UniqueConstraint(
                fields=["run", "line_hash"], condition=~Q(line_hash=""), name="knowledge_once_a_run"
            ),
            models.CheckConstraint(
                condition=Q(kind="hiding") | Q(target__isnull=True), name="knowledge_target_of_hiding"
            ),
        ]
        indexes = [models.Index("owner", "chat", "state", name="knowledge_owner_chat")]


class Relationship(Derived):
    """A word for how ``subject`` stands to ``target``, and how strongly; a branch has copies of its parent's."""

    class Magnitude(models.TextChoices):
        LOW = "low"
        MEDIUM = "medium"
        HIGH = "high"

    class State(models.TextChoices):
        CURRENT = "current"
        REPLACED = "replaced"  # the same word, more or less strongly
        REMOVED = "removed"
        RETIRED = "retired"

    chat = models.ForeignKey(Chat, on_delete=models.SET_NULL, null=True, blank=True, related_name="relationships")
    subject = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="relationships")
    target = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="+")
    descriptor = models.CharField(max_length=60)
    magnitude = models.CharField(max_length=8, choices=Magnitude.choices, default=Magnitude.MEDIUM)
    state = models.CharField(max_length=16, choices=State.choices, default=State.CURRENT)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chat", "subject", "target", "descriptor"],
                condition=Q(state="current"),
                name="relationship_one_current_word",
            ),
            models.CheckConstraint(condition=~Q(subject=models.F("target")), name="relationship_between_two"),
        ]
        indexes = [models.Index("owner", "subject", "state", name="relationship_owner_subject")]


class VersionedText(Derived):
    """A text made from the rest, in versions: the latest is the current one. ``source`` is the last message in it."""

    SCHEMA_VERSION = 1  # of ``document``

    class Kind(models.TextChoices):
        SUMMARY = "summary"
        PROFILE = "profile"
        CANON = "canon"
        CONTINUITY = "continuity"
        REPAIR = "repair"

    class State(models.TextChoices):
        CURRENT = "current"
        REPLACED = "replaced"
        RETIRED = "retired"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, null=True, blank=True, related_name="digests")
    character = models.ForeignKey(Character, on_delete=models.CASCADE, null=True, blank=True, related_name="digests")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    text = models.TextField(blank=True, default="")
    document = OrderedJSONField(default=dict, blank=True, help_text="Its parts, with their schema_version.")
    state = models.CharField(max_length=16, choices=State.choices, default=State.CURRENT)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "kind", "chat", "character"],
                condition=Q(state="current"),
                name="digest_one_current",
                nulls_distinct=False,
            )
        ]
        indexes = [
            models.Index(fields=["owner", "chat", "kind", "-id"], name="digest_owner_chat"),
            models.Index(fields=["owner", "character", "kind", "-id"], name="digest_owner_character"),
        ]

    @property
    def parts(self) -> dict[str, Any]:
        """The document without its version."""
        return {name: value for name, value in self.document.items() if name != "schema_version"}
