"""Generation backend without a model: each task is a function that another app registers."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial

from apps.llm.generation import BUILTIN, Completion, GenerationFailed, GenerationRequest, Profile, Watch, unwatched
from apps.llm.tokens import count_tokens

TaskFunction = Callable[[GenerationRequest], str]
MAX_UNWATCHED_CHARACTERS = 50_000  # of a prompt; tasks take less than a second for it
WATCH_INTERVAL = 1.0  # seconds

_tasks: dict[str, TaskFunction] = {}


def register_task(name: str, function: TaskFunction) -> None:
    """Register ``function`` for the task ``name``; it returns the text that a model would have written."""
    _tasks[name] = function


def answers(task: str) -> bool:
    """Return whether a task can be answered without a model."""
    return task in _tasks


class BuiltinBackend:
    """Backend that replies by rules. It counts tokens as a model would, so that usage can be compared."""

    name = model = BUILTIN
    context_tokens = 8192
    profile: Profile = "A"

    def generate(self, request: GenerationRequest, watch: Watch = unwatched) -> Completion:
        """Return the task's reply. Raise GenerationFailed for an unknown task.

        Tasks over a short text take milliseconds, so that ``watch`` is only called during those over a long one.
        """
        if request.task not in _tasks:
            raise GenerationFailed(f"The built-in backend has no task {request.task!r}.")
        task = partial(_tasks[request.task], request)
        long = sum(len(message["content"]) for message in request.messages) > MAX_UNWATCHED_CHARACTERS
        text = _call_watched(task, watch) if long else task()
        prompt_tokens = sum(count_tokens(message["content"]) for message in request.messages)
        return Completion(text, prompt_tokens, count_tokens(text))


def _call_watched(task: Callable[[], str], watch: Watch) -> str:
    """Return the result of ``task``, which runs in a thread, and call ``watch`` about once a second meanwhile.

    If ``watch`` raises, the thread runs to its end and its result is discarded.
    """
    executor = ThreadPoolExecutor(max_workers=1)
    try:
        result = executor.submit(task)
        while not wait([result], timeout=WATCH_INTERVAL).done:
            watch()
    finally:
        executor.shutdown(wait=False)
    return result.result()
