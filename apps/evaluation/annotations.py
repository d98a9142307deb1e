"""Read LoCoMo's sessions and the turns that its annotators cited in observations. Without database access."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apps.evaluation.datasets import UnusableDataset, required, turn_ids

_SESSION_KEY = re.compile(r"session_(\d+)")


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
    sessions = [session for index, sample in enumerate(samples) for session in _sessions(sample, f"[{index}]", index)]
    if not sessions:
        raise UnusableDataset("no session has an observation of one of its turns.")
    return sessions


def _sessions(sample: Any, path: str, index: int) -> Iterator[Session]:
    conversation = required(sample, "conversation", dict, path)
    observations = required(sample, "observation", dict, path)
    name, user = str(sample.get("sample_id", index)), conversation.get("speaker_a")
    for number in sorted(int(match[1]) for key in conversation if (match := _SESSION_KEY.fullmatch(key))):
        key, observation_key = f"session_{number}", f"session_{number}_observation"
        turns = _turns(required(conversation, key, list, f"{path}.conversation"), user, f"{path}.conversation.{key}")
        if observation_key in observations:
            by_speaker = required(observations, observation_key, dict, f"{path}.observation")
            cited = set(_cited_turn_ids(by_speaker, f"{path}.observation.{observation_key}"))
            annotated = frozenset(position for position, turn_id in enumerate(turns) if turn_id in cited)
            if annotated:
                yield Session(name, list(turns.values()), annotated)


def _turns(items: list[Any], user: Any, path: str) -> dict[str, SessionTurn]:
    """Return the turns of a session by id, in order. Raise UnusableDataset."""
    turns: dict[str, SessionTurn] = {}
    for index, item in enumerate(items):
        turn_path = f"{path}[{index}]"
        speaker, text = required(item, "speaker", str, turn_path), required(item, "text", str, turn_path)
        turn_id = required(item, "dia_id", str, turn_path)
        turns[next(iter(turn_ids(turn_id)), turn_id)] = SessionTurn(speaker, speaker == user, text)
    return turns


def _cited_turn_ids(by_speaker: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield the ids of the turns that observations cite. An observation is a list of its text and turn ids."""
    for speaker in by_speaker:
        for index, item in enumerate(required(by_speaker, speaker, list, path)):
            if not isinstance(item, list) or len(item) < 2:
                raise UnusableDataset(f"{path}.{speaker}[{index}] is not a list of a text and turn ids.")
            yield from turn_ids(str(item[1:]))
