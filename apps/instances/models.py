"""Models of instances, of what they share, of its past versions, and of conflicts that a person settles."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.accounts.instance_names import LOCI
from apps.common.database.ids import uuid7
from apps.common.scoping import OwnedManager, OwnedModel, OwnedQuerySet


class Instance(OwnedModel):
    """A program that shares its owner's memory. A removed one keeps its row, since clocks name it."""

    name_id = models.CharField(max_length=64, help_text="Short name, as clocks have it.")
    type = models.CharField(max_length=64, blank=True, default="")
    name = models.CharField(max_length=100, blank=True, default="")
    priority = models.IntegerField(default=0, help_text="The higher one wins where two wrote at the same time.")
    clock = models.JSONField(default=dict, blank=True, help_text="Vector clock that it has passed.")
    last_contact = models.DateTimeField(null=True, blank=True, editable=False)
    removed_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "name_id"], name="instance_owner_name"),
            models.CheckConstraint(
                condition=Q(name_id__regex=r"^[a-z0-9-]{1,64}$") & ~Q(name_id=LOCI), name="instance_name"
            ),
        ]

    @property
    def counter(self) -> int:
        """Return its own counter."""
        return int(self.clock.get(self.name_id, 0))


class ItemQuerySet(OwnedQuerySet["Item"]):
    def present(self) -> "ItemQuerySet":
        """Exclude tombstones."""
        return self.filter(deleted_at=None)

    def identity(self) -> "ItemQuerySet":
        """Return identity files."""
        return self.filter(kind=Item.Kind.IDENTITY)


class Item(OwnedModel):
    """An identity file, or the shared state of a memory or a journal entry, named by ``target``.

    ``text`` is the text that ``clock`` describes. Where the memory differs, Loci has changed it since the last sync.
    Tombstones stay, so that a push that comes late doesn't bring back what was deleted.
    """

    class Kind(models.TextChoices):
        IDENTITY = "identity"
        MEMORY = "memory"  # a journal entry too, which the protocol calls so

    class Category(models.TextChoices):
        SELF = "self"
        USER = "user"
        RELATIONSHIP = "relationship"
        CUSTOM = "custom"

    kind = models.CharField(max_length=16, choices=Kind.choices)
    category = models.CharField(max_length=16, choices=Category.choices, blank=True, default="")
    filename = models.CharField(max_length=100, blank=True, default="")
    # No foreign key: it outlives the memory, and names a row of one of two tables.
    target = models.UUIDField(default=uuid7, help_text="Id of the memory or the journal entry.")
    tier = models.CharField(max_length=16, blank=True, default="")
    period = models.CharField(max_length=10, blank=True, default="")
    written_for = models.CharField(max_length=64, blank=True, default="", help_text="The instance of a day's entry.")
    text = models.TextField(blank=True)
    clock = models.JSONField(default=dict)
    instance = models.CharField(max_length=64, help_text="The last writer.")
    participating_instances = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    version = models.PositiveIntegerField(default=1)
    position = models.PositiveBigIntegerField(help_text="Counter of Loci at its last change.")
    changed_at = models.DateTimeField(default=timezone.now, help_text="When the last writer wrote it.")
    deleted_at = models.DateTimeField(null=True, blank=True)
    erased_chats = ArrayField(
        models.UUIDField(), default=list, blank=True, help_text="Chats deleted for good, with what it told of them."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = OwnedManager.from_queryset(ItemQuerySet)()  # type: ignore[assignment, misc]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "position"], name="item_position"),
            models.UniqueConstraint(fields=["owner", "target"], name="item_target"),
            models.UniqueConstraint(
                fields=["owner", "category", "filename"], condition=Q(kind="identity"), name="item_identity_file"
            ),
            models.CheckConstraint(condition=Q(kind="memory") ^ ~Q(category=""), name="item_category"),
        ]

    @property
    def name(self) -> str:
        """Return what conflicts and tombstones name it by: category and filename, or the id."""
        return f"{self.category}/{self.filename}" if self.kind == self.Kind.IDENTITY else str(self.target)


class ItemVersion(OwnedModel):
    """A text that an item had, or that lost against it."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    clock = models.JSONField(default=dict)
    instance = models.CharField(max_length=64)
    changed_at = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "number"], name="item_version_number")]


class Conflict(OwnedModel):
    """Two concurrent texts of a memory or a journal entry, of which a person chooses."""

    class Choice(models.TextChoices):
        OURS = "ours"
        THEIRS = "theirs"
        BOTH = "both"
        TEXT = "text"

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="conflicts", db_index=False)
    ours = models.TextField()
    our_instance = models.CharField(max_length=64)
    our_clock = models.JSONField(default=dict)
    theirs = models.TextField()
    their_instance = models.CharField(max_length=64)
    their_clock = models.JSONField(default=dict)
    choice = models.CharField(max_length=8, choices=Choice.choices, blank=True, default="")
    settled_by = models.CharField(max_length=254, blank=True, default="")
    settled_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(choice="", settled_at=None) | (~Q(choice="") & Q(settled_at__isnull=False)),
                name="conflict_settled",
            )
        ]
        indexes = [
            models.Index(fields=["item"], name="conflict_item"),
            models.Index(fields=["owner", "-id"], name="conflict_owner_newest"),
        ]

    @property
    def our_side(self) -> dict[str, object]:
        """Return the version that stood when the other one came."""
        return {"text": self.ours, "instance": self.our_instance, "clock": self.our_clock}

    @property
    def their_side(self) -> dict[str, object]:
        """Return the version that was pushed."""
        return {"text": self.theirs, "instance": self.their_instance, "clock": self.their_clock}
