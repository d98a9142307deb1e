"""Rules that flag texts, and the jobs that apply them."""

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.common.database.ids import uuid7
from apps.common.jobs import OPEN_STATES, Job


class Rule(models.Model):
    """A list of words, or a pattern, that flags texts."""

    WITHOUT_OWNER = "is of the installation"

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
            import regex  # 1 MB, and most processes clean no rule

            try:
                pattern = regex.compile(self.text)
            except regex.error as error:
                raise ValidationError({"text": f"This is no regular expression: {error}."}) from error
            if pattern.fullmatch(""):
                raise ValidationError({"text": "This matches every text."})


class ScanJob(Job):
    """Search for what rules flag: in a chat's messages, a list of memories, or one thing. ``done`` are texts.

    The target of a list of memories is their owner.
    """

    class Scanned(models.TextChoices):
        CHAT = "chat", "Chat"
        CHARACTER = "character", "Character"
        PERSONA = "persona", "Persona"
        LOREBOOK = "lorebook", "Lorebook"
        MEMORIES = "memories", "Memories"

    class Source(models.TextChoices):
        RULES = "rules", "Rules"
        ENDPOINT = "endpoint", "Moderation endpoint"

    source = models.CharField(max_length=8, choices=Source.choices)
    kind = models.CharField(max_length=16, choices=Scanned.choices)
    target_id = models.UUIDField()
    message_ids = ArrayField(
        models.UUIDField(), default=list, help_text="Of a chat, all if it is empty. Of memories, theirs."
    )

    class Meta:
        indexes = [
            models.Index(fields=["owner", "target_id"], name="scan_owner"),  # joining what waits
            models.Index(fields=["claimed_at"], name="scan_claimed"),  # for the owners' latest turns
            models.Index("state", condition=Q(state__in=OPEN_STATES), name="scan_open"),  # for workers
        ]
