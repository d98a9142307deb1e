"""Read presets of SillyTavern: samplers of its text and chat completion, and its system prompts.

What Loci sends to a model is taken; what it doesn't is named, unless its value changes nothing. Without database
access.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext

from apps.common.problems import Invalid
from apps.replies.forms import PresetForm
from apps.replies.preset_numbers import NUMBERS

MAX_NAME_LENGTH = 200
MAX_NAMED = 12  # settings that are not taken
# The keys of our numbers in text completion, KoboldAI and chat completion.
NUMBER_KEYS: Mapping[str, tuple[str, ...]] = {
    "temperature": ("temp", "temperature"),
    "top_p": ("top_p",),
    "top_k": ("top_k",),
    "min_p": ("min_p",),
    "repetition_penalty": ("rep_pen", "repetition_penalty"),
    "max_tokens": ("openai_max_tokens", "genamt"),
}
# Samplers that Loci doesn't send, with the value at which they do nothing.
NEUTRAL: Mapping[str, Any] = {
    "top_a": 0,
    "tfs": 1,
    "typical_p": 1,
    "typical": 1,
    "epsilon_cutoff": 0,
    "eta_cutoff": 0,
    "rep_pen_range": 0,
    "rep_pen_slope": 0,
    "no_repeat_ngram_size": 0,
    "penalty_alpha": 0,
    "freq_pen": 0,
    "presence_pen": 0,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "encoder_rep_pen": 1,
    "dynatemp": False,
    "smoothing_factor": 0,
    "dry_multiplier": 0,
    "xtc_probability": 0,
    "nsigma": 0,
    "mirostat_mode": 0,
    "guidance_scale": 1,
    "negative_prompt": "",
    "grammar_string": "",
    "banned_tokens": "",
    "global_banned_tokens": "",
    "logit_bias": [],
    "json_schema": {},
    "min_length": 0,
    "num_beams": 1,
    "ignore_eos_token": False,
    "ban_eos_token": False,
    "seed": -1,
    "n": 1,
    "assistant_prefill": "",
    "continue_nudge_prompt": "",
}
CHAT_PROMPTS = {"main": "system_prompt", "jailbreak": "post_history_instructions"}
# Templates by which a text is made of messages: the server of a connected model does that itself.
OF_TEMPLATES = ("input_sequence", "story_string", "output_sequence")


@dataclass
class ReadPreset:
    """What was read: fields of a preset, the names of those taken, and what was not."""

    fields: dict[str, Any]
    taken: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def read_preset(name: str, document: Any) -> ReadPreset:
    """Return what a preset file holds. Raise Invalid if it is none that Loci can use."""
    if not isinstance(document, dict):
        raise Invalid(gettext("It is not a preset of SillyTavern: a JSON object is expected."))
    if any(key in document for key in OF_TEMPLATES):
        raise Invalid(
            gettext(
                "It is a template of SillyTavern, by which a prompt is made of messages. The model’s server does that."
            )
        )
    found = ReadPreset({"name": _name(document.get("name"), name)})
    _read_numbers(document, found)
    _read_prompts(document, found)
    if not found.taken:
        raise Invalid(gettext("It has none of the settings that Loci sends to a model."))
    found.left += _unsent(document)
    return found


def _name(given: Any, fallback: str) -> str:
    text = given.strip() if isinstance(given, str) else ""
    return (text or fallback.strip() or gettext("Preset"))[:MAX_NAME_LENGTH]


def _read_numbers(document: Mapping[str, Any], found: ReadPreset) -> None:
    for name, keys in NUMBER_KEYS.items():
        number = NUMBERS[name]
        key = next((key for key in keys if key in document), None)
        if key is None:
            continue
        value = _number(document[key])
        if value is None:
            found.left.append(gettext("%(key)s is no number") % {"key": key})
            continue
        if name == "top_k" and value < 0:
            value = 0  # no limit
        used = min(max(value, number.low), number.high)
        found.fields[name] = number.kind(used)
        label = f"{number.label} {found.fields[name]:g}"
        if used != value:
            label = gettext("%(setting)s, the nearest to %(value)s") % {"setting": label, "value": f"{value:g}"}
        found.taken.append(label)


def _number(value: Any) -> float | None:
    """Return a value as a finite number, or None, also for a whole number that is larger than any of them."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _read_prompts(document: Mapping[str, Any], found: ReadPreset) -> None:
    """Read the prompts of chat completion that are switched on, or a system prompt of its own file."""
    for key, target in (("content", "system_prompt"), ("post_history", "post_history_instructions")):
        _take_text(found, target, document.get(key))
    off = set(_switched_off(document.get("prompt_order")))
    prompts = document.get("prompts")
    for prompt in prompts if isinstance(prompts, list) else []:
        if not isinstance(prompt, dict) or prompt.get("marker"):
            continue
        text, identifier = prompt.get("content"), prompt.get("identifier")
        key = identifier if isinstance(identifier, str) else ""
        if key in off or not isinstance(text, str) or not text.strip():
            continue
        if key in CHAT_PROMPTS:
            _take_text(found, CHAT_PROMPTS[key], text)
        else:
            found.left.append(gettext("the prompt “%(name)s”") % {"name": str(prompt.get("name") or identifier)[:80]})


def _take_text(found: ReadPreset, target: str, text: Any) -> None:
    if isinstance(text, str) and text.strip():
        found.fields[target] = text
        found.taken.append(str(PresetForm.base_fields[target].label))


def _switched_off(orders: Any) -> Iterator[Any]:
    """Yield the identifiers of prompts that the last order, which is that of all characters, switches off."""
    last = orders[-1] if isinstance(orders, list) and orders else None
    order = last.get("order") if isinstance(last, dict) else None
    for item in order if isinstance(order, list) else []:
        if isinstance(item, dict) and not item.get("enabled") and isinstance(item.get("identifier"), str):
            yield item["identifier"]


def _unsent(document: Mapping[str, Any]) -> list[str]:
    """Return the samplers that would change something and that Loci doesn't send."""
    return [key for key, neutral in NEUTRAL.items() if key in document and not _is_neutral(document[key], neutral)]


def _is_neutral(value: Any, neutral: Any) -> bool:
    return value is None or value == neutral or (not value and not neutral)
