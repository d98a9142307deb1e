"""What is remembered, where it came from, the runs that extract it, and the index of passages."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q
from pgvector.django import HalfVectorField, VectorField

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
    run = models.ForeignKey("ExtractionRun", on_delete=models.SET_NULL, null=True, blank=True, related_name="memories")
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

    class Meta:
        constraints = [models.UniqueConstraint(fields=["memory", "swipe"], name="source_once")]


class Passage(OwnedModel):
    """A message as it is found: its text, and its text with the turns around it, as vectors and lexemes."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="passages", db_index=False)
    message = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="passage")
    message_rev = models.PositiveIntegerField(help_text="The message's rev that was indexed.")
    fingerprint = models.CharField(max_length=32, help_text="Of all that the row was made from.")
    speaker = models.CharField(max_length=200, blank=True, default="")
    is_user = models.BooleanField(default=False)
    is_question = models.BooleanField(default=False)
    session = models.PositiveIntegerField(default=0, help_text="Which sitting of the chat it belongs to.")
    sent_at = models.DateTimeField(null=True, blank=True)
    length = models.PositiveIntegerField(default=0, help_text="Words of the text.")
    window_length = models.PositiveIntegerField(default=0, help_text="Words of the text and the turns around it.")
    embedding = HalfVectorField(null=True, help_text="Of the text, without the speaker's name.")
    window_embedding = HalfVectorField(null=True)
    embedding_model = models.CharField(max_length=100, blank=True, default="")
    lexemes = SearchVectorField(null=True, help_text="Of the date, the speaker and the text.")
    window_lexemes = SearchVectorField(null=True)

    class Meta:
        indexes = [models.Index("owner", "chat", name="passage_owner_chat")]  # search reads a whole scope


class ExtractionRun(OwnedModel):
    """One pass of the pipeline over what is new in a chat. Celery carries only its id."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="runs", db_index=False)
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    stage = models.CharField(max_length=32, blank=True, default="")
    tiers = ArrayField(models.CharField(max_length=16), default=list)
    first = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    last = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    chat_rev = models.PositiveBigIntegerField(default=0, help_text="The chat's rev when the window was fixed.")
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    counts = models.JSONField(default=dict)
    llm = models.JSONField(default=dict)
    error = models.TextField(blank=True, default="")
    cancel_requested = models.BooleanField(default=False)
    claim = models.UUIDField(null=True, blank=True, help_text="Names the worker that is at it.")
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chat"], condition=Q(state__in=["queued", "running"]), name="run_one_a_chat"
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "chat", "-id"], name="run_owner_chat"),  # the chat's latest run
            models.Index("heartbeat_at", condition=Q(state__in=["queued", "running"]), name="run_alive"),
        ]

    @property
    def is_active(self) -> bool:
        return self.state in (self.State.QUEUED, self.State.RUNNING)

    @property
    def kept(self) -> int:
        """How many new memories it made."""
        return self.counts.get("passed", 0) + self.counts.get("superseded", 0)


class RunStep(OwnedModel):
    """A finished stage of a run over one chunk of messages, with the model's reply as it came."""

    run = models.ForeignKey(ExtractionRun, on_delete=models.CASCADE, related_name="steps", db_index=False)
    position = models.PositiveIntegerField()
    stage = models.CharField(max_length=32)
    first = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    last = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    reply = models.TextField(blank=True, default="")
    unused_lines = ArrayField(models.TextField(), default=list)
    counts = models.JSONField(default=dict)
    finished_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "position"], name="step_once_a_run")]
