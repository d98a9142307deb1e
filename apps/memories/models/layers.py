"""Models of the layers: scenes, arcs, the state ledger, knowledge and relationships."""

from collections.abc import Collection
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField

from apps.chats.models import Character, Chat, Message, Swipe
from apps.memories.models.entities import Entity
from apps.memories.models.life import ALL_ROWS, RETIRED, Life, Remembered, RetiredReason, link_to
from apps.memories.models.memory import StoryModel


class LayerEntry(Remembered):
    """Abstract base of all layer entries: the messages and swipes where an entry begins and ends, and who retired it.

    A kind has a ``chat`` and a ``state``, says in ``life`` how it differs, and stands in ``apps.memories.kinds``.
    """

    source = link_to(Message, "The message from which it was extracted.")
    swipe = link_to(Swipe)
    until = link_to(Message, "The message at which it ended.")
    until_swipe = link_to(Swipe)
    retired_by = models.CharField(
        max_length=100, blank=True, default="", help_text="The person who retired the entry; empty if a run did."
    )
    state_before = models.CharField(
        max_length=16, blank=True, default="", help_text="The state that undoing the retirement restores."
    )

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=Q(state_before="") | Q(state=RETIRED), name="%(class)s_state_before_retired"
            ),
            models.CheckConstraint(
                condition=~Q(retired_reason=RetiredReason.BY_HAND) | (Q(state=RETIRED) & ~Q(retired_by="")),
                name="%(class)s_retired_by_somebody",
            ),
        ]

    @classmethod
    def ending_field(cls) -> str:
        """Return the field of Ending that names an entry of this kind; empty if other stories cannot end one."""
        return str(cls._meta.model_name) if cls.life.same else ""

    @classmethod
    def has_lost_text(cls, changed: Collection[UUID]) -> Q:
        """Return the condition of entries whose message was deleted, or has one of the ids ``changed``."""
        return Q(source=None) | Q(source__in=changed)


class Scene(LayerEntry):
    """A scene whose end, at the message ``source``, a run detected.

    Scene breaks set by people are message data. For these a row in the state RECAP holds only the recap of a run.
    """

    class State(models.TextChoices):
        FOUND = "found"
        RECAP = "recap"
        DISMISSED = "dismissed"  # a person removed the break; a run must not detect it again
        RETIRED = "retired"

    life = Life(holds=State.FOUND)

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="found_scenes", db_index=False)
    state = models.CharField(max_length=16, choices=State.choices, default=State.FOUND)
    reason = models.CharField(max_length=200, blank=True, default="", help_text="The cue for its end.")
    opening = link_to(Message, "The message after its end, which contains the cue.")
    name = models.CharField(max_length=200, blank=True, default="")
    recap = models.TextField(blank=True, default="")
    recapped = models.PositiveIntegerField(
        null=True, blank=True, help_text="The number of messages of the recap; null if it is still to be written."
    )
    collapsed = models.BooleanField(default=False)

    class Meta:
        constraints = [
            *LayerEntry.Meta.constraints,
            models.UniqueConstraint(
                fields=["chat", "source"], condition=Q(source__isnull=False), name="scene_once_a_message"
            ),
        ]
        indexes = [models.Index("owner", "chat", "state", name="scene_owner_chat")]

    @classmethod
    def has_lost_text(cls, changed: Collection[UUID]) -> Q:
        """Return the condition of scenes of which the last message, or the one with the cue, was lost."""
        is_cue_lost = Q(opening=None) | Q(opening__in=changed)
        # The recap of a break that a person set needs no cue.
        return super().has_lost_text(changed) | is_cue_lost & ~Q(state_before=cls.State.RECAP)


class Arc(StoryModel, LayerEntry):
    """A thread of the story, open until resolved. A persistent arc also applies in the character's other chats."""

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        RESOLVED = "resolved", _("Resolved")
        RETIRED = "retired"

    life = Life(
        holds=State.OPEN,
        ended=Q(state=State.RESOLVED),
        ended_by="edited_by",
        ended_stays=True,
        outcome="summary",
        same=("character_id", "text"),
        outlives_chat=Q(persistent=True, character__isnull=False),
        outlives_fresh_start=Q(persistent=True, character__isnull=False),
    )

    chat = models.ForeignKey(Chat, on_delete=models.SET_NULL, null=True, blank=True, related_name="arcs")
    character = models.ForeignKey(Character, on_delete=models.CASCADE, null=True, blank=True, related_name="arcs")
    text = models.TextField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.OPEN)
    summary = models.TextField(blank=True, default="", help_text="The outcome, once resolved.")
    persistent = models.BooleanField(default=False)
    embedding = HalfVectorField(null=True, blank=True)
    embedding_model = models.CharField(max_length=220, blank=True, default="")
    line_hash = models.CharField(max_length=64, blank=True, default="", editable=False)

    class Meta:
        constraints = [
            *LayerEntry.Meta.constraints,
            models.UniqueConstraint(
                fields=["run", "chat", "line_hash"], condition=~Q(line_hash=""), name="arc_once_a_run"
            ),
        ]
        indexes = [
            models.Index("owner", "chat", "state", name="arc_owner_chat"),
            models.Index("owner", "character", "state", name="arc_owner_character"),
        ]


class LedgerEntry(LayerEntry):
    """The value of an entity's field from the message ``source`` up to the message ``until``."""

    class State(models.TextChoices):
        CURRENT = "current"
        REPLACED = "replaced"
        CLEARED = "cleared"  # ended without a new value
        RETIRED = "retired"

    life = Life(
        holds=State.CURRENT,
        ended=Q(state__in=[State.REPLACED, State.CLEARED]),
        slot=("entity_id", "field"),
        names=("entity",),
    )

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="ledger", db_index=False)
    entity = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="ledger")
    field = models.CharField(max_length=32)
    value = models.TextField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.CURRENT)

    class Meta:
        verbose_name_plural = "ledger entries"
        constraints = [
            *LayerEntry.Meta.constraints,
            models.UniqueConstraint(
                fields=["chat", "entity", "field"], condition=Q(state="current"), name="ledger_one_current_value"
            ),
        ]
        indexes = [models.Index("owner", "chat", "state", name="ledger_owner_chat")]


class Knowledge(LayerEntry):
    """Something that ``subject`` knows, suspects, believes, is unaware of, or hides from ``target``."""

    class Kind(models.TextChoices):
        KNOWS = "knows", _("Knows")
        SUSPECTS = "suspects", _("Suspects")
        BELIEVES = "believes", _("Believes")
        UNAWARE = "unaware", _("Unaware")
        HIDING = "hiding", _("Hiding")

    class State(models.TextChoices):
        ACTIVE = "active"
        RETIRED = "retired"

    life = Life(
        holds=State.ACTIVE,
        ended=Q(state=RETIRED, retired_reason=RetiredReason.OUTDATED),
        ended_stays=True,
        names=("subject", "target"),
        same=("kind", "subject_id", "target_id", "text"),
    )

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="knowledge", db_index=False)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    subject = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="knowledge")
    target = models.ForeignKey(
        Entity,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        help_text="The entity from which it is hidden.",
    )
    text = models.TextField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.ACTIVE)
    line_hash = models.CharField(max_length=64, blank=True, default="", editable=False)

    class Meta:
        verbose_name_plural = "knowledge"
        constraints = [
            *LayerEntry.Meta.constraints,
            models.UniqueConstraint(
                fields=["run", "line_hash"], condition=~Q(line_hash=""), name="knowledge_once_a_run"
            ),
            models.CheckConstraint(
                condition=Q(kind="hiding") | Q(target__isnull=True), name="knowledge_target_of_hiding"
            ),
        ]
        indexes = [models.Index("owner", "chat", "state", name="knowledge_owner_chat")]


class Relationship(StoryModel, LayerEntry):
    """A descriptor of how ``subject`` relates to ``target``, with its magnitude. A branch holds copies."""

    class Magnitude(models.TextChoices):
        LOW = "low", _("Low")
        MEDIUM = "medium", _("Medium")
        HIGH = "high", _("High")

    class State(models.TextChoices):
        CURRENT = "current"
        REPLACED = "replaced"  # by the same descriptor with another magnitude
        REMOVED = "removed"
        RETIRED = "retired"

    life = Life(
        holds=State.CURRENT,
        ended=Q(state__in=[State.REPLACED, State.REMOVED]),
        slot=("subject_id", "target_id", "descriptor"),
        names=("subject", "target"),
        same=("subject_id", "target_id", "descriptor", "magnitude"),
        outlives_chat=Q(subject__character__isnull=False),
        outlives_fresh_start=ALL_ROWS,
    )

    chat = models.ForeignKey(Chat, on_delete=models.SET_NULL, null=True, blank=True, related_name="relationships")
    subject = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="relationships")
    target = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="+")
    descriptor = models.CharField(max_length=60)
    magnitude = models.CharField(max_length=8, choices=Magnitude.choices, default=Magnitude.MEDIUM)
    state = models.CharField(max_length=16, choices=State.choices, default=State.CURRENT)

    class Meta:
        constraints = [
            *LayerEntry.Meta.constraints,
            models.UniqueConstraint(
                fields=["chat", "subject", "target", "descriptor"],
                condition=Q(state="current"),
                name="relationship_one_current_word",
            ),
            models.CheckConstraint(condition=~Q(subject=models.F("target")), name="relationship_between_two"),
        ]
        indexes = [models.Index("owner", "subject", "state", name="relationship_owner_subject")]
