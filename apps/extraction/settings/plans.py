"""How a model is asked: in one call for all that is kept, a call for each tier, plain questions, or not at all."""

import re
from enum import StrEnum

from apps.common.scoping import Owner
from apps.extraction.models import ModelTest
from apps.extraction.settings.schema import Settings
from apps.llm.generation import BUILTIN, GenerationBackend

MAX_MESSAGES, MAX_TOKENS = 3, 300  # of the messages in one plain question
MAX_SMALL = 3.5  # billions of parameters of a model that is asked plain questions until a test has found more
_BILLIONS = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d+)?)b(?![a-z])", re.IGNORECASE)
_MILLIONS = re.compile(r"(?<![\d.])(\d{3})m(?![a-z])", re.IGNORECASE)


class ReadingPlan(StrEnum):
    """How messages are read."""

    ONE = "one"  # one call for all tiers
    SEPARATE = "separate"  # a call for each tier
    SMALL = "small"  # plain questions about a few messages; the built-in reader does the rest
    BUILTIN = "builtin"  # the built-in reader alone


def plan_for(owner: Owner, settings: Settings, backend: GenerationBackend) -> ReadingPlan:
    """Return how the backend reads messages.

    If the settings leave it open, it is what the model's suitability test found. Without a test, a model whose name
    tells that it is small is asked plain questions, one of profile A is asked for each tier, and others read at once.
    """
    if backend.name == BUILTIN:
        return ReadingPlan.BUILTIN
    if settings.reading != "auto":
        return ReadingPlan(settings.reading)
    if tested := _tested_plan(owner, backend):
        return ReadingPlan(tested)
    if 0 < billions_of(backend.model) <= MAX_SMALL:
        return ReadingPlan.SMALL
    return ReadingPlan.ONE if settings.profile == "B" else ReadingPlan.SEPARATE


def _tested_plan(owner: Owner, backend: GenerationBackend) -> str:
    """Return the plan that the newest complete test of a model named, "" without one."""
    tests = ModelTest.objects.for_owner(owner).filter(
        state=ModelTest.State.SUCCEEDED, backend=backend.name, model=backend.model
    )
    latest = tests.order_by("-pk").first()
    return str(latest.results.get("plan", "")) if latest else ""


def billions_of(model: str) -> float:
    """Return the parameters that a model's name tells, in billions, as in "qwen2.5:1.5b"; 0 if it tells none."""
    sizes = [float(size) for size in _BILLIONS.findall(model)]
    sizes += [float(size) / 1000 for size in _MILLIONS.findall(model)]
    return max(sizes, default=0)
