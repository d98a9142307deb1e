"""The backend that needs no model: a task is a function that the product registered for it."""

from collections.abc import Callable

from apps.llm.generation import Completion, GenerationFailed, GenerationRequest, Profile, Watch, unwatched
from apps.llm.tokens import count_tokens

TaskFunction = Callable[[GenerationRequest], str]

_tasks: dict[str, TaskFunction] = {}


def register_task(name: str, function: TaskFunction) -> None:
    """``function`` answers requests for the task ``name`` with the text that a model would have written."""
    _tasks[name] = function


class BuiltinBackend:
    """Answers from rules. Its tokens are counted as a model's would be, so that usage can be compared."""

    name = model = "builtin"
    context_tokens = 8192
    profile: Profile = "A"

    def generate(self, request: GenerationRequest, watch: Watch = unwatched) -> Completion:
        """Answers within milliseconds, so that there is nothing to watch."""
        if request.task not in _tasks:
            raise GenerationFailed(f"The built-in backend has no task {request.task!r}.")
        text = _tasks[request.task](request)
        prompt_tokens = sum(count_tokens(message["content"]) for message in request.messages)
        return Completion(text, prompt_tokens, count_tokens(text))
