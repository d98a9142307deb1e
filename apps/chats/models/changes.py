"""The log of changes of chats."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from apps.chats.models.chats import Chat
from apps.common.database.fields import OrderedJSONField
from apps.common.scoping import OwnedModel


class ChatChange(OwnedModel):
    """A write to a chat: what it changed, and the resulting integrity and rev."""

    class Kind(models.TextChoices):
        CREATE = "create"
        IMPORT = "import"
        APPEND = "append"
        PATCH = "patch"
        METADATA = "metadata"
        UNDO = "undo"
        BRANCH = "branch"
        PARTICIPANTS = "participants"
        DETAILS = "details"  # title, character, persona or user name

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="changes", db_index=False)
    rev = models.PositiveBigIntegerField()
    integrity = models.UUIDField()
    kind = models.CharField(max_length=16, choices=Kind.choices)
    at = models.DateTimeField(default=timezone.now, editable=False)
    message_ids = ArrayField(models.UUIDField(), default=list, help_text="Messages added or changed.")
    deleted_ids = ArrayField(models.UUIDField(), default=list)
    metadata = OrderedJSONField(null=True, blank=True, help_text="The change of the metadata, as a merge patch.")
    metadata_replaced = models.BooleanField(
        default=False, help_text="metadata holds all metadata, not a merge patch. Of old entries."
    )
    replaced_keys = ArrayField(
        models.TextField(),
        default=list,
        db_default=[],
        help_text="Keys of which metadata holds the value instead of a patch, which can hold no null.",
    )
    before = OrderedJSONField(null=True, blank=True, help_text="Earlier state of what was changed, for undo.")
    undoes = models.PositiveBigIntegerField(null=True, blank=True, help_text="The rev that this change undid.")
    reordered = models.BooleanField(default=False, help_text="Indexes of messages not listed changed too.")
    fingerprint = models.CharField(
        max_length=64, blank=True, default="", help_text="Hash of the request, to recognise retries."
    )
    forced = models.BooleanField(default=False, help_text="Written without a check of integrity.")
    writer = models.CharField(
        max_length=64, blank=True, default="", help_text="Hash of the token or session that wrote it."
    )

    @property
    def changes_details(self) -> bool:
        """Return whether it changed the title, the character, the persona or the user's name, or undid that."""
        is_undo = self.kind == self.Kind.UNDO and not self.message_ids and not self.deleted_ids
        return self.kind == self.Kind.DETAILS or (is_undo and self.metadata is None)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chat", "rev"], name="change_chat_rev"),
            models.UniqueConstraint(fields=["chat", "integrity"], name="change_chat_integrity"),
            models.UniqueConstraint(
                fields=["chat", "undoes"], name="change_undone_once", condition=models.Q(undoes__isnull=False)
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-id"], name="change_owner"),  # the admin site's list
            models.Index("at", name="change_age"),  # trimming, over all owners
            models.Index("at", name="change_with_texts", condition=models.Q(before__isnull=False)),
        ]
