"""The model of questions to the person: which of two memories is true now."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Chat
from apps.common.scoping import OwnedModel
from apps.memories.models.memory import Memory


class Question(OwnedModel):
    """Two memories of which one may replace the other, while nothing says which of them was said later.

    ``chat`` is the chat in which the second one was learnt.
    """

    class Answer(models.TextChoices):
        FIRST = "first", _("The first")
        SECOND = "second", _("The second")
        BOTH = "both", _("Both")

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="questions")
    first = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+", db_index=False)
    second = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+")
    answer = models.CharField(max_length=8, choices=Answer.choices, blank=True, default="")
    answered_by = models.CharField(max_length=100, blank=True, default="")
    answered_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["first", "second"], name="question_once"),
            models.CheckConstraint(condition=~Q(first=models.F("second")), name="question_about_two"),
            models.CheckConstraint(
                condition=Q(answer="", answered_at=None) | ~Q(answer="") & Q(answered_at__isnull=False),
                name="question_answered_at",
            ),
        ]
        indexes = [models.Index(fields=["owner", "-id"], name="question_owner_newest")]  # the list
