"""Models of memories, and the messages that they come from."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, FloatField, Func, Q, Value
from django.db.models.functions import Cast
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField

from apps.chats.models import MAX_TAG_LENGTH, MAX_TAGS, Character, Chat, Message, Swipe
from apps.common.scoping import OwnedModel, namespace_field
from apps.memories.masking import MASK
from apps.memories.models.entities import Entity
from apps.memories.models.life import Life, Remembered, link_to
from apps.memories.quotations import quoted_speaker
from apps.memories.visibility import MemoryManager, MemoryWithBinManager

# Weights of importance (1 to 3) and of confidence (0 to 1) in the standing of a memory: what it weighs in any turn.
IMPORTANCE_WEIGHT = 0.1
CONFIDENCE_WEIGHT = 0.2
# It must be written as in the indexes, or they are not used.
STANDING_SQL = f"({IMPORTANCE_WEIGHT}::float * importance + {CONFIDENCE_WEIGHT}::float * confidence)"
# The condition of the indexes by standing, for the ORM and for statements of our own.
IS_VISIBLE = Q(state="active", hidden=False, in_bin=False, deleted_at=None)
IS_VISIBLE_SQL = "state = 'active' AND NOT hidden AND NOT in_bin AND deleted_at IS NULL"


def standing_of(importance: Any, confidence: Any) -> Any:
    """Return the expression of a memory's standing."""
    weights = [Cast(Value(weight), FloatField()) for weight in (IMPORTANCE_WEIGHT, CONFIDENCE_WEIGHT)]
    return weights[0] * importance + weights[1] * confidence


class StoryModel(OwnedModel):
    """Abstract base of rows that know the story of their chat, also after the chat is deleted."""

    story = models.UUIDField(null=True, editable=False, help_text="The story of its chat; null for one without a chat.")

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.set_story()
        super().save(*args, **kwargs)

    def set_story(self) -> None:
        """Set the story of a new row, which is that of its chat."""
        if self.story is None and self.chat_id is not None:  # type: ignore[attr-defined]
            self.story = self.chat.story  # type: ignore[attr-defined]


class Memory(StoryModel, Remembered):
    """A remembered statement. A run never deletes one: it supersedes or retires it, with a reason."""

    # Labels of tiers and kinds are for people; apps.memories.labels explains them.
    class Tier(models.TextChoices):
        LONG_TERM = "long_term", _("Lasting")
        SESSION = "session", _("One chat")

    class Kind(models.TextChoices):
        FACT = "fact", _("Fact")
        RELATIONSHIP = "relationship", _("Relationship")
        PREFERENCE = "preference", _("Likes and dislikes")
        EVENT = "event", _("Event")
        SCENE = "scene", _("Situation")
        REVELATION = "revelation", _("Discovery")
        DEVELOPMENT = "development", _("Turn of events")
        DETAIL = "detail", _("Small thing")

    class State(models.TextChoices):
        ACTIVE = "active"
        SUPERSEDED = "superseded"
        RETIRED = "retired"

    class Expiration(models.TextChoices):
        SCENE = "scene"
        SESSION = "session"
        PERMANENT = "permanent"

    life = Life(
        holds=State.ACTIVE,
        begins="valid_from",
        ended=Q(state=State.SUPERSEDED),
        names=("entities",),
        outlives_chat=Q(tier=Tier.LONG_TERM),
        outlives_fresh_start=Q(tier=Tier.LONG_TERM),
    )

    namespace = namespace_field()
    character = models.ForeignKey(Character, on_delete=models.CASCADE, null=True, blank=True, related_name="memories")
    chat = models.ForeignKey(Chat, on_delete=models.SET_NULL, null=True, blank=True, related_name="memories")
    tier = models.CharField(max_length=16, choices=Tier.choices)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    text = models.TextField()
    importance = models.PositiveSmallIntegerField(default=2)
    expiration = models.CharField(max_length=16, choices=Expiration.choices, default=Expiration.PERMANENT)
    confidence = models.FloatField(default=0.7)
    unconfirmed = models.PositiveIntegerField(default=0, help_text="Passes since the last confirmation.")
    consolidated = models.BooleanField(default=False, help_text="Whether a consolidation has considered it.")
    triggers = ArrayField(
        models.CharField(max_length=40), default=list, blank=True, help_text="Keywords that recall it."
    )
    witnessed_by = ArrayField(
        models.UUIDField(), default=list, blank=True, help_text="Participants who witnessed it; empty: all."
    )
    entities = models.ManyToManyField(Entity, blank=True, related_name="memories")
    valid_from = link_to(Message)
    valid_to = link_to(Message)
    state = models.CharField(max_length=16, choices=State.choices, default=State.ACTIVE)
    superseded_by = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="supersedes"
    )
    split_from = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        db_index=False,  # few memories are parts: their index has no others
        related_name="parts",
        help_text="The memory that a person split into this one and others.",
    )
    pinned = models.BooleanField(default=False)
    hidden = models.BooleanField(default=False)
    withheld = models.BooleanField(
        default=False, editable=False, help_text="Moderators have hidden it, and its owner can't show it."
    )
    former_texts = ArrayField(
        models.TextField(), default=list, blank=True, help_text="Texts that a person corrected, the latest last."
    )
    source_instance = models.CharField(max_length=100, blank=True, default="")
    participating_instances = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    # Plain JSON, whose keys filters read; the order of keys is not kept.
    metadata = models.JSONField(default=dict, blank=True, help_text="Data of a client, for its filters.")
    tags = ArrayField(models.CharField(max_length=MAX_TAG_LENGTH), default=list, blank=True)
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="From then on it is neither found, listed nor told, but still there."
    )
    embedding = HalfVectorField(null=True, blank=True)
    embedding_model = models.CharField(max_length=220, blank=True, default="")
    lexemes = SearchVectorField(null=True, editable=False)
    run = models.ForeignKey(
        "extraction.ExtractionRun", on_delete=models.SET_NULL, null=True, blank=True, related_name="memories"
    )
    candidate_hash = models.CharField(max_length=64, blank=True, default="", editable=False)
    deleted_at = models.DateTimeField(
        null=True, blank=True, help_text="Set on a tombstone, which keeps a deleted memory from being learnt again."
    )
    in_bin = models.BooleanField(
        default=False, editable=False, help_text="All chats that it comes from are in the bin, or gone for good."
    )
    kept = models.BooleanField(
        default=False, editable=False, help_text="A person kept it when its chat was deleted for good."
    )

    objects = MemoryManager()  # type: ignore[misc]
    with_bin = MemoryWithBinManager()

    class Meta:
        verbose_name_plural = "memories"
        constraints = [
            models.UniqueConstraint(
                fields=["run", "tier", "candidate_hash"], condition=~Q(candidate_hash=""), name="memory_once_a_run"
            ),
            models.CheckConstraint(condition=Q(chat=None) | Q(story__isnull=False), name="memory_story_of_chat"),
            models.CheckConstraint(condition=Q(importance__range=(1, 3)), name="memory_importance"),
            models.CheckConstraint(condition=Q(tags__len__lte=MAX_TAGS), name="memory_tags_limit"),
            models.CheckConstraint(condition=Q(confidence__range=(0, 1)), name="memory_confidence"),
            models.CheckConstraint(
                condition=Q(superseded_by=None) | ~Q(superseded_by=models.F("id")), name="memory_not_its_own_successor"
            ),
            models.CheckConstraint(
                condition=Q(split_from=None) | ~Q(split_from=models.F("id")), name="memory_not_its_own_part"
            ),
        ]
        indexes = [
            # Comparison of a batch, injection and search read the active memories of a character or a chat.
            models.Index("owner", "character", "tier", "state", name="memory_owner_character"),
            models.Index("owner", "chat", "tier", "state", "id", name="memory_owner_chat_newest"),
            models.Index(fields=["owner", "namespace", "-id"], name="memory_owner_newest"),  # for the paginated list
            models.Index("owner", "deleted_at", name="memory_tombstones", condition=Q(deleted_at__isnull=False)),
            # A prompt chooses from the memories of highest standing, from pinned ones and those of trigger words.
            models.Index(
                "owner",
                "chat",
                standing_of(F("importance"), F("confidence")).desc(),
                F("id").desc(),
                name="memory_session_standing",
                condition=Q(tier="session") & IS_VISIBLE,
            ),
            models.Index(
                "owner",
                "character",
                "kind",
                standing_of(F("importance"), F("confidence")).desc(),
                F("id").desc(),
                name="memory_long_term_standing",
                condition=Q(tier="long_term") & IS_VISIBLE,
            ),
            models.Index("owner", "tier", name="memory_pinned", condition=Q(pinned=True)),
            # Copies are looked for in stories that have, or had, several chats.
            models.Index("owner", "story", name="memory_story", condition=Q(story__isnull=False)),
            models.Index("owner", "story", name="memory_left_of_story", condition=Q(chat=None, story__isnull=False)),
            # Who has vectors by a former model is asked every half hour.
            models.Index("embedding_model", "owner", name="memory_embedding_model"),
            models.Index("split_from", name="memory_split_from", condition=Q(split_from__isnull=False)),
            # Read by the database's function memories_with_trigger. Without a list of what is to be indexed, which each
            # search would have to read.
            GinIndex(Func("owner", "triggers", function="trigger_keys"), name="memory_trigger_keys", fastupdate=False),
        ]

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.set_namespace()
        super().save(*args, **kwargs)

    def set_namespace(self) -> None:
        """Set the namespace of a new row, which is that of its chat and its character."""
        if self._state.adding and (whose := self.chat or self.character):
            self.namespace = whose.namespace

    @property
    def is_active(self) -> bool:
        """Return whether the memory is neither superseded, retired, deleted nor in the bin."""
        return self.state == self.State.ACTIVE and self.deleted_at is None and not self.in_bin

    @property
    def quoted_from(self) -> str:
        """Return who says all of the text, which is then told as their words; empty if it is no quotation."""
        return quoted_speaker(self.text)

    @property
    def is_masked(self) -> bool:
        """Return whether a key, a password or a card number of the message is left out of the text."""
        return MASK in self.text

    @property
    def entity_names(self) -> list[str]:
        return [entity.name for entity in self.entities.all()]

    @property
    def source_message_ids(self) -> list[UUID]:
        """Return the ids of the source messages; a message with two source swipes once."""
        return list(dict.fromkeys(source.message_id for source in self.sources.all()))

    @property
    def source_sent_at(self) -> datetime | None:
        """Return when the last of its source messages was sent; None if that is not known."""
        return max((at for source in self.sources.all() if (at := source.message.sent_at)), default=None)

    @property
    def superseded_ids(self) -> list[UUID]:
        """Return the ids of the memories that this one supersedes."""
        return [memory.pk for memory in self.supersedes.all()]


class MemorySource(OwnedModel):
    """A link from a memory to a message that it comes from, and to the swipe that was active then."""

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="sources", db_index=False)
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="memory_sources")
    swipe = models.ForeignKey(Swipe, on_delete=models.CASCADE, related_name="+")
    lost = models.BooleanField(default=False, help_text="The text was changed or removed in the meantime.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["memory", "swipe"], name="source_once")]
