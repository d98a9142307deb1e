"""What a generation backend is: a request for a task goes in, a completion comes out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict

from apps.common.problems import Problem

Watch = Callable[[], None]
Profile = Literal["A", "B"]  # small local models; hosted ones


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
    """A reply. ``reasoning`` is what the model thought aloud, which is no part of ``text``."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning: str = ""


def unwatched() -> None:
    """Nobody watches the call."""


class GenerationBackend(Protocol):
    """``context_tokens`` is what the model reads at once; ``profile`` says of what size it is."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def context_tokens(self) -> int: ...

    @property
    def profile(self) -> Profile: ...

    def generate(self, request: GenerationRequest, watch: Watch = unwatched) -> Completion:
        """The model's reply.

        ``watch`` is called about once a second while the call is going on; what it raises ends the call at once
        and comes out of here. Raises GenerationFailed.
        """
        ...


class GenerationFailed(Problem):
    """The backend gave no usable reply; ``detail`` says why.

    ``kind`` says what may help: another try later (``recoverable``), another ``configuration``, or another day
    (``limit``). ``partial`` and ``reasoning`` are what had come until then, and the tokens what that took.
    ``server_status`` is the HTTP status that the server gave, where it gave one.
    """

    status = 502
    type = "/problems/generation-failed"
    title = "The language model gave no reply"
    kind: Literal["recoverable", "configuration", "limit"] = "recoverable"

    def __init__(self, detail: str, **extra: Any) -> None:
        super().__init__(detail, **extra)
        self.partial = ""
        self.reasoning = ""
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.server_status: int | None = None


class TransientFailure(GenerationFailed):
    """The same call may well succeed soon. ``retry_after`` is how many seconds the server asks to wait."""

    retry_after: float | None = None


class Misconfigured(GenerationFailed):
    """It will fail again until somebody changes the connection, or what the installation allows.

    ``wrong_address``: what replied is no API, or knows no such path.
    """

    kind = "configuration"
    wrong_address = False


class LimitReached(GenerationFailed):
    """The owner's tokens of today are spent."""

    status = 429
    type = "/problems/token-limit-reached"
    title = "The daily token limit is reached"
    kind = "limit"


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
