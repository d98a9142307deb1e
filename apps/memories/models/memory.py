"""What is remembered, of whom, and where it came from."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q
from pgvector.django import VectorField

from apps.chats.models import Character, Chat, Message, Swipe
from apps.common import clock
from apps.common.scoping import OwnedManager, OwnedModel
from apps.memories.querysets import MemoryQuerySet


class Entity(OwnedModel):
    """Somebody or something that memories speak of."""

    class Kind(models.TextChoices):
        CHARACTER = "character"
        PLACE = "place"
        OBJECT = "object"
        FACTION = "faction"
        CONCEPT = "concept"
        UNKNOWN = "unknown"

    character = models.ForeignKey(Character, on_delete=models.CASCADE, null=True, related_name="entities")
    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, null=True, related_name="entities")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.UNKNOWN)
    aliases = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        verbose_name_plural = "entities"
        constraints = [
            models.UniqueConstraint(
                "owner",
                "character",
                "chat",
                models.functions.Lower("name"),
                name="entity_name_unique",
                nulls_distinct=False,
            ),
        ]


class Memory(OwnedModel):
    """One thing remembered. Nothing automatic deletes it: it is superseded or retired, and says why."""

    class Tier(models.TextChoices):
        LONG_TERM = "long_term", "Long-term"
        SESSION = "session", "Session"

    class Kind(models.TextChoices):
        FACT = "fact"
        RELATIONSHIP = "relationship"
        PREFERENCE = "preference"
        EVENT = "event"
        SCENE = "scene"
        REVELATION = "revelation"
        DEVELOPMENT = "development"
        DETAIL = "detail"

    class State(models.TextChoices):
        ACTIVE = "active"
        SUPERSEDED = "superseded"
        RETIRED = "retired"

    class Expiration(models.TextChoices):
        SCENE = "scene"
        SESSION = "session"
        PERMANENT = "permanent"

    character = models.ForeignKey(Character, on_delete=models.CASCADE, null=True, blank=True, related_name="memories")
    chat = models.ForeignKey(Chat, on_delete=models.SET_NULL, null=True, blank=True, related_name="memories")
    tier = models.CharField(max_length=16, choices=Tier.choices)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    text = models.TextField()
    importance = models.PositiveSmallIntegerField(default=2)
    expiration = models.CharField(max_length=16, choices=Expiration.choices, default=Expiration.PERMANENT)
    confidence = models.FloatField(default=0.7)
    unconfirmed = models.PositiveIntegerField(default=0, help_text="Passes since it was last confirmed.")
    consolidated = models.BooleanField(default=False, help_text="Whether a merge has looked at it.")
    triggers = ArrayField(
        models.CharField(max_length=40), default=list, blank=True, help_text="Words that bring it up."
    )
    witnessed_by = ArrayField(
        models.UUIDField(), default=list, blank=True, help_text="Participants who were there; empty: everybody."
    )
    entities = models.ManyToManyField(Entity, blank=True, related_name="memories")
    valid_from = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    valid_to = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    state = models.CharField(max_length=16, choices=State.choices, default=State.ACTIVE)
    retired_reason = models.CharField(max_length=32, blank=True, default="")
    superseded_by = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="supersedes"
    )
    pinned = models.BooleanField(default=False)
    hidden = models.BooleanField(default=False)
    edited_by = models.CharField(max_length=100, blank=True, default="")
    version = models.PositiveIntegerField(default=1)
    source_instance = models.CharField(max_length=100, blank=True, default="")
    participating_instances = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    embedding = VectorField(null=True, blank=True)
    embedding_model = models.CharField(max_length=100, blank=True, default="")
    lexemes = SearchVectorField(null=True, editable=False)
    run = models.ForeignKey(
        "extraction.ExtractionRun", on_delete=models.SET_NULL, null=True, blank=True, related_name="memories"
    )
    candidate_hash = models.CharField(max_length=64, blank=True, default="", editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, help_text="Set: this row is a tombstone.")
    created_at = models.DateTimeField(default=clock.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = OwnedManager.from_queryset(MemoryQuerySet)()  # type: ignore[assignment, misc]

    class Meta:
        verbose_name_plural = "memories"
        constraints = [
            models.UniqueConstraint(
                fields=["run", "tier", "candidate_hash"],
                condition=~Q(candidate_hash=""),
                name="memory_once_a_run",
            ),
            models.CheckConstraint(condition=Q(importance__range=(1, 3)), name="memory_importance"),
            models.CheckConstraint(condition=Q(confidence__range=(0, 1)), name="memory_confidence"),
            models.CheckConstraint(
                condition=Q(superseded_by=None) | ~Q(superseded_by=models.F("id")),
                name="memory_not_its_own_successor",
            ),
        ]
        indexes = [
            # Neighbours of a batch, injection and search read the active ones of a character or a chat.
            models.Index("owner", "character", "tier", "state", name="memory_owner_character"),
            models.Index("owner", "chat", "tier", "state", name="memory_owner_chat"),
            models.Index(fields=["owner", "-id"], name="memory_owner_newest"),  # the list
            GinIndex(fields=["lexemes"], name="memory_lexemes"),
        ]

    @property
    def is_active(self) -> bool:
        return self.state == self.State.ACTIVE and self.deleted_at is None


class MemorySource(OwnedModel):
    """A message, in one of its swipes, that a memory came from."""

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="sources", db_index=False)
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="memory_sources")
    swipe = models.ForeignKey(Swipe, on_delete=models.CASCADE, related_name="+")
    lost = models.BooleanField(default=False, help_text="The text that it came from stands there no longer.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["memory", "swipe"], name="source_once")]
