"""Find the sentences that tell where and when a scene plays."""

import re
from collections.abc import Sequence

from apps.builtin.reading.statements import Statement
from apps.builtin.story.character_states import character_changes
from apps.builtin.worth.salience import SCENE

_TIMES = (
    r"(?:dawn|dusk|sunrise|sunset|noon|midday|midnight|(?:mid-?)?(?:morning|afternoon|evening|night)(?:fall)?|twilight|"
    r"spring|summer|autumn|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|"
    r"august|september|october|november|december|\w+ o['’]clock|\d{1,2}(?::\d\d)? ?[ap]\.?m)\b"
)
_BEFORE_TIME = (
    r"(?: (?:already|now|almost|nearly|still|just|only|past|after|before|about|around|getting|growing|late|early|well|"
    r"close|to|the|a|an|of|middle|\w+ly|first|\d+\w*))* "
)
_IT_IS = re.compile(
    rf"\b(?:it(?:['’]s| is)|today is|tonight is){_BEFORE_TIME}(?:\w+ )?{_TIMES}(?!['’]s| \w+ that)", re.I
)
_IT_WAS = re.compile(rf"^(?:it|that|this) (?:was|had been){_BEFORE_TIME}(?:\w+ )?{_TIMES}(?! that)", re.IGNORECASE)
_TIME_PASSES = re.compile(
    r"^(?:(?:the (?:next|following)|that|this|early|late|later|(?:late|early) (?:in|on) the|(?:on|by|at|in|just before|"
    rf"shortly after|towards?)(?: the| a)?)(?: \w+)? {_TIMES}|the next day\b|"
    r"\w+ (?:hours?|days?|nights?|weeks?|months?|years?) (?:later|had passed|passed)\b)",
    re.IGNORECASE,
)


def states_location(statement: Statement) -> bool:
    """Return whether a sentence states somebody's location."""
    return any(change.field == "location" for change in character_changes(statement))


def setting_statements(statements: Sequence[Statement]) -> list[Statement]:
    """Return, as a list of at most one, the last sentence that states a location, else the last that describes one."""
    described = [statement for statement in statements if statement.narrated and len(SCENE.findall(statement.text)) > 1]
    return ([statement for statement in statements if states_location(statement)] or described)[-1:]


def tells_time(statement: Statement) -> bool:
    """Return whether a sentence says when the story plays now, not when something happened or will."""
    patterns = (_IT_IS, _IT_WAS, _TIME_PASSES) if statement.narrated else (_IT_IS,)
    return any(pattern.search(statement.text) for pattern in patterns)
