"""Template tags of extraction: descriptions of tasks, the latest run of a chat, sections of a summary."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django import template
from django.utils import timezone
from django.utils.timesince import timesince

from apps.chats.models import Chat
from apps.extraction import runs
from apps.extraction.estimates import MONEY
from apps.extraction.models import ExtractionRun
from apps.extraction.parsers.summary import SECTIONS, parse_summary
from apps.extraction.progress import refused_messages
from apps.extraction.prompts.rendering import TASKS
from apps.llm.backends import backend_for

register = template.Library()


@register.filter
def task_description(task: str) -> str:
    """Return the description of a task, or its name if it is unknown."""
    return TASKS[task].description.removesuffix(".") if task in TASKS else task.replace("_", " ").capitalize()


@register.simple_tag
def latest_run(chat: Chat | None) -> ExtractionRun | None:
    """Return the latest run of a chat."""
    return runs.latest_run(chat.owner_id, chat) if chat else None


@register.simple_tag
def unread_messages(chat: Chat) -> int:
    """Return the number of messages that the model could not read for all tiers."""
    return refused_messages(chat).count()


@register.filter
def summary_sections(text: str) -> list[tuple[str, str]]:
    """Return the sections of a summary as (title, text) pairs; empty if the text has no sections."""
    return [(SECTIONS[number], section) for number, section in sorted(parse_summary(text).sections.items())]


@register.filter
def describe_estimate(estimate: Mapping[str, Any]) -> str:
    """Return an estimate as words: "about 14 calls and 90,000 tokens (about 0.27 USD)"."""
    if not estimate:
        return ""
    tokens = estimate["prompt_tokens"] + estimate["completion_tokens"]
    text = f"about {estimate['calls']:,} calls and {round(tokens, -3) or 1000:,} tokens"
    return f"{text} (about {estimate['cost']} {estimate['currency']})" if estimate["cost"] else text


@register.filter
def describe_cost(usage: Mapping[str, Any]) -> str:
    """Return the cost of a run's calls, as in "0.27 USD" or "under 0.01 USD", or "" if a price is unknown."""
    if not usage.get("cost"):
        return ""
    cost = Decimal(usage["cost"])
    return f"under {MONEY} {usage['currency']}" if 0 < cost < MONEY else f"{cost:.2f} {usage['currency']}"


@register.filter
def time_left(run: ExtractionRun) -> str:
    """Return about how long the run will take from now, as in "about 4 minutes", or "" if that is unknown."""
    seconds = runs.seconds_left(run)
    if seconds is None:
        return ""
    now = timezone.now()
    return f"about {timesince(now, now + timedelta(seconds=seconds), depth=1)}" if seconds >= 60 else "under a minute"


@register.filter
def model_name(run: ExtractionRun) -> str:
    """Return the name of the model that a run uses, or of the owner's model if the run has not begun."""
    return run.model or backend_for(run.owner_id).model
