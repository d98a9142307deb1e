"""Ask a model for a run: store each reply at once, use stored ones again, and tell usable replies from others."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext_noop

from apps.common import jobs
from apps.common.stored_texts import gettext_stored, msgid_of
from apps.extraction.models import ExtractionRun, ModelCall
from apps.extraction.parsers.records import ParsedLines, is_mostly_unused
from apps.extraction.parsers.repeated_examples import without_examples
from apps.extraction.parsers.text_cleanup import LEADING_MARKS
from apps.extraction.prompts.rendering import render
from apps.extraction.prompts.task import TASKS, any_line_of
from apps.extraction.steps import recording
from apps.llm.generation import (
    BUILTIN,
    Completion,
    GenerationBackend,
    GenerationFailed,
    GenerationRequest,
    PromptMessage,
    Refused,
    Watch,
    unwatched,
)

MAX_STORED_REPLY = 200_000  # characters of a reply that are stored
# A reasoning model's thoughts count towards the limit of tokens, so that a small one leaves no room for the reply.
MIN_TOKENS, MIN_RETRY_TOKENS = 1024, 4096
NOT_IN_FORM = gettext_noop("The model twice wrote no line in the form that it was asked for.")
MOSTLY_UNUSED = gettext_noop("Most lines of the model's reply were not in the form that it was asked for.")
REMINDERS = {
    NOT_IN_FORM: "Your reply has none of the lines that were asked for. Write them now and nothing else, or only NONE.",
    MOSTLY_UNUSED: "Most lines of your reply are not in a form that was asked for. Write those below again, each in "
    "its form, and nothing else.",
}
MAX_SHOWN_FORMS, MAX_SHOWN_LINES = 12, 20  # of the examples of a prompt, and of a reply's unused lines, in a reminder
MAX_REQUESTS = 2  # for one reply
IsUsable = Callable[[str], bool]
Parse = Callable[[str], ParsedLines[Any]]


@dataclass(frozen=True)
class AskOptions:
    """How a task is asked where that differs from what its Task says.

    ``backend`` is asked in place of the run's. ``sampling`` are further fields of the request. ``key`` says which
    requests are the same, by default those with the same prompt. ``offered`` are ids by the numbers that the prompt
    shows. ``is_usable`` tells whether a reply has the form that was asked for.
    """

    max_tokens: int = 0
    backend: GenerationBackend | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    line_pattern: str = ""
    key: str = ""
    offered: Mapping[str, Any] = field(default_factory=dict)
    is_usable: IsUsable | None = None


@dataclass(frozen=True)
class Answer:
    """A model's reply, and the ids by the numbers that its prompt showed."""

    text: str
    offered: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Asker:
    """Asks a model for a step of a run: ``ask("arcs", {"turns": …})`` returns the reply to a task.

    Each reply is stored unchanged before it is used. ``watch`` is called about once a second during a call, and aborts
    it by an exception. ``templates`` are the owner's own ones, by task.
    """

    run: ExtractionRun
    backend: GenerationBackend
    stage: str = ""
    watch: Watch = unwatched
    templates: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, task: str, material: Mapping[str, Any], **options: Any) -> str:
        """Ask for a task, with ``options`` of AskOptions. Return the reply. Raise GenerationFailed, ClaimLost."""
        return self.answer(task, material, **options).text

    def unless_refused(self, task: str, material: Mapping[str, Any], **options: Any) -> str:
        """Return the reply to a task whose result a step can do without, "" if the model refuses."""
        try:
            return self(task, material, **options)
        except Refused:
            return ""

    def answer(self, task: str, material: Mapping[str, Any], **options: Any) -> Answer:
        """Ask for a task. Return the reply with the ids that its prompt offered. Raise GenerationFailed, ClaimLost.

        A reply that is stored already is used again. One that is cut off or empty is requested once more with a higher
        limit and less reasoning, one in another form with a reminder. If that fails too, raise Refused: half a reply is
        not "nothing to remember". One of which most lines can't be used is requested once more as well; then the reply
        counts of which more can be used. Examples of the prompt that a reply repeats lose their tags.
        """
        asked, own, question = TASKS[task], self.templates.get(task), AskOptions(**options)
        backend = question.backend or self.backend
        # An own template may ask for other lines.
        pattern = "" if own else question.line_pattern or any_line_of([asked.line_pattern])
        limit, prompt = question.max_tokens or asked.max_tokens, render(task, material, own)
        request = GenerationRequest(task, prompt, material, limit, line_pattern=pattern, **question.sampling)
        is_usable = question.is_usable or asked.is_usable
        if backend.name == BUILTIN:
            if self.run.backend not in ("", BUILTIN):  # it helps a model out, whose calls alone cost something
                return Answer(backend.generate(request, self.watch).text, question.offered)
            call = ModelCall(owner_id=self.run.owner_id, run=self.run, stage=self.stage, task=task)
            return Answer(self._call(backend, request, call, takes_any, None).text, question.offered)
        request = replace(request, max_tokens=max(request.max_tokens, MIN_TOKENS))
        key = _key_of(backend.model, task, question.key or str(request.messages))
        stored, replies = recording.stored_replies(self.run, key)
        if stored:
            return Answer(without_examples(stored.reply, request.messages[-1]["content"]), stored.offered)
        # Replies that can't be used are there if the worker was interrupted between the two requests.
        while len(replies) < MAX_REQUESTS and not (replies and not replies[-1].error):
            sent = _corrected(request, replies[-1], asked.parse) if replies else request
            call = ModelCall(owner_id=self.run.owner_id, run=self.run, stage=self.stage, task=task)
            call.key, call.offered = key, dict(question.offered)
            replies.append(call)
            self._call(backend, sent, call, is_usable, asked.parse)
        best = _best_of(replies, asked.parse)
        return Answer(without_examples(best, request.messages[-1]["content"]), question.offered)

    def _call(
        self,
        backend: GenerationBackend,
        request: GenerationRequest,
        call: ModelCall,
        is_usable: IsUsable,
        parse: Parse | None,
    ) -> Completion:
        """Make a call and store its reply, with an error if it can't be used.

        Raise GenerationFailed, ClaimLost, and the exceptions of ``watch``.
        """

        def heartbeat() -> None:
            jobs.heartbeat(self.run)
            self.watch()

        heartbeat()
        start = time.monotonic()
        try:
            completion = backend.generate(request, heartbeat)
        except GenerationFailed as failure:
            partly = Completion(failure.partial, failure.prompt_tokens, failure.completion_tokens, failure.reasoning)
            self._store(call, partly, failure.detail, start)
            raise
        if completion.cut_off and is_usable is takes_any:
            completion = replace(completion, text=completion.text.rpartition("\n")[0])  # without the unfinished line
        problem = _problem_of(completion, request, is_usable, parse)
        call.unusable = bool(problem)
        self._store(call, completion, problem, start)
        return completion

    def _store(self, call: ModelCall, completion: Completion, error: str, start: float) -> None:
        """Save a call at once, so that its reply is kept even if the step fails later."""
        call.reply = completion.text[:MAX_STORED_REPLY]
        call.reasoning = completion.reasoning[:MAX_STORED_REPLY]
        call.error = error
        call.prompt_tokens, call.completion_tokens = completion.prompt_tokens, completion.completion_tokens
        call.seconds = time.monotonic() - start
        recording.record_call(self.run, call)


def _best_of(replies: Sequence[ModelCall], parse: Parse | None) -> str:
    """Return the text of the last reply, after the usable lines of the one that it corrects.

    Raise Refused if none can be used.
    """
    readable = [call.reply for call in reversed(replies) if msgid_of(call.error) in ("", MOSTLY_UNUSED)]
    if not readable:
        raise Refused(replies[-1].error)
    if parse is None or len(readable) == 1:
        return readable[0]
    if any("{" in text for text in readable) or not parse(readable[0]).items:
        return max(readable, key=lambda text: len(parse(text).items))
    return f"{_used_lines(readable[1], parse)}\n{readable[0]}"


def _used_lines(text: str, parse: Parse) -> str:
    unused = set(parse(text).unused)
    return "\n".join(line for line in text.splitlines() if LEADING_MARKS.sub("", line, count=1).strip() not in unused)


def takes_any(text: str) -> bool:
    """Return True: replies of the built-in extractor, and to plain questions, are used as far as they go."""
    return True


def _forms_in(request: GenerationRequest) -> str:
    """Return the lines of a prompt that show a form: no line of the material begins with a bracket."""
    lines = request.messages[-1]["content"].splitlines()
    return "\n".join([line for line in lines if line.startswith("[")][:MAX_SHOWN_FORMS])


def _corrected(request: GenerationRequest, call: ModelCall, parse: Parse | None) -> GenerationRequest:
    """Return the request to send after a reply that can't be used. It constrains nothing: that may be the reason."""
    request = replace(request, line_pattern="")
    if msgid_of(call.error) not in REMINDERS:
        return replace(request, max_tokens=max(2 * request.max_tokens, MIN_RETRY_TOKENS), less_reasoning=True)
    shown = [f"The forms are:\n{forms}"] if (forms := _forms_in(request)) else []
    if parse and (unused := parse(call.reply).unused[:MAX_SHOWN_LINES]):
        shown.append("What could not be read:\n" + "\n".join(unused))
    answer: list[PromptMessage] = [
        {"role": "assistant", "content": call.reply},
        {"role": "user", "content": "\n\n".join([REMINDERS[msgid_of(call.error)], *shown])},
    ]
    return replace(request, messages=[*request.messages, *answer])


def _key_of(*parts: str) -> str:
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def _problem_of(completion: Completion, request: GenerationRequest, is_usable: IsUsable, parse: Parse | None) -> str:
    """Return why a reply can't be used, or is not used without asking again, or ""."""
    if is_usable is takes_any:
        return ""
    if completion.cut_off or not completion.text.strip():
        return gettext_stored(
            "The model's reply was cut off or empty twice, the second time within %(tokens)s tokens.",
            tokens=request.max_tokens,
        )
    if not is_usable(completion.text):
        return gettext_stored(NOT_IN_FORM)
    is_poor = parse is not None and is_mostly_unused(completion.text, parse(completion.text))
    return gettext_stored(MOSTLY_UNUSED) if is_poor else ""
