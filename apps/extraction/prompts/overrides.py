"""Prompt templates of users, which override the built-in ones."""

from apps.common.problems import FieldError, Invalid, Missing
from apps.common.scoping import Owner, owner_id_of
from apps.extraction.models import PromptTemplate
from apps.extraction.prompts.rendering import TASKS, check_template, default_template


def template_of(owner: Owner, task: str) -> str | None:
    """Return the owner's template of a task, or None. ``owner`` is a user or a user's id."""
    mine = PromptTemplate.objects.for_owner(owner).filter(task=task)
    return mine.values_list("text", flat=True).first()


def templates_of(owner: Owner) -> dict[str, str]:
    """Return all templates of an owner by task."""
    return dict(PromptTemplate.objects.for_owner(owner).values_list("task", "text"))


def set_template(owner: Owner, task: str, text: str) -> str | None:
    """Store the owner's template of a task and return it. The built-in text is not stored: return None.

    Raise Missing for an unknown task, and Invalid for a text that fails ``check_template``.
    """
    _require_task(task)
    text = text.replace("\r\n", "\n").replace("\x00", "").strip()
    problems = check_template(task, text)
    if problems:
        raise Invalid(problems[0], errors=[FieldError("/text", problem) for problem in problems])
    if text == default_template(task).strip():
        reset_template(owner, task)
        return None
    PromptTemplate.objects.for_owner(owner).update_or_create(
        owner_id=owner_id_of(owner), task=task, defaults={"text": text}
    )
    return text


def reset_template(owner: Owner, task: str) -> None:
    """Reset a task to the built-in template. Raise Missing for an unknown task."""
    _require_task(task)
    PromptTemplate.objects.for_owner(owner).filter(task=task).delete()


def _require_task(task: str) -> None:
    if task not in TASKS:
        raise Missing(f"There is no task {task!r}.")
