"""Tasks of models by the names that people know them by."""

from django import template

from apps.memories.prompts.rendering import TASKS, describe

register = template.Library()


@register.filter
def tier_name(task: str) -> str:
    """What the task is for; its name, where a newer or older Loci has named it."""
    return describe(task).removesuffix(".") if task in TASKS else task.replace("_", " ").capitalize()
