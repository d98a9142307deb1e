"""Template tags of extraction: descriptions of tasks, the latest run of a chat, sections of a summary."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django import template
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.timesince import timesince
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common.on_demand import on_demand
from apps.common.settings.inheritance import SettingsSource, setting_values
from apps.extraction.models import ExtractionRun
from apps.extraction.progress import refused_messages
from apps.extraction.prompts.task import TASKS
from apps.extraction.runs import queries
from apps.extraction.runs.estimates import MONEY
from apps.extraction.runs.queries import seconds_left
from apps.extraction.settings.presets import PRESETS, current_preset
from apps.extraction.settings.schema import SETTINGS, resolve
from apps.extraction.settings.stores import stored_settings
from apps.llm.backends.selection import backend_for
from apps.llm.templatetags.connection_filters import thousands

register = template.Library()
_parse_summary = on_demand("apps.extraction.tiers.summary:parse_summary")  # pages don't load what reads messages

# The sections of a summary as pages name them; prompts and replies have apps.extraction.tiers.summary.SECTIONS.
SUMMARY_TITLES = {
    1: _("Scene and setting"),
    2: _("Who is present"),
    3: _("Key events"),
    4: _("Relationships"),
    5: _("What was revealed"),
    6: _("Open threads"),
    7: _("What the user wants"),
    8: _("The current moment"),
    9: _("What comes next"),
}
# How a model reads best: a label, and what Loci does.
PLANS = {
    "one": (_("One call for all"), _("Loci asks this model for all that is kept with one call.")),
    "separate": (_("A call for each kind"), _("Loci asks this model for each kind of memory alone.")),
    "small": (
        _("Plain questions"),
        _("Loci asks this model plain questions about a few messages at a time. The built-in extractor does the rest."),
    ),
    "builtin": (
        _("The built-in extractor does better"),
        _("It finds more without this model than with it, so Loci reads with it. The model still writes replies."),
    ),
}
VERDICTS = {"good": _("good"), "usable": _("usable"), "unsuitable": _("unsuitable")}


@register.filter
def task_description(task: str) -> str:
    """Return the description of a task, or its name if it is unknown."""
    return str(TASKS[task].description).removesuffix(".") if task in TASKS else task.replace("_", " ").capitalize()


@register.simple_tag
def latest_run(chat: Chat | None) -> ExtractionRun | None:
    """Return the latest run of a chat."""
    return queries.latest_run(chat.owner_id, chat) if chat else None


@register.simple_tag
def extraction_overview(user: User) -> dict[str, Any]:
    """Return the connected model's name, or "", and the levels of memory with the name of the present one."""
    backend, stored = backend_for(user), stored_settings(user)
    profile = resolve(backend.profile, [stored]).profile
    values = setting_values(SETTINGS, [SettingsSource("", stored)], profile)
    model = "" if backend.name == "builtin" else backend.model
    return {"model": model, "presets": PRESETS, "current": current_preset(values, profile)}


@register.simple_tag
def unread_messages(chat: Chat) -> int:
    """Return the number of messages that the model could not read for all tiers."""
    return refused_messages(chat).count()


@register.filter
def summary_sections(text: str) -> list[tuple[str, str]]:
    """Return the sections of a summary as (title, text) pairs; empty if the text has no sections."""
    return [(str(SUMMARY_TITLES[number]), section) for number, section in sorted(_parse_summary(text).sections.items())]


@register.filter
def describe_estimate(estimate: Mapping[str, Any]) -> str:
    """Return an estimate as words: "about 14 calls and 90,000 tokens (about 0.27 USD)"."""
    if not estimate:
        return ""
    tokens = estimate["prompt_tokens"] + estimate["completion_tokens"]
    numbers = {"calls": thousands(estimate["calls"]), "tokens": thousands(round(tokens, -3) or 1000)}
    if not estimate["cost"]:
        return gettext("about %(calls)s calls and %(tokens)s tokens") % numbers
    money = {"cost": estimate["cost"], "currency": estimate["currency"]}
    return gettext("about %(calls)s calls and %(tokens)s tokens (about %(cost)s %(currency)s)") % (numbers | money)


@register.filter
def describe_cost(usage: Mapping[str, Any]) -> str:
    """Return the cost of a run's calls, as in "0.27 USD" or "under 0.01 USD", or "" if a price is unknown."""
    if not usage.get("cost"):
        return ""
    cost = Decimal(usage["cost"])
    if 0 < cost < MONEY:
        return gettext("under %(cost)s %(currency)s") % {"cost": MONEY, "currency": usage["currency"]}
    return f"{number_format(cost.quantize(MONEY), decimal_pos=2)} {usage['currency']}"


@register.filter
def time_left(run: ExtractionRun) -> str:
    """Return about how long the run will take from now, as in "about 4 minutes", or "" if that is unknown."""
    seconds = seconds_left(run)
    if seconds is None:
        return ""
    now = timezone.now()
    if seconds < 60:
        return gettext("under a minute")
    return gettext("about %(time)s") % {"time": timesince(now, now + timedelta(seconds=seconds), depth=1)}


@register.filter
def verdict_label(verdict: str) -> str:
    """Return the verdict of a model test in words."""
    return str(VERDICTS.get(verdict, verdict))


@register.filter
def plan_label(plan: str) -> str:
    """Return how a test found that a model reads best, in a few words."""
    return str(PLANS[plan][0]) if plan in PLANS else plan


@register.filter
def plan_description(plan: str) -> str:
    """Return what a plan of reading means, as a sentence."""
    return str(PLANS[plan][1]) if plan in PLANS else ""


@register.filter
def plain_score(results: Mapping[str, Any]) -> int:
    """Return the score that a model reached with plain sentences."""
    return next((tier["score"] for tier in results.get("tiers", []) if tier["task"] == "plain"), 0)


@register.filter
def model_name(run: ExtractionRun) -> str:
    """Return the name of the model that a run uses, or of the owner's model if the run has not begun."""
    return run.model or backend_for(run.owner_id).model
