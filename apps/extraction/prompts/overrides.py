"""The templates that users ask by instead of ours."""

from apps.common.problems import FieldError, Invalid, Missing
from apps.common.scoping import Owner, owner_id_of
from apps.extraction.models import PromptTemplate
from apps.extraction.prompts.rendering import TASKS, check_template, default_template


def template_of(owner: Owner, task: str) -> str | None:
    """The owner's own template for the task, or None where ours serves. ``owner`` is a user or a user's id."""
    mine = PromptTemplate.objects.for_owner(owner).filter(task=task)
    return mine.values_list("text", flat=True).first()


def templates_of(owner: Owner) -> dict[str, str]:
    """All of the owner's own templates, by task."""
    return dict(PromptTemplate.objects.for_owner(owner).values_list("task", "text"))


def set_template(owner: Owner, task: str, text: str) -> str | None:
    """Have the owner's model asked by ``text``, and return what is stored: None where it is just our template.

    Raises Missing for an unknown task and Invalid, with what is wrong, for a text that can't serve.
    """
    _must_be_known(task)
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
    """Go back to the template that comes with Loci. Raises Missing for an unknown task."""
    _must_be_known(task)
    PromptTemplate.objects.for_owner(owner).filter(task=task).delete()


def _must_be_known(task: str) -> None:
    if task not in TASKS:
        raise Missing(f"There is no task {task!r}.")
