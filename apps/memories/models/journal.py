"""The model of the journal: what happened in a day, a week, a month or a year, and what a person wrote by hand.

It is here with what search reads of it; all that writes entries is in ``apps.journal``.
"""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from pgvector.django import HalfVectorField

from apps.common.scoping import OwnedManager, OwnedModel, OwnedQuerySet
from apps.memories.journal.periods import Granularity, Period


class JournalQuerySet(OwnedQuerySet["JournalEntry"]):
    def present(self) -> "JournalQuerySet":
        """Exclude tombstones."""
        return self.filter(deleted_at=None)

    def of_period(self, period: Period) -> "JournalQuerySet":
        """Return the entries of a period, of all instances."""
        return self.filter(granularity=period.granularity, period=period.name)


class JournalEntry(OwnedModel):
    """An entry of the journal.

    A day has one entry for each instance; a week, month or year has one, made from the entries of the level below.
    Entries of days are never archived. Significant entries are written by hand, any number for a day.
    """

    granularity = models.CharField(max_length=16, choices=[(name.value, name.value.title()) for name in Granularity])
    period = models.CharField(max_length=10, help_text="2026-11-21, 2026-W47, 2026-11 or 2026.")
    starts = models.DateField(help_text="First day of the period.")
    ends = models.DateField(help_text="Last day of the period.")
    instance = models.CharField(max_length=100, blank=True, default="", help_text="Empty for Loci itself.")
    title = models.CharField(max_length=200, blank=True, default="")
    text = models.TextField(blank=True)
    # Ids as tags name them: another instance's chats are not in this database. Those of bullets that a person removed
    # stay, so that merging the same bullets again doesn't bring them back.
    chats = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    # A foreign key, since each entry belongs to exactly one of the next level.
    part_of = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="sources")
    edited_by = models.CharField(max_length=254, blank=True, default="")
    version = models.PositiveIntegerField(default=1)
    stale = models.BooleanField(default=False, help_text="Its sources have changed since it was written.")
    model_asked = models.PositiveSmallIntegerField(default=0, help_text="How often a model was asked for this text.")
    ask_model_at = models.DateTimeField(null=True, blank=True, help_text="When a model is to be asked for its text.")
    embedding = HalfVectorField(null=True, blank=True)
    embedding_model = models.CharField(max_length=220, blank=True, default="")
    lexemes = SearchVectorField(null=True, editable=False)
    deleted_at = models.DateTimeField(
        null=True, blank=True, help_text="Set on a tombstone, which keeps a deleted entry from being made again."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = OwnedManager.from_queryset(JournalQuerySet)()  # type: ignore[assignment, misc]

    class Meta:
        verbose_name = "journal entry"
        verbose_name_plural = "journal entries"
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "granularity", "period", "instance"],
                condition=~Q(granularity=Granularity.SIGNIFICANT.value),
                name="journal_once_a_period",
            ),
            models.CheckConstraint(
                condition=Q(granularity__in=[name.value for name in Granularity]), name="journal_granularity"
            ),
            models.CheckConstraint(
                condition=Q(granularity__in=[Granularity.DAILY.value, Granularity.SIGNIFICANT.value]) | Q(instance=""),
                name="journal_instance",
            ),
            models.CheckConstraint(condition=Q(starts__lte=F("ends")), name="journal_range"),
            models.CheckConstraint(condition=Q(version__gte=1), name="journal_version"),
        ]
        indexes = [
            models.Index(fields=["owner", "starts", "ends"], name="journal_owner_range"),  # the calendar
            models.Index(fields=["owner", "-id"], name="journal_owner_newest"),  # for the paginated list
        ]

    @property
    def source_ids(self) -> list[str]:
        """Return the ids of the entries that it was made from, the earliest first."""
        return [str(source.pk) for source in sorted(self.sources.all(), key=lambda each: (each.starts, each.instance))]
