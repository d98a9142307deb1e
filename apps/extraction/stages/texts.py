"""Store the versioned texts that stages write: summary, profiles and canon."""

from collections import Counter
from typing import Any

from apps.chats.models import Character
from apps.extraction.stages.context import Context, StageOutcome
from apps.memories.models import VersionedText
from apps.memories.operations.texts import write_version
from apps.memories.queries.texts import current_version


def text_outcome(
    context: Context,
    kind: str,
    current: VersionedText | None,
    *,
    counted_as: str,
    character: Character | None = None,
    **fields: Any,
) -> StageOutcome:
    """Return the outcome that writes a version with ``fields``, which was made from the version ``current``.

    Nothing is written if another one has become current in the meantime, by an edit or an invalidation.
    """

    def write() -> Counter[str]:
        if current_version(context.chat, kind, character) != current:
            return Counter()
        write_version(context.chat, kind, character=character, run_id=context.run.pk, **fields)
        return Counter({counted_as: 1})

    return StageOutcome(write)
