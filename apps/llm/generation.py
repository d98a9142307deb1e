"""What a generation backend is: a request for a task goes in, a completion comes out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict

from apps.common.problems import Problem


class PromptMessage(TypedDict):
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class GenerationRequest:
    """One call of a model.

    ``task`` names what is wanted, and ``messages`` ask a language model for it. ``material`` holds what the
    prompt was rendered from, for a backend that works on data instead of prose.
    """

    task: str
    messages: Sequence[PromptMessage]
    material: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int = 1000


@dataclass(frozen=True)
class Completion:
    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class GenerationBackend(Protocol):
    name: str

    def generate(self, request: GenerationRequest) -> Completion:
        """The model's reply. Raises GenerationFailed."""
        ...


class GenerationFailed(Problem):
    """The backend gave no usable reply; ``detail`` says why."""

    status = 502
    type = "/problems/generation-failed"
    title = "The language model gave no reply"


class UnknownBackend(LookupError):
    """No backend is registered under the name."""


_factories: dict[str, Callable[[], GenerationBackend]] = {}


def register_backend(name: str, factory: Callable[[], GenerationBackend]) -> None:
    _factories[name] = factory


def get_backend(name: str = "builtin") -> GenerationBackend:
    """The backend called ``name``. Raises UnknownBackend."""
    try:
        return _factories[name]()
    except KeyError:
        raise UnknownBackend(name) from None
