"""Cases of moderation, reports and flags, rules, decisions, looks into private chats, and the audit log."""

from typing import Any

import regex
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.common.ids import uuid7
from apps.common.jobs import OPEN_STATES, Job
from apps.common.scoping import OwnedModel


class Kind(models.TextChoices):
    """Kinds of things that can be reported."""

    CHARACTER = "character", "Character"
    MESSAGE = "message", "Message"
    MEMORY = "memory", "Shared memory"


class Reason(models.TextChoices):
    """Reasons of a report."""

    MINORS = "minors", "Sexual content with minors"
    SEXUAL = "sexual", "Sexual content"
    VIOLENCE = "violence", "Violence or self-harm"
    HARASSMENT = "harassment", "Harassment or hate"
    PRIVACY = "privacy", "Somebody's private data"
    ILLEGAL = "illegal", "Something else that is illegal"
    OTHER = "other", "Something else"


class Decision(models.TextChoices):
    """How a case ends."""

    DISMISS = "dismiss", "Dismiss"
    HIDE = "hide", "Hide from others"
    SUSPEND = "suspend", "Suspend the owner"
    BAN = "ban", "Ban the owner"
    REVERSE = "reverse", "Reversed"


def _moderator(help_text: str) -> Any:
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text=help_text,
        db_index=False,
    )


class Rule(models.Model):
    """A list of words, or a pattern, that flags texts."""

    class Form(models.TextChoices):
        WORDS = "words", "Words and phrases, one a line"
        PATTERN = "pattern", "Regular expression"

    MAX_LENGTH = 20_000  # characters

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=100, unique=True)
    form = models.CharField(max_length=8, choices=Form.choices, default=Form.WORDS)
    text = models.TextField(max_length=MAX_LENGTH, help_text="Case is ignored. Words match as whole words.")
    is_enabled = models.BooleanField(default=True)
    timeouts = models.PositiveIntegerField(default=0, editable=False, help_text="Matches that took too long.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Raise ValidationError for a list without words, or a pattern that can't be compiled or matches nothing."""
        if not self.text.strip():
            raise ValidationError({"text": "There is nothing to look for."})
        if self.form == self.Form.PATTERN:
            try:
                pattern = regex.compile(self.text)
            except regex.error as error:
                raise ValidationError({"text": f"This is no regular expression: {error}."}) from error
            if pattern.fullmatch(""):
                raise ValidationError({"text": "This matches every text."})


class Case(OwnedModel):
    """A thing that was reported or flagged, and what was decided. The owner is the owner of the thing."""

    class State(models.TextChoices):
        OPEN = "open", "Open"
        DECIDED = "decided", "Decided"

    kind = models.CharField(max_length=16, choices=Kind.choices)
    # Not a foreign key: a decision outlives the thing, which may be of any table.
    target_id = models.UUIDField()
    chat_id = models.UUIDField(null=True, blank=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    assigned_to = _moderator("The moderator who claimed it.")
    decision = models.CharField(max_length=8, choices=Decision.choices, blank=True, default="")
    decided_by = _moderator("The moderator who decided it.")
    decided_at = models.DateTimeField(null=True, blank=True)
    hides = models.BooleanField(default=False, help_text="The thing is hidden from others.")
    is_answered = models.BooleanField(default=False, help_text="The owner's answer waits for a moderator.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        default_permissions = ("view",)
        permissions = [
            ("decide_case", "Can claim and decide cases"),
            ("suspend_user", "Can suspend users"),
            ("ban_user", "Can ban users"),
            ("look_at_content", "Can look at private content, with a reason"),
            ("view_dashboard", "Can view the dashboard"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["kind", "target_id"], condition=Q(state="open"), name="case_one_open"),
            models.CheckConstraint(
                condition=Q(state="open", decision="", decided_at=None)
                | (Q(state="decided", decided_at__isnull=False) & ~Q(decision="")),
                name="case_decided",
            ),
        ]
        indexes = [
            models.Index("owner", "kind", "target_id", name="case_owner", condition=Q(hides=True)),  # marks on pages
            models.Index("state", "-id", name="case_queue"),  # the queue, over all owners
            models.Index("owner", "-id", name="case_owner_newest"),  # deletion of an owner; the search of the queue
        ]


class Report(OwnedModel):
    """What a user reports. The owner is the reporter; there is one of each in an open case."""

    MAX_NOTE = 2000  # characters

    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="reports", db_index=False)
    reason = models.CharField(max_length=16, choices=Reason.choices)
    note = models.TextField(max_length=MAX_NOTE, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["case", "owner"], name="report_once")]
        indexes = [models.Index("owner", "-id", name="report_owner")]  # the reporter's list


class Flag(OwnedModel):
    """What a rule or the endpoint found. The text is not stored, but its hash: a dismissed one is not flagged again."""

    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="flags", db_index=False)
    source = models.CharField(max_length=120, help_text="Name of the rule, or of the endpoint's model.")
    categories = ArrayField(models.CharField(max_length=100), default=list)
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["case", "source", "digest"], name="flag_once")]
        indexes = [models.Index("owner", "source", "digest", name="flag_owner")]  # repeated findings


class Notice(OwnedModel):
    """What a user is told about a decision, and the user's answer."""

    MAX_ANSWER = 4000  # characters

    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="notices", db_index=False)
    decision = models.CharField(max_length=8, choices=Decision.choices)
    is_about_report = models.BooleanField(default=False, help_text="It tells a reporter, not the thing's owner.")
    text = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    answer = models.TextField(max_length=MAX_ANSWER, blank=True, default="")
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(answered_at=None, answer="") | (Q(answered_at__isnull=False) & ~Q(answer="")),
                name="notice_answered",
            )
        ]
        indexes = [
            models.Index("owner", "-id", name="notice_owner"),  # the user's list
            models.Index("case", name="notice_case"),  # the page of a case
        ]


class Look(OwnedModel):
    """Time-limited access of a moderator to something private. Its owner sees it afterwards."""

    moderator = _moderator("Who may look.")
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
            models.Index("owner", "-id", name="look_owner"),  # the user's list
            models.Index("case", name="look_case", condition=Q(case__isnull=False)),  # the page of a case
        ]


class Action(models.Model):
    """Entry of the audit log. A trigger refuses to change or delete it.

    It has no foreign keys, so that nothing that is deleted takes it along.
    """

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
            models.Index("-at", name="action_newest"),  # the log
            models.Index("case_id", name="action_case"),  # the history of a case
            models.Index("user_id", name="action_user"),  # the search by user
        ]

    def __str__(self) -> str:
        return f"{self.verb} {self.at:%Y-%m-%d %H:%M:%S}"


class ScanJob(Job):
    """Search of a chat's messages or a character for what rules flag. ``done`` are texts."""

    kind = models.CharField(max_length=16, choices=[("chat", "Chat"), ("character", "Character")])
    target_id = models.UUIDField()
    message_ids = ArrayField(models.UUIDField(), default=list, help_text="Empty: all messages.")

    class Meta:
        indexes = [
            models.Index("owner", "target_id", name="scan_owner"),  # joining what waits
            models.Index("claimed_at", name="scan_claimed"),  # for the owners' latest turns
            models.Index("state", condition=Q(state__in=OPEN_STATES), name="scan_open"),  # for workers
        ]
