"""Compute numbers from a message and earlier ones that may show whether it begins a scene. Without database access."""

import itertools
import re
from collections.abc import Sequence

import numpy as np

from apps.builtin.scene_breaks import words
from apps.builtin.scene_breaks.marks import is_marked
from apps.builtin.scene_breaks.parts import MessageParts, parts_of
from apps.builtin.scene_breaks.words import any_of, words_of
from apps.extraction.steps.scene_detection import SceneTurn

WINDOW = 8  # earlier messages that are read with a message
COMPARED_MESSAGES = 4  # number of preceding messages whose vectors are compared with that of the opening
SIMILARITY_COUNT = 5  # number of values that ``similarities`` returns
MIN_CONTENT_LETTERS = 4  # minimum length of a content word
# How many words, from the beginning, show each of these.
AT_ONCE_WORDS, BRIEF_WORDS, JUMP_WORDS, PERSON_WORDS, NEW_WORDS = 4, 5, 6, 3, 20
DETERMINERS = frozenset({"the", "a", "an", *words.PRONOUNS})

_DATE = re.compile(r"\b\d{1,2}(?::\d\d|\s?(?:am|pm)\b|(?:st|nd|rd|th)\b)|\b\d{4}h?\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:was|were|had|did|said|stood|sat|lay|came|went|found|held|took|\w{3,}ed)\b", re.IGNORECASE)
_PRESENT = re.compile(r"\b(?:is|are|has|does|goes|lies|\w{3,}s)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}")


def features(turns: Sequence[SceneTurn], position: int) -> dict[str, float]:
    """Return the features that need no vectors, by name, for a message that is not the first."""
    previous, turn = turns[max(position - WINDOW, 0) : position], turns[position]
    now, before = parts_of(turn.text), parts_of(previous[-1].text)
    # Their order is that of the columns for which the weights were fitted: a new one needs new weights.
    found: dict[str, float] = {
        "marked": is_marked(previous, turn),
        **_of_time(now),
        **_of_partings(now, before),
        **_of_people([*previous, turn], words_of(now.first)),
        **_of_novelty(previous, now.opening),
        "past": bool(_PAST.search(now.opening)),
        "present": bool(_PRESENT.search(now.opening)),
        "asks": any("?" in sentence for sentence in now.sentences[:2]),
        "answers": before.end.rstrip("\"”'").endswith("?"),
        "opens_with_narration": now.opens_with_narration,
        "quotes": any("❝" in sentence for sentence in now.narrated),
        "plain": now.plain,
        "lower_case": "".join(now.sentences[:1])[:1].islower(),
        "is_user": turn.is_user,
        "same_author": turn.name == previous[-1].name,
        "new_author": position > 1 and turn.name not in {one.name for one in previous},
    }
    return {name: float(value) for name, value in found.items()}


def _of_time(now: MessageParts) -> dict[str, float]:
    """Return what the first sentence of a message tells of time."""
    first = words_of(now.first)
    timed = any_of(first, words.PARTS_OF_DAY | words.UNITS | words.CALENDAR)
    return {
        "part_of_day": any_of(first, words.PARTS_OF_DAY),
        "unit": any_of(first, words.UNITS),
        "calendar": any_of(first, words.CALENDAR),
        "brief": any_of(first[:BRIEF_WORDS], words.BRIEF),
        "shift": any_of(first, words.SHIFTS),
        "unreal": any_of(first, words.UNREAL),
        "unreal_first": any_of(first[:AT_ONCE_WORDS], words.UNREAL),
        "timed_now": timed and not any_of(first, words.UNREAL),
        "jump": any(_jumps(words_of(sentence)[:JUMP_WORDS]) for sentence in now.narrated),
        "date": bool(_DATE.search(now.first)),
        "date_said": any(bool(_DATE.search(sentence)) for sentence in now.sentences[:1]),
    }


def _of_partings(now: MessageParts, before: MessageParts) -> dict[str, float]:
    """Return whether somebody leaves at the end of the message before, and somebody is greeted in this one."""
    end, with_speech = words_of(before.end), words_of(" ".join(now.sentences[:1]))
    parts, greets = any_of(end, words.PARTINGS), any_of(with_speech[:AT_ONCE_WORDS], words.GREETINGS)
    return {
        "parting": parts,
        "partings": sum(word in words.PARTINGS for word in end),
        "greeting": greets,
        "greeting_in_text": greets and now.plain,
        "greeting_after_parting": greets and now.plain and parts,
    }


def _of_people(turns: Sequence[SceneTurn], first: Sequence[str]) -> dict[str, float]:
    """Return whom the first sentence of a message is about; ``turns`` are those whose authors it may name."""
    names = {word for one in turns for word in words_of(one.name)[:1]}
    return {
        "pronoun_first": any(word in words.PRONOUNS for word in first[:1]),
        "pronoun": any(word in words.PRONOUNS for word in first),
        "first_person": any(word in ("i", "my", "me", "i'm") for word in first[:PERSON_WORDS]),
        "second_person": any(word in ("you", "your") for word in first),
        "name_first": any(word.removesuffix("'s") in names for word in first[:1]),
        "name": any(word.removesuffix("'s") in names for word in first),
    }


def _of_novelty(previous: Sequence[SceneTurn], opening: str) -> dict[str, float]:
    """Return what an opening names that the messages before it don't."""
    earlier = " ".join(one.text for one in previous) + " " + " ".join(one.name for one in previous)
    seen, start, capitals = set(words_of(earlier)), words_of(opening), _NAME.findall(opening)
    pairs = itertools.pairwise(start)
    nouns = [noun for word, noun in pairs if word in DETERMINERS and len(noun) >= MIN_CONTENT_LETTERS]
    return {
        "known_name": any(one in earlier for one in capitals),
        "new_name": any(one not in earlier for one in capitals),
        "new_nouns": sum(noun not in seen for noun in nouns),
        "new_words": len({word for word in start[:NEW_WORDS] if len(word) >= MIN_CONTENT_LETTERS} - seen),
    }


def stays_in_scene(turn: SceneTurn) -> bool:
    """Return whether a message opens on a plan, a habit or a memory ("Tomorrow …", "Every morning …", "Years ago …"),
    or a moment later."""
    first = words_of(parts_of(turn.text).first)[:JUMP_WORDS]
    at_once = any_of(first[:AT_ONCE_WORDS], ("moment", "second")) and ("later" in first or first[0] == "after")
    return at_once or any(word in words.NOT_NOW for word in first[:1]) or "ago" in first


def _jumps(start: Sequence[str]) -> bool:
    """Return whether a sentence starts with a step in time: "Two days later", "By nightfall"."""
    timed = any_of(start, words.PARTS_OF_DAY | words.UNITS | words.CALENDAR)
    return timed and any_of(start, words.SHIFTS) and not any_of(start, words.UNREAL | words.BRIEF)


def similarities(
    openings: np.ndarray, messages: np.ndarray, turns: Sequence[SceneTurn], position: int
) -> dict[str, float]:
    """Return cosines of an opening and the earlier messages, given the vectors of all openings and messages."""
    opening, span = openings[position], range(max(position - COMPARED_MESSAGES, 0), position)
    to_messages = [float(opening @ messages[i]) for i in span]
    to_openings = [float(opening @ openings[i]) for i in span]
    to_own = [cosine for cosine, i in zip(to_openings, span, strict=True) if turns[i].name == turns[position].name]
    usual = [float(openings[i] @ messages[i - 1]) for i in span if i]
    return {
        "previous": to_messages[-1],
        "highest": max(to_messages + to_openings),
        "mean": float(np.mean(to_messages + to_openings)),
        "own_previous": to_own[-1] if to_own else float(np.mean(to_openings)),
        "above_usual": to_messages[-1] - (float(np.mean(usual)) if usual else to_messages[-1]),
    }
