"""Find instructions that a client folds into what is said, by comparing its requests. Nothing here writes.

Semi-strict and the stricter modes of SillyTavern's prompt post-processing join instructions to the user's turns by an
empty line. One request doesn't show what is one. The next does: the instruction has moved to another turn.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from uuid import UUID

from apps.proxy.matching.aligning import align
from apps.proxy.matching.keys import key_of, unspaced_key
from apps.proxy.matching.plans import ComparedMessage, KeyedRequest, Texts
from apps.proxy.requests.texts import GAP
from apps.proxy.requests.turns import Turn

COMPARED = 40  # the latest messages that may still have an instruction in them
KEPT_INSTRUCTIONS = 200  # of a client in a chat
PARAGRAPHS = 3  # at each end of a turn, by which a chat is found


@dataclass(frozen=True)
class Unfolded:
    """A request without instructions in its turns. Its ``instructions`` are the keys of all that are known.

    ``cleaned`` are the places of messages in which an instruction was stored, with the turns that have none.
    """

    request: KeyedRequest
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


class _Instructions:
    """What is known of a client's instructions, by the keys of their paragraphs, in the order in which it was learnt.

    ``stored`` are keys of messages of the chat.
    """

    def __init__(self, owner_id: UUID, known: Iterable[int], stored: Collection[int]) -> None:
        self._owner_id = owner_id
        self._stored = stored
        self._known: dict[int, None] = dict.fromkeys(known)

    @property
    def keys(self) -> list[int]:
        return list(self._known)

    def learn(self, keys: Iterable[int]) -> None:
        """Take paragraphs for instructions from now on."""
        self._known.update(dict.fromkeys(keys))

    def without_known(self, keys: Iterable[int]) -> set[int]:
        """Return the keys that are of no known instruction."""
        return {key for key in keys if key not in self._known}

    def keys_of(self, text: str) -> list[int]:
        """Return the keys of the paragraphs of a text."""
        return instruction_keys(self._owner_id, [text])

    def cut_from(
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
            key = key_of(self._owner_id, is_user=False, text=rest.text)
            return rest if unspaced_key(key) in self._stored else turn
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
        return not paragraph.strip() or self.keys_of(paragraph)[0] in self._known


def unfolded_request(
    owner_id: UUID,
    messages: Sequence[ComparedMessage],
    request: KeyedRequest,
    known: Iterable[int],
    texts: Texts,
) -> Unfolded:
    """Return the request without known instructions, and without those that moved since the client's last request.

    ``known`` are keys of paragraphs that were found to be instructions before. A turn that is stored as it is stays as
    it is. The last turn is what is said, unless an instruction asks for the reply.
    """
    turns, keys = request.turns, request.keys
    stored = {unspaced_key(message.key) for message in messages}
    sent_keys = {unspaced_key(key) for key in keys}
    new = [number for number, key in enumerate(keys) if unspaced_key(key) not in stored]
    instructions = _Instructions(owner_id, [*known, *request.instructions], stored)
    cleaned: dict[int, int] = {}
    if new and (changed := _changed_texts(owner_id, messages, sent_keys, texts)):
        cleaned = _learn_stored(messages, request, new, changed, instructions)
        _learn_moved(messages, request, changed, instructions)
    counts = Counter(key for turn in turns for key in instructions.keys_of(turn.text)) + Counter(sent_keys)
    kept = list(turns)
    for number in new:
        is_asked = number == len(turns) - 1 and not request.client_request.is_nudged
        kept[number] = instructions.cut_from(turns[number], counts, may_be_nothing=not is_asked)
    said = [number for number, turn in enumerate(kept) if turn.text.strip() or turn.tools] or list(range(len(turns)))
    said_keys = [
        keys[number]
        if kept[number] is turns[number]
        else key_of(owner_id, is_user=kept[number].is_user, text=kept[number].text)
        for number in said
    ]
    return Unfolded(
        replace(request, turns=[kept[number] for number in said], keys=said_keys, instructions=instructions.keys),
        {place: said.index(number) for place, number in cleaned.items() if number in said},
    )


def _changed_texts(
    owner_id: UUID, messages: Sequence[ComparedMessage], sent_keys: Collection[int], texts: Texts
) -> dict[int, str]:
    """Return the texts of the last stored messages that the client sent once and no longer sends, by their places."""
    places = [
        place
        for place, message in enumerate(messages)
        if message.is_known and message.is_stored and unspaced_key(message.key) not in sent_keys
    ][-COMPARED:]
    if not places:
        return {}
    had = texts(tuple(messages[place].id for place in places))
    changed = {place: had.get(messages[place].id, "") for place in places}
    return {
        place: text
        for place, text in changed.items()
        # Else somebody else has changed it.
        if key_of(owner_id, is_user=messages[place].is_user, text=text) == messages[place].key
    }


def _learn_stored(
    messages: Sequence[ComparedMessage],
    request: KeyedRequest,
    new: Sequence[int],
    changed: Mapping[int, str],
    instructions: _Instructions,
) -> dict[int, int]:
    """Learn the instructions that were stored with what was said, which is now sent without them.

    It is one if it stands elsewhere in the request. ``changed`` are the texts that the client no longer sends, by
    their places, ``new`` the numbers of turns that aren't stored. Return these places with the numbers of the turns.
    """
    everything = {key for turn in request.turns for key in instructions.keys_of(turn.text)}
    cleaned: dict[int, int] = {}
    for place, text in changed.items():
        for number in new:
            turn = request.turns[number]
            if turn.is_user != messages[place].is_user or number in cleaned.values():
                continue
            rest = instructions.around(text, instructions.cut_from(turn).text)
            if rest and everything.issuperset(instructions.without_known(rest)):
                instructions.learn(rest)
                cleaned[place] = number
                break
    return cleaned


def _learn_moved(
    messages: Sequence[ComparedMessage],
    request: KeyedRequest,
    changed: Mapping[int, str],
    instructions: _Instructions,
) -> None:
    """Learn the user's messages that were nothing but instructions, between two replies of a group.

    Such a message is one if it stands in the user's turns of the request, but between other replies.
    """
    by_user = {place: text for place, text in changed.items() if messages[place].is_user}
    if not by_user:
        return
    turns = request.turns
    matched = align([unspaced_key(message.key) for message in messages], list(map(unspaced_key, request.keys)))
    said = [set(instructions.keys_of(turn.text)) if turn.is_user else set() for turn in turns]
    for place, text in by_user.items():
        start = max((number for at, number in matched if at < place), default=-1)
        end = min((number for at, number in matched if at > place), default=len(turns))
        own = set(instructions.keys_of(text))
        elsewhere = set().union(*said[: start + 1], *said[end:])
        if own and own <= elsewhere and own.isdisjoint(set().union(*said[start + 1 : end])):
            instructions.learn(own)
