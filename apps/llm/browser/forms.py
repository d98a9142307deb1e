"""Form of the settings page “Model in the browser”."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.llm.forms import MAX_EXTRA_BODY_LENGTH, ConnectionForm, parsed_extra_body, written_extra_body
from apps.llm.models import MAX_TIMEOUT, Connection
from apps.llm.values import MAX_MODEL_LENGTH

EXAMPLES = (
    "Llama-3.2-1B-Instruct-q4f16_1-MLC",
    "Llama-3.2-3B-Instruct-q4f16_1-MLC",
    "Llama-3.1-8B-Instruct-q4f16_1-MLC",
    "Qwen2.5-1.5B-Instruct-q4f16_1-MLC",
    "Qwen2.5-7B-Instruct-q4f16_1-MLC",
    "gemma-2-2b-it-q4f16_1-MLC",
)
STORED_FIELDS = ("model", "context_tokens", "timeout", "extra_body")


class BrowserModelForm(forms.Form):
    """Form for the owner's connection to a model in the browser, which saving puts into use."""

    model = forms.CharField(
        max_length=MAX_MODEL_LENGTH,
        help_text=_("WebLLM's name of the model. Larger ones write better memories, and need more graphics memory."),
        widget=forms.TextInput(attrs={"list": "models", "autocapitalize": "off", "spellcheck": "false"}),
        label=_("Model"),
    )
    context_tokens = ConnectionForm.base_fields["context_tokens"]
    timeout = forms.IntegerField(
        min_value=1,
        max_value=MAX_TIMEOUT,
        initial=MAX_TIMEOUT,
        help_text=_("Seconds without new text after which a call fails and is tried again later."),
        label=_("Timeout"),
    )

    extra_body = forms.CharField(
        required=False,
        max_length=MAX_EXTRA_BODY_LENGTH,
        label=_("Further parameters"),
        help_text=_(
            "JSON object that is merged into each request for a reply, in the form of OpenAI’s API: "
            "<code>{&quot;frequency_penalty&quot;: 0.3, &quot;seed&quot;: 7}</code>."
        ),
        widget=ConnectionForm.base_fields["extra_body"].widget,
    )

    def __init__(self, *args: Any, connection: Connection | None, **kwargs: Any) -> None:
        if connection:
            kwargs["initial"] = {name: getattr(connection, name) for name in STORED_FIELDS}
            kwargs["initial"]["extra_body"] = written_extra_body(connection)
        super().__init__(*args, **kwargs)

    def clean_extra_body(self) -> dict[str, Any]:
        """Parse the further parameters. Raise ValidationError."""
        return parsed_extra_body(self.cleaned_data["extra_body"])
