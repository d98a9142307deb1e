"""Generation backend without a model: each task is a function that another app registers."""

from collections.abc import Callable

from apps.llm.generation import Completion, GenerationFailed, GenerationRequest, Profile, Watch, unwatched
from apps.llm.tokens import count_tokens

TaskFunction = Callable[[GenerationRequest], str]

_tasks: dict[str, TaskFunction] = {}


def register_task(name: str, function: TaskFunction) -> None:
    """Register ``function`` for the task ``name``; it returns the text that a model would have written."""
    _tasks[name] = function


class BuiltinBackend:
    """Backend that replies by rules. It counts tokens as a model would, so that usage can be compared."""

    name = model = "builtin"
    context_tokens = 8192
    profile: Profile = "A"

    def generate(self, request: GenerationRequest, watch: Watch = unwatched) -> Completion:
        """Return the task's reply. ``watch`` is never called, since tasks take milliseconds.

        Raise GenerationFailed for an unknown task.
        """
        if request.task not in _tasks:
            raise GenerationFailed(f"The built-in backend has no task {request.task!r}.")
        text = _tasks[request.task](request)
        prompt_tokens = sum(count_tokens(message["content"]) for message in request.messages)
        return Completion(text, prompt_tokens, count_tokens(text))
