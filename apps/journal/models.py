"""The model of how far an owner's dailies have been written."""

from django.db import models

from apps.common.scoping import OwnedModel


class JournalProgress(OwnedModel):
    """Until when what an owner's runs remembered stands in dailies. A time, since the owner's time zone may change."""

    until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner"], name="journal_progress_once")]
