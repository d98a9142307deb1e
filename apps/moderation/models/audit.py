"""The audit log, and looks of moderators at what is private."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.common.database.ids import uuid7
from apps.common.scoping import OwnedModel
from apps.moderation.models.cases import Case
from apps.moderation.models.choices import Kind, moderator_field


class Look(OwnedModel):
    """Time-limited access of a moderator to something private. Its owner sees it afterwards."""

    moderator = moderator_field("Who may look.")
    kind = models.CharField(max_length=16, choices=[*Kind.choices, ("chat", "Chat")])
    target_id = models.UUIDField()
    chat_id = models.UUIDField(null=True, blank=True)
    case = models.ForeignKey(Case, on_delete=models.SET_NULL, null=True, related_name="looks", db_index=False)
    reason = models.TextField(max_length=2000)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()

    class Meta:
        default_permissions = ("view",)
        constraints = [models.CheckConstraint(condition=~Q(reason=""), name="look_reason")]
        indexes = [
            models.Index(fields=["owner", "-id"], name="look_owner"),  # the user's list
            models.Index(fields=["case"], name="look_case", condition=Q(case__isnull=False)),  # the page of a case
        ]


class Action(models.Model):
    """Entry of the audit log. A trigger refuses to change or delete it.

    It has no foreign keys, so that nothing that is deleted takes it along.
    """

    WITHOUT_OWNER = "is of the moderators, and outlives the account"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    at = models.DateTimeField(default=timezone.now, editable=False)
    moderator_id = models.UUIDField()
    moderator = models.CharField(max_length=254, help_text="The address at that time.")
    verb = models.CharField(max_length=24)
    case_id = models.UUIDField(null=True, blank=True)
    user_id = models.UUIDField(null=True, blank=True, help_text="The user whose thing it is.")
    kind = models.CharField(max_length=16, blank=True, default="")
    target_id = models.UUIDField(null=True, blank=True)
    reason = models.TextField(blank=True, default="")

    class Meta:
        default_permissions = ("view",)
        indexes = [
            models.Index(fields=["-at"], name="action_newest"),  # the log
            models.Index(fields=["case_id"], name="action_case"),  # the history of a case
            models.Index(fields=["user_id"], name="action_user"),  # the search by user
        ]

    def __str__(self) -> str:
        return f"{self.verb} {self.at:%Y-%m-%d %H:%M:%S}"
