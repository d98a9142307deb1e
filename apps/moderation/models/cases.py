"""Cases: reports, flags, decisions, and what users are told of them."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.common.scoping import OwnedModel
from apps.common.words import Words
from apps.moderation.models.choices import Decision, Kind, Reason, moderator_field


class Case(OwnedModel):
    """A thing that was reported or flagged, and what was decided. The owner is the owner of the thing."""

    KEYS_WITHOUT_OWNER = {"case_one_open": "names a thing, which has one owner"}

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        DECIDED = "decided", _("Decided")

    kind = models.CharField(max_length=16, choices=Kind.choices)
    # Not a foreign key: a decision outlives the thing, which may be of any table.
    target_id = models.UUIDField()
    chat_id = models.UUIDField(null=True, blank=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    assigned_to = moderator_field("The moderator who claimed it.")
    decision = models.CharField(max_length=8, choices=Decision.choices, blank=True, default="")
    decided_by = moderator_field("The moderator who decided it.")
    decided_at = models.DateTimeField(null=True, blank=True)
    suspended_until = models.DateTimeField(null=True, blank=True, help_text="What it decided of the owner.")
    hides = models.BooleanField(default=False, help_text="The thing is hidden.")
    was_hidden = models.BooleanField(default=False, help_text="The owner of the memory had hidden it before.")
    copies = ArrayField(
        models.UUIDField(),
        default=list,
        editable=False,
        help_text="A hidden message and its copies.",
    )
    reasons = ArrayField(
        models.CharField(max_length=16, choices=Reason.choices),
        default=list,
        editable=False,
        help_text="Of its reports, which are deleted with the account of who made them.",
    )
    is_answered = models.BooleanField(default=False, help_text="The owner's answer waits for a moderator.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        default_permissions = ("view",)
        permissions = [
            ("decide_case", "Can claim and decide cases"),
            ("suspend_user", "Can suspend users"),
            ("ban_user", "Can ban users"),
            ("look_at_content", "Can look at what a case is about"),
            ("look_at_chat", "Can look at any chat, with a reason"),
            ("view_dashboard", "Can view the dashboard"),
            *((f"moderate_{kind}", f"Can see and decide cases about a {kind}") for kind in Kind.values),
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
            models.Index(
                fields=["owner", "kind", "target_id"], name="case_owner", condition=Q(hides=True)
            ),  # marks on pages
            models.Index(fields=["state", "-id"], name="case_queue"),  # the queue, over all owners
            models.Index(
                fields=["owner", "-id"], name="case_owner_newest"
            ),  # deletion of an owner; the search of the queue
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
        indexes = [models.Index(fields=["owner", "-id"], name="report_owner")]  # the reporter's list


class Flag(OwnedModel):
    """What a rule or the endpoint found. The text is not stored, but its hash: a dismissed one is not flagged again."""

    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="flags", db_index=False)
    source = models.CharField(max_length=120, help_text="Name of the rule, or of the endpoint's model.")
    categories = ArrayField(models.CharField(max_length=100), default=list)
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["case", "source", "digest"], name="flag_once")]
        indexes = [models.Index(fields=["owner", "source", "digest"], name="flag_owner")]  # repeated findings


class Notice(OwnedModel):
    """What a user is told about a decision, and the user's answer."""

    MAX_ANSWER = 4000  # characters
    HEADINGS: ClassVar[dict[str, Words]] = {
        Decision.DISMISS: _("Nothing found"),
        Decision.HIDE: _("Hidden"),
        Decision.SUSPEND: _("Suspended"),
        Decision.BAN: _("Banned"),
        Decision.REVERSE: _("Taken back"),
    }

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
            models.Index(fields=["owner", "-id"], name="notice_owner"),  # the user's list
            models.Index(fields=["case"], name="notice_case"),  # the page of a case
        ]

    @property
    def heading(self) -> str:
        return str(self.HEADINGS[self.decision])

    @property
    def can_be_answered(self) -> bool:
        return not self.is_about_report and self.decision != Decision.REVERSE and self.answered_at is None
