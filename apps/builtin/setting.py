"""Where a stretch of the chat is set. Pure."""

from collections.abc import Sequence

from apps.builtin.ledger_people import people_changes
from apps.builtin.salience import SCENE
from apps.builtin.statements import Statement


def goes_somewhere(statement: Statement) -> bool:
    return any(change.field == "location" for change in people_changes(statement))


def setting(statements: Sequence[Statement]) -> list[Statement]:
    """The last sentence that says where somebody is, else the last of the narration that describes a place; none where
    there is neither."""
    described = [one for one in statements if one.narrated and len(SCENE.findall(one.text)) > 1]
    return ([one for one in statements if goes_somewhere(one)] or described)[-1:]
