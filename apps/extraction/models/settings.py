"""Memory settings of a user, a character or a chat, and prompt templates edited by users."""

from django.db import models
from django.db.models import Q

from apps.chats.models import Character, Chat
from apps.common.database.fields import OrderedJSONField
from apps.common.scoping import OwnedModel


class ScopedSettings(OwnedModel):
    """Abstract base of settings of a user, or of one of their characters or chats, that differ from the defaults."""

    character = models.OneToOneField(Character, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    document = OrderedJSONField(default=dict, help_text="Changed settings only, with a schema_version.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(fields=["owner", "character", "chat"], name="%(class)s_once", nulls_distinct=False),
            models.CheckConstraint(condition=Q(character__isnull=True) | Q(chat__isnull=True), name="%(class)s_of_one"),
        ]


class MemorySettings(ScopedSettings):
    """Memory settings of a user, a character or a chat."""

    class Meta(ScopedSettings.Meta):
        verbose_name_plural = "memory settings"


class PromptTemplate(OwnedModel):
    """Prompt template of a user that replaces the built-in one of a task."""

    task = models.CharField(max_length=32)
    text = models.TextField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "task"], name="prompt_template_once")]
