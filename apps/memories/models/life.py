"""What memories and all layers have in common: where a row begins and ends, its state, and why it is retired."""

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.common.scoping import OwnedModel

Row = TypeVar("Row", bound=models.Model)

RETIRED = "retired"  # the state of what no longer applies, of memories as of all layers
REPLACED = "replaced"  # the state of a row that a newer one has replaced in its slot, of all layers with slots
NO_ROWS = Q(pk__in=[])
ALL_ROWS = ~NO_ROWS


class RetiredReason(models.TextChoices):
    """Why an entry is no longer active. Merged and split memories are superseded; all others are retired."""

    MERGED = "merged"
    SPLIT = "split"
    UNDONE = "undone"  # the merge or split that created it was undone
    SOURCE_CHANGED = "source_changed"
    SOURCE_GONE = "source_gone"
    FRESH_START = "fresh_start"
    OUTDATED = "outdated"
    BY_HAND = "by_hand"


LOST = (RetiredReason.SOURCE_GONE, RetiredReason.SOURCE_CHANGED)  # reasons of rows whose text was deleted or changed


@dataclass(frozen=True)
class Life:
    """How a kind differs from the others in what becomes of its rows. Operations loop over kinds and read this.

    The columns of the table are the kinds in their order in ``KINDS``: Memory, Scene, Knowledge, LedgerEntry, Arc,
    Relationship, VersionedText. An x is a value other than the default; readers are given as ``module.function``.
    Memories differ in nature: of their flags operations read ``begins``, ``names``, ``outlives_…``; tests read all.

        flag                  M S K L A R V  read by
        holds                 x x x x x x x  branching._copy_of, branching._entries_up_to,
                                             characters.on_characters_merged, endings.with_endings, entities._move,
                                             entity_merges._restore, invalidation._continue_entries,
                                             invalidation._retire_entries, layer_entries.has_current_counterpart,
                                             layer_entries.restore_entry, modes.undo_fresh_start
        begins                x - - - - - -  life.has_begun
        ended                 x - x x x x -  branching._entries_up_to, invalidation._continue_entries,
                                             invalidation._retire_entries
        ended_by              - - - - x - -  invalidation._continue_entries
        ended_stays           - - x - x - -  invalidation._retire_entries
        outcome               - - - - x - -  endings.with_endings, invalidation._continue_entries
        slot                  - - - x - x x  branching._entries_up_to, characters.on_characters_merged,
                                             endings._later_source, invalidation._later_in_slot,
                                             layer_entries.has_current_counterpart
        versioned             - - - - - - x  branching._entries_up_to, invalidation.invalidate
        names                 x - x x - x -  bin._delete_layers, entities._move, entities.entries_naming,
                                             entity_merges._restore, kinds.NAMING, memory_book.retired_by_hand
        same                  - - x - x x -  endings._copies_of, layers.ending_field
        outlives_chat         x - - - x x x  bin._delete_layers, bin._keep_canon, bin.on_chat_purged
        outlives_fresh_start  x - - - x x x  modes.start_fresh

    Three facts are no flags, since they follow from others: a row that was replaced in its slot has the state REPLACED;
    a run writes each line once where the model has a ``line_hash``; other stories can end rows that have ``same``, by
    the field of Ending that is named as the kind (``ending_field``).
    """

    holds: str  # the state of a row that holds
    begins: str = "source"  # the column of the message from which a row holds
    ended: Q = NO_ROWS  # rows that something said later has ended
    ended_by: str = "retired_by"  # the column that names the person who ended a row; empty if a run did
    ended_stays: bool = False  # whether a row that has ended stays when the text that it began with is lost
    outcome: str = ""  # the column that says how a row has ended
    slot: tuple[str, ...] = ()  # columns in which only one row of a chat may hold; a newer one has it replaced
    versioned: bool = False  # whether rows are versions, each of which covers all messages up to its ``source``
    names: tuple[str, ...] = ()  # columns that name entities
    same: tuple[str, ...] = ()  # columns in common to copies in branches; set if other stories can end a row, by Ending
    outlives_chat: Q = NO_ROWS  # rows that a character can keep when the chat is deleted for good
    outlives_fresh_start: Q = NO_ROWS  # rows that a fresh start leaves


def link_to(model: type[Row], help_text: str = "") -> "models.ForeignKey[Row | None, Row | None]":
    """Return a column that names a message or a swipe, and is empty once that is deleted."""
    return models.ForeignKey(
        model, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", help_text=help_text
    )


class Remembered(OwnedModel):
    """Abstract base of memories and layers.

    Which rows count says ``apps.memories.visibility``: that depends on the chat, on ``state`` and, of memories, on
    ``deleted_at``, ``expires_at`` and ``in_bin``. All other columns say from when to when, why, by whom, or what to
    return to.
    """

    life: ClassVar[Life]

    run = models.ForeignKey(
        "extraction.ExtractionRun", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    retired_reason = models.CharField(max_length=32, choices=RetiredReason.choices, blank=True, default="")
    edited_by = models.CharField(max_length=100, blank=True, default="")
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    @classmethod
    def has_begun(cls, at: int) -> Q:
        """Return the condition of rows of a chat that began with its message at index ``at`` or before."""
        return Q(**{cls.life.begins: None}) | Q(**{f"{cls.life.begins}__index__lte": at})
