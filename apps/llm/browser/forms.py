"""Form of the settings page “Model in the browser”."""

from typing import Any

from django import forms

from apps.llm.forms import ConnectionForm
from apps.llm.models import Connection

EXAMPLES = (
    "Llama-3.2-1B-Instruct-q4f16_1-MLC",
    "Llama-3.2-3B-Instruct-q4f16_1-MLC",
    "Llama-3.1-8B-Instruct-q4f16_1-MLC",
    "Qwen2.5-1.5B-Instruct-q4f16_1-MLC",
    "Qwen2.5-7B-Instruct-q4f16_1-MLC",
    "gemma-2-2b-it-q4f16_1-MLC",
)
STORED_FIELDS = ("model", "context_tokens", "timeout")


class BrowserModelForm(forms.Form):
    """Form for the owner's connection to a model in the browser, which saving puts into use."""

    model = forms.CharField(
        max_length=200,
        help_text="WebLLM's name of the model. Larger ones write better memories, and need more graphics memory.",
        widget=forms.TextInput(attrs={"list": "models", "autocapitalize": "off", "spellcheck": "false"}),
    )
    context_tokens = ConnectionForm.base_fields["context_tokens"]
    timeout = forms.IntegerField(
        min_value=1,
        max_value=600,
        initial=600,
        help_text="Seconds without new text after which a call fails and is tried again later.",
    )

    def __init__(self, *args: Any, connection: Connection | None, **kwargs: Any) -> None:
        if connection:
            kwargs["initial"] = {name: getattr(connection, name) for name in STORED_FIELDS}
        super().__init__(*args, **kwargs)
