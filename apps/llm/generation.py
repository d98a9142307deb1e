"""Interface of generation backends: requests, completions, failures, and the registry of backends."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, Protocol, TypedDict

from django.utils.translation import gettext_lazy as _

from apps.common.problems import Problem, ProblemType
from apps.llm.values import storable_text

BUILTIN = "builtin"  # the name of the backend without a model

Listener = Callable[[str], None]  # called about once a second with the text of the reply so far
Watch = Callable[[], None]  # called about once a second during a call; raises to abort it
TOOL_FIELDS = ("tool_calls", "tool_call_id")  # of messages
Profile = Literal["A", "B"]  # A: small local models, B: hosted ones


class PromptMessage(TypedDict):
    """Message of a prompt, as the chat APIs of models take it, with calls of tools and their results as OpenAI's."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: NotRequired[Sequence[Mapping[str, Any]]]
    tool_call_id: NotRequired[str]


@dataclass(frozen=True)
class GenerationRequest:
    """One call of a model.

    ``messages`` is the prompt. ``task`` and ``material``, the data that the prompt was rendered from, are for
    backends that work without a language model. ``temperature`` is 0 where replies are parsed: the likeliest one.
    ``top_p``, ``top_k``, ``min_p``, ``repetition_penalty`` and ``stop``, the texts that end a reply, are sent if set.
    ``less_reasoning`` is set if an earlier reply was cut off: thoughts count towards the limit of tokens.
    ``is_enough`` is asked about once a second with the text so far, and ends the reply there by returning True.
    ``tools`` are functions that the model may call, in the form of OpenAI's API.
    ``line_pattern`` is what each line of the reply has to match, for servers that can enforce it; see
    ``replies.constrained``. Their replies are those lines, or NONE without any.
    """

    task: str
    messages: Sequence[PromptMessage]
    material: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int = 1000
    temperature: float = 0.0
    less_reasoning: bool = False
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    stop: Sequence[str] = ()
    is_enough: Callable[[str], bool] | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    line_pattern: str = ""

    def sent_messages(self) -> list[dict[str, Any]]:
        """Return the messages without characters that servers refuse."""
        return [
            {name: value for name, value in message.items() if name in TOOL_FIELDS}
            | {"role": message["role"], "content": storable_text(message["content"])}
            for message in self.messages
        ]

    def sampling(self) -> dict[str, float]:
        """Return the optional fields of sampling that are set, by the names that llama.cpp and Ollama use."""
        values = {
            "top_p": self.top_p,
            "top_k": self.top_k,
            "min_p": self.min_p,
            "repeat_penalty": self.repetition_penalty,
        }
        return {name: value for name, value in values.items() if value is not None}

    def reasoning_effort(self, usual: str) -> str:
        """Return the effort to ask for, given that of the connection, "" for the server's own."""
        return "low" if self.less_reasoning and usual in ("medium", "high") else usual


@dataclass(frozen=True)
class Completion:
    """A model's reply. ``text`` is without ``reasoning``.

    ``cut_off``: a token limit or a filter ended it early. ``filtered``: it was the server's content filter, so that
    the same request with a higher limit would end in the same way. ``tools`` are the calls of tools, each with its id,
    name and arguments.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning: str = ""
    cut_off: bool = False
    filtered: bool = False
    tools: Sequence[Mapping[str, str]] = ()


def unwatched() -> None:
    """Do nothing. The default ``watch``, for calls that can't be cancelled."""


class GenerationBackend(Protocol):
    """Generation backend. ``context_tokens`` is the context length; ``profile`` the class of model."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def context_tokens(self) -> int: ...

    @property
    def profile(self) -> Profile: ...

    def generate(self, request: GenerationRequest, watch: Watch = unwatched) -> Completion:
        """Return the model's reply.

        ``watch`` is called about once a second during the call; an exception from it aborts the call at once and
        propagates. Raise GenerationFailed.
        """
        ...


class GenerationFailed(Problem):
    """The backend returned no usable reply; ``detail`` says why.

    ``kind`` says what helps: a later retry (``recoverable``), another request (``refused``), another ``configuration``,
    or the next day (``limit``).
    ``partial`` and ``reasoning`` hold the text received before the failure; the token counts are those used for it.
    ``server_status`` is the HTTP status of the server's response, or None.
    """

    status = 502
    type = ProblemType.GENERATION_FAILED
    title = _("The language model gave no reply")
    kind: Literal["recoverable", "refused", "configuration", "limit"] = "recoverable"

    def __init__(self, detail: str, **extra: Any) -> None:
        super().__init__(detail, **extra)
        self.partial = ""
        self.reasoning = ""
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.server_status: int | None = None


class TransientFailure(GenerationFailed):
    """The same call may succeed later: rate limit, error of the server, time-out, no connection.

    ``retry_after`` is the wait in seconds that the server asks for, or None. It may be hours.
    """

    retry_after: float | None = None


class ServerSilent(TransientFailure):
    """The server did not answer in time. Another try at once would hold the caller as long again."""


class Refused(GenerationFailed):
    """The server refuses this request, for instance because it is too long or by a content filter.

    The same request fails again; others may succeed.
    """

    kind = "refused"


class Misconfigured(GenerationFailed):
    """Every call fails until the connection, the account or the installation's settings change.

    ``wrong_address``: the server is not an API, or has no such path.
    """

    kind = "configuration"
    wrong_address = False


class LimitReached(GenerationFailed):
    """The owner's daily tokens are used up."""

    status = 429
    type = ProblemType.TOKEN_LIMIT_REACHED
    title = _("The daily token limit is reached")
    kind = "limit"


class UnknownBackend(LookupError):
    """No backend has this name."""


_factories: dict[str, Callable[[], GenerationBackend]] = {}


def register_backend(name: str, factory: Callable[[], GenerationBackend]) -> None:
    """Register the factory of the backend ``name``."""
    _factories[name] = factory


def get_backend(name: str = BUILTIN) -> GenerationBackend:
    """Return the backend ``name``. Raise UnknownBackend."""
    try:
        return _factories[name]()
    except KeyError:
        raise UnknownBackend(name) from None
