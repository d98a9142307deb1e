"""Compare a client's turns with the stored messages of a chat. Nothing here reads or writes the database."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any
from uuid import UUID

from apps.proxy.conversation import Turn, normalized


@dataclass(frozen=True)
class StoredTurn:
    """A stored message with the texts of its swipes, of which number ``active`` is shown."""

    id: UUID
    is_user: bool
    texts: tuple[str, ...]
    active: int = 0


@dataclass
class Plan:
    """What makes the stored messages equal to the client's turns.

    ``edits``, ``selections`` and ``tools`` are new texts, active swipes and calls of tools by message id.
    ``insertions`` are turns with the message that they precede. ``anchor`` is the message of the last turn, None if
    that is appended. ``cut`` counts user messages that the client dropped from the end, of which ``first_dropped`` is
    the position.
    """

    aligned: list[tuple[int, int]] = field(default_factory=list)
    edits: dict[UUID, str] = field(default_factory=dict)
    selections: dict[UUID, int] = field(default_factory=dict)
    tools: dict[UUID, tuple[dict[str, Any], ...]] = field(default_factory=dict)
    deletions: list[UUID] = field(default_factory=list)
    insertions: list[tuple[UUID, Turn]] = field(default_factory=list)
    appended: list[Turn] = field(default_factory=list)
    anchor: UUID | None = None
    cut: int = 0
    first_dropped: int = 0


def plan_changes(stored: Sequence[StoredTurn], turns: Sequence[Turn]) -> Plan:
    """Return the changes that make the end of the stored messages equal to ``turns``.

    Messages before the first one that the client sends are kept: its context may be too small for them. If the client
    ends with a turn that has a stored reply, the reply is kept too: it will get another swipe.
    """
    plan = Plan(aligned=_align(stored, turns))
    if not plan.aligned:
        plan.appended = list(turns)
        return plan
    pairs = dict(_pairs(stored, turns, plan.aligned))
    first = min(pairs)
    paired_turns = {turn: position for position, turn in pairs.items()}
    for position, number in pairs.items():
        _change(plan, stored[position], turns[number])
    kept_until = max(pairs)
    answered = paired_turns.get(len(turns) - 1) == kept_until and turns[-1].is_user
    if answered and kept_until + 1 < len(stored) and not stored[kept_until + 1].is_user:
        kept_until += 1
    for position in range(first, len(stored)):
        if position not in pairs and position != kept_until:
            plan.deletions.append(stored[position].id)
    plan.first_dropped = kept_until + 1
    plan.cut = sum(turn.is_user for turn in stored[kept_until + 1 :])
    _insert(plan, stored, turns, paired_turns)
    last = paired_turns.get(len(turns) - 1)
    plan.anchor = None if last is None else stored[last].id
    return plan


def is_same_chat(turns: Sequence[Turn], plan: Plan, *, same_opening: bool) -> bool:
    """Return whether the turns are of the chat that they were compared with, and of no other with equal words.

    A greeting alone is shared by all chats of a character. One user message may be, so the system prompt decides.
    Two conversations may have short messages in common, such as "Continue", so most of what is compared must be equal.
    """
    numbers = {number for _, number in plan.aligned}
    if len(plan.edits) + len(plan.deletions) + len(plan.insertions) >= len(numbers):
        return False
    user_turns = sum(turns[number].is_user for number in numbers)
    if user_turns >= 2:
        return True
    if user_turns == 0 or 0 not in numbers or plan.cut:
        return False
    return len(numbers) >= 2 or same_opening


def _align(stored: Sequence[StoredTurn], turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """Return positions of equal turns, in order. A turn equals a message if it equals any of its swipes.

    Equal texts are matched at the end rather than at the beginning.
    """
    shown = {
        (message.is_user, normalized(text)): (message.is_user, normalized(message.texts[message.active]))
        for message in stored
        for text in message.texts
    }
    keys = [(message.is_user, normalized(message.texts[message.active])) for message in stored]
    shown |= {key: key for key in keys}
    wanted = [shown.get((turn.is_user, normalized(turn.text)), None) for turn in turns]
    blocks = SequenceMatcher(None, keys[::-1], wanted[::-1], autojunk=False).get_matching_blocks()
    pairs = [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]
    return sorted((len(stored) - 1 - position, len(turns) - 1 - number) for position, number in pairs)


def _pairs(
    stored: Sequence[StoredTurn], turns: Sequence[Turn], aligned: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the equal turns, and between them those of one speaker, which the client has edited."""
    position, number = aligned[0]
    # Before the first equal turn, pair backwards: what the client no longer sends is further back.
    head = _pair_gap(stored[:position][::-1], turns[:number][::-1])
    pairs = [(position - 1 - back, number - 1 - turn_back) for back, turn_back in head] + list(aligned)
    ends = [*aligned[1:], (len(stored), len(turns))]
    for (start, turn_start), (end, turn_end) in zip(aligned, ends, strict=True):
        gap = _pair_gap(stored[start + 1 : end], turns[turn_start + 1 : turn_end])
        pairs += [(start + 1 + step, turn_start + 1 + turn_step) for step, turn_step in gap]
    return sorted(pairs)


def _pair_gap(stored: Sequence[StoredTurn], turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """Pair turns with messages of the same speaker, in order."""
    pairs: list[tuple[int, int]] = []
    position = 0
    for number, turn in enumerate(turns):
        found = next((at for at in range(position, len(stored)) if stored[at].is_user == turn.is_user), None)
        if found is not None:
            pairs.append((found, number))
            position = found + 1
    return pairs


def _change(plan: Plan, message: StoredTurn, turn: Turn) -> None:
    """Plan the change of a message to the text of its turn: another swipe if there is one with it, else an edit."""
    if turn.tools:
        plan.tools[message.id] = turn.tools
    wanted = normalized(turn.text)
    texts = [normalized(text) for text in message.texts]
    if texts[message.active] == wanted:
        return
    if wanted in texts:
        plan.selections[message.id] = texts.index(wanted)
    else:
        plan.edits[message.id] = turn.text


def _insert(plan: Plan, stored: Sequence[StoredTurn], turns: Sequence[Turn], paired_turns: dict[int, int]) -> None:
    """Plan the turns that have no message: before the next one that has, or at the end."""
    for number, turn in enumerate(turns):
        if number in paired_turns:
            continue
        following = next((paired_turns[later] for later in range(number, len(turns)) if later in paired_turns), None)
        if following is None:
            plan.appended.append(turn)
        else:
            plan.insertions.append((stored[following].id, turn))
