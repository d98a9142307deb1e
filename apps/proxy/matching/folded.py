"""Find instructions that a client folds into what is said, by comparing its requests. Nothing here writes.

Semi-strict and the stricter modes of SillyTavern's prompt post-processing join instructions to the user's turns by an
empty line. One request doesn't show what is one. The next does: the instruction has moved to another turn.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from uuid import UUID

from apps.proxy.matching.alignment import align
from apps.proxy.matching.keys import key_of, unspaced_key
from apps.proxy.matching.plans import Entry
from apps.proxy.requests.texts import GAP
from apps.proxy.requests.turns import Turn

COMPARED = 40  # the latest messages that may still have an instruction in them
KEPT_INSTRUCTIONS = 200  # of a client in a chat
PARAGRAPHS = 3  # at each end of a turn, by which a chat is found
Texts = Callable[[tuple[UUID, ...]], Mapping[UUID, str]]


@dataclass(frozen=True)
class Unfolded:
    """The turns of a request without instructions, by ``instructions``, the keys of those that are known.

    ``cleaned`` are the places of messages in which an instruction was stored, with the turns that have none.
    """

    turns: Sequence[Turn]
    keys: Sequence[int]
    instructions: Sequence[int] = ()
    cleaned: Mapping[int, int] = field(default_factory=dict)


def paragraph_keys(owner_id: UUID, texts: Iterable[str]) -> list[int]:
    """Return the keys of the paragraphs of texts, as if the user had said each."""
    paragraphs = (paragraph for text in texts for paragraph in text.split(GAP) if paragraph.strip())
    return [key_of(owner_id, is_user=True, text=paragraph) for paragraph in paragraphs]


def instruction_keys(owner_id: UUID, texts: Iterable[str]) -> list[int]:
    """Return the keys of the paragraphs of texts, whatever their white space."""
    return list(map(unspaced_key, paragraph_keys(owner_id, texts)))


def end_keys(owner_id: UUID, turns: Sequence[Turn]) -> list[int]:
    """Return the keys of the paragraphs at the ends of the user's first turn and the latest ones."""
    users = [turn.text.split(GAP) for turn in turns if turn.is_user]
    folded = [texts for texts in (*users[:1], *users[-PARAGRAPHS:]) if len(texts) > 1]
    ends = (text for texts in folded for text in (*texts[:PARAGRAPHS], *texts[-PARAGRAPHS:]))
    return list(dict.fromkeys(paragraph_keys(owner_id, ends)))


def unfolded_turns(
    owner_id: UUID,
    entries: Sequence[Entry],
    turns: Sequence[Turn],
    keys: Sequence[int],
    *,
    known: Iterable[int],
    own: Collection[int] = (),
    is_nudged: bool = False,
    texts: Texts,
) -> Unfolded:
    """Return the turns without known instructions, and without those that moved since the client's last request.

    ``keys`` are those of the turns. ``known`` are keys of paragraphs: of ``own``, which are the request's system
    messages, and of what moved before. A turn that is stored as it is stays as it is. The last turn is what is said,
    unless ``is_nudged``: an instruction asks for the reply.
    """
    stored = {unspaced_key(entry.key) for entry in entries}
    new = [number for number, key in enumerate(keys) if unspaced_key(key) not in stored]
    reader = _Reader(owner_id, known, stored)
    own = {unspaced_key(key) for key in keys}
    changed = [
        place for place, entry in enumerate(entries) if _may_have_one(entry) and unspaced_key(entry.key) not in own
    ]
    healed: dict[int, int] = {}
    if new and changed:
        healed = _healed(entries, changed[-COMPARED:], turns, new, reader, texts)
        _learn_moved(entries, changed[-COMPARED:], turns, keys, reader, texts)
    counts = Counter(key for turn in turns for key in reader.keys_of(turn.text)) + Counter(set(own))
    kept = list(turns)
    for number in new:
        is_asked = number == len(turns) - 1 and not is_nudged
        kept[number] = reader.without_instructions(turns[number], counts, may_be_nothing=not is_asked)
    said = [number for number, turn in enumerate(kept) if turn.text.strip() or turn.tools] or list(range(len(turns)))
    left = [kept[number] for number in said]
    left_keys = [
        keys[number]
        if kept[number] is turns[number]
        else reader.key_of(kept[number].text, is_user=kept[number].is_user)
        for number in said
    ]
    cleaned = {place: said.index(number) for place, number in healed.items() if number in said}
    return Unfolded(left, left_keys, list(reader.known), cleaned)


def _healed(
    entries: Sequence[Entry],
    changed: Sequence[int],
    turns: Sequence[Turn],
    new: Sequence[int],
    reader: "_Reader",
    texts: Texts,
) -> dict[int, int]:
    """Return the places of changed messages that are a new turn and an instruction, with the numbers of the turns.

    It is one if it stands elsewhere in the request. ``reader`` learns it.
    """
    everything = {key for turn in turns for key in reader.keys_of(turn.text)}
    had = texts(tuple(entries[place].id for place in changed))
    healed: dict[int, int] = {}
    for place in changed:
        text = had.get(entries[place].id, "")
        speaks = entries[place].is_user
        if reader.key_of(text, is_user=speaks) != entries[place].key:
            continue  # somebody else has changed it
        for number in new:
            is_other = turns[number].is_user != speaks or number in healed.values()
            rest = [] if is_other else reader.around(text, reader.without_instructions(turns[number]).text)
            if rest and everything.issuperset(set(rest) - set(reader.known)):
                reader.known.update(dict.fromkeys(rest))
                healed[place] = number
                break
    return healed


def _learn_moved(
    entries: Sequence[Entry],
    changed: Sequence[int],
    turns: Sequence[Turn],
    keys: Sequence[int],
    reader: "_Reader",
    texts: Texts,
) -> None:
    """Have ``reader`` learn the user's messages that were nothing but instructions, between two replies of a group.

    Such a message is one if it stands in the user's turns of the request, but between other replies.
    """
    changed = [place for place in changed if entries[place].is_user]
    if not changed:
        return
    matched = align([unspaced_key(entry.key) for entry in entries], list(map(unspaced_key, keys)))
    had = texts(tuple(entries[place].id for place in changed))
    said = [set(reader.keys_of(turn.text)) if turn.is_user else set() for turn in turns]
    for place in changed:
        text = had.get(entries[place].id, "")
        if reader.key_of(text, is_user=True) != entries[place].key:
            continue  # somebody else has changed it
        start = max((number for at, number in matched if at < place), default=-1)
        end = min((number for at, number in matched if at > place), default=len(turns))
        own = set(reader.keys_of(text))
        elsewhere = set().union(*said[: start + 1], *said[end:])
        if own and own <= elsewhere and own.isdisjoint(set().union(*said[start + 1 : end])):
            reader.known.update(dict.fromkeys(own))


def _may_have_one(entry: Entry) -> bool:
    return entry.is_known and entry.is_stored


class _Reader:
    """What is known of a client's instructions, by the keys of their paragraphs. ``stored`` are keys of messages."""

    def __init__(self, owner_id: UUID, known: Iterable[int], stored: Collection[int]) -> None:
        self._owner_id = owner_id
        self._stored = stored
        self.known: dict[int, None] = dict.fromkeys(known)  # in order

    def key_of(self, text: str, *, is_user: bool) -> int:
        """Return the key of a text as a whole."""
        return key_of(self._owner_id, is_user=is_user, text=text)

    def keys_of(self, text: str) -> list[int]:
        """Return the keys of the paragraphs of a text."""
        return instruction_keys(self._owner_id, [text])

    def without_instructions(
        self, turn: Turn, counts: Mapping[int, int] = MappingProxyType({}), *, may_be_nothing: bool = False
    ) -> Turn:
        """Return a turn without the instructions at its ends. A reply loses none, unless it is stored without them.

        A turn of nothing else is kept, unless it has brackets, or ``may_be_nothing`` and has none that, by ``counts``,
        stand elsewhere too: a person may say the same.
        """
        paragraphs = turn.text.split(GAP)
        begin, end = 0, len(paragraphs)
        while begin < end and self._is_known(paragraphs[begin]):
            begin += 1
        while end > begin and self._is_known(paragraphs[end - 1]):
            end -= 1
        if end - begin == len(paragraphs):
            return turn
        rest = replace(turn, text=GAP.join(paragraphs[begin:end]))
        if not turn.is_user:
            return rest if unspaced_key(self.key_of(rest.text, is_user=False)) in self._stored else turn
        if begin < end or all(text.strip().startswith("[") and text.strip().endswith("]") for text in paragraphs):
            return rest
        is_once = all(counts.get(key, 0) == 1 for key in self.keys_of(turn.text))
        return rest if may_be_nothing and is_once else turn

    def around(self, text: str, inner: str) -> list[int]:
        """Return the keys of the paragraphs of a text before and after those of another one, or none."""
        keys, inside = self.keys_of(text), self.keys_of(inner)
        if not inside or len(keys) <= len(inside):
            return []
        places = range(len(keys) - len(inside) + 1)
        at = next((place for place in places if keys[place : place + len(inside)] == inside), None)
        return [] if at is None else keys[:at] + keys[at + len(inside) :]

    def _is_known(self, paragraph: str) -> bool:
        return not paragraph.strip() or self.keys_of(paragraph)[0] in self.known
