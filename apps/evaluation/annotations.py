"""Read LoCoMo's sessions and the turns that its annotators cited in observations. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apps.evaluation.datasets import UnusableDataset, required, turn_ids

_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True)
class SessionTurn:
    speaker: str
    is_user: bool
    text: str


@dataclass(frozen=True)
class Session:
    """A session of a conversation. ``annotated`` holds the indices of the turns that an observation cites."""

    conversation: str
    turns: list[SessionTurn]
    annotated: frozenset[int]


def read_sessions(data: Any) -> list[Session]:
    """Return the sessions of LoCoMo's file that have observations. Raise UnusableDataset."""
    samples = data if isinstance(data, list) else [data]
    sessions = [session for place, sample in enumerate(samples) for session in _sessions(sample, f"[{place}]", place)]
    if not sessions:
        raise UnusableDataset("no session has an observation of one of its turns.")
    return sessions


def _sessions(sample: Any, where: str, place: int) -> Iterator[Session]:
    conversation = required(sample, "conversation", dict, where)
    observations = required(sample, "observation", dict, where)
    name, user = str(sample.get("sample_id", place)), conversation.get("speaker_a")
    for number in sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key))):
        key, observation_key = f"session_{number}", f"session_{number}_observation"
        turns = _turns(required(conversation, key, list, f"{where}.conversation"), user, f"{where}.conversation.{key}")
        if observation_key in observations:
            by_speaker = required(observations, observation_key, dict, f"{where}.observation")
            cited = set(_cited(by_speaker, f"{where}.observation.{observation_key}"))
            annotated = frozenset(index for index, turn_id in enumerate(turns) if turn_id in cited)
            if annotated:
                yield Session(name, list(turns.values()), annotated)


def _turns(items: list[Any], user: Any, where: str) -> dict[str, SessionTurn]:
    """Return the turns of a session by id, in order. Raise UnusableDataset."""
    turns: dict[str, SessionTurn] = {}
    for place, item in enumerate(items):
        here = f"{where}[{place}]"
        speaker, text = required(item, "speaker", str, here), required(item, "text", str, here)
        turn_id = required(item, "dia_id", str, here)
        turns[next(iter(turn_ids(turn_id)), turn_id)] = SessionTurn(speaker, speaker == user, text)
    return turns


def _cited(by_speaker: Mapping[str, Any], where: str) -> Iterator[str]:
    """Yield the ids of the turns that observations cite. An observation is a list of its text and turn ids."""
    for speaker in by_speaker:
        for place, item in enumerate(required(by_speaker, speaker, list, where)):
            if not isinstance(item, list) or len(item) < 2:
                raise UnusableDataset(f"{where}.{speaker}[{place}] is not a list of a text and turn ids.")
            yield from turn_ids(str(item[1:]))
