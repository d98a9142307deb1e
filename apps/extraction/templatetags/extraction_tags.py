"""What pages show of extraction: names of tasks, the latest run of a chat, the sections of a summary."""

from django import template

from apps.chats.models import Chat
from apps.extraction import runs
from apps.extraction.models import ExtractionRun
from apps.extraction.parsers.summary import SECTIONS, parse_summary
from apps.extraction.prompts.rendering import TASKS, describe

register = template.Library()


@register.filter
def tier_name(task: str) -> str:
    """Return what a task is for, or its own name where it is unknown."""
    return describe(task).removesuffix(".") if task in TASKS else task.replace("_", " ").capitalize()


@register.simple_tag
def latest_run(chat: Chat | None) -> ExtractionRun | None:
    """Return the latest run of a chat."""
    return runs.latest_run(chat.owner_id, chat) if chat else None


@register.filter
def summary_sections(text: str) -> list[tuple[str, str]]:
    """Return the sections of a summary as (title, text) pairs; none where it is written otherwise."""
    return [(SECTIONS[number], section) for number, section in sorted(parse_summary(text).sections.items())]
