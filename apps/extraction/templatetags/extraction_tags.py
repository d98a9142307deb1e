"""Template tags of extraction: descriptions of tasks, the latest run of a chat, sections of a summary."""

from django import template

from apps.chats.models import Chat
from apps.extraction import runs
from apps.extraction.models import ExtractionRun
from apps.extraction.parsers.summary import SECTIONS, parse_summary
from apps.extraction.prompts.rendering import TASKS

register = template.Library()


@register.filter
def task_description(task: str) -> str:
    """Return the description of a task, or its name if it is unknown."""
    return TASKS[task].description.removesuffix(".") if task in TASKS else task.replace("_", " ").capitalize()


@register.simple_tag
def latest_run(chat: Chat | None) -> ExtractionRun | None:
    """Return the latest run of a chat."""
    return runs.latest_run(chat.owner_id, chat) if chat else None


@register.filter
def summary_sections(text: str) -> list[tuple[str, str]]:
    """Return the sections of a summary as (title, text) pairs; empty if the text has no sections."""
    return [(SECTIONS[number], section) for number, section in sorted(parse_summary(text).sections.items())]
