"""Settings of common model servers, which the connection form offers. docs/models.md describes each."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from apps.common.words import Words
from apps.llm.models import Connection


@dataclass(frozen=True)
class ServerPreset:
    """Settings of one kind of server. ``note`` says what to know before connecting it."""

    name: str
    base_url: str
    note: Words
    backend: str = Connection.Backend.OPENAI
    context_tokens: int = 8192
    timeout: int = 120
    parallel_calls: int = 4

    @property
    def is_local(self) -> bool:
        """Return whether the server runs on a machine of the user's own."""
        return self.base_url.startswith("http://localhost")

    def fields(self) -> dict[str, Any]:
        """Return the values of the form's fields."""
        return {name: value for name, value in vars(self).items() if name != "note"}


PRESETS = (
    ServerPreset(
        "Ollama",
        "http://localhost:11434",
        _(
            "No key. Loci requests the context length below with each call, whatever "
            "Ollama's own default is: choose one"
            " that fits into memory."
        ),
        backend=Connection.Backend.OLLAMA,
        timeout=600,
        parallel_calls=1,
    ),
    ServerPreset(
        "llama.cpp",
        "http://localhost:8080/v1",
        _(
            "No key unless llama-server was started with --api-key. Start it with --jinja "
            "and --ctx-size; its context is"
            " shared by all of its --parallel slots, so enter the context of one slot."
        ),
        timeout=600,
        parallel_calls=1,
    ),
    ServerPreset(
        "vLLM",
        "http://localhost:8000/v1",
        _(
            "No key unless it was started with --api-key. The context is its "
            "--max-model-len. It serves several calls at"
            " a time well."
        ),
        context_tokens=32768,
        timeout=300,
    ),
    ServerPreset(
        "LM Studio",
        "http://localhost:1234/v1",
        _("No key. Start its server in the tab “Developer”, and set the context length where the model is loaded."),
        timeout=600,
        parallel_calls=1,
    ),
    ServerPreset(
        "KoboldCpp",
        "http://localhost:5001/v1",
        _("No key unless it was started with --password. The context is its --contextsize; one model is loaded."),
        timeout=600,
        parallel_calls=1,
    ),
    ServerPreset(
        "TabbyAPI",
        "http://localhost:5000/v1",
        _("A key is needed: it stands in its file api_tokens.yml. The context is max_seq_len of the loaded model."),
        timeout=600,
        parallel_calls=1,
    ),
    ServerPreset(
        "text-generation-webui",
        "http://localhost:5000/v1",
        _("No key unless it was started with --api-key. Start it with --api, and load a model on its page."),
        timeout=600,
        parallel_calls=1,
    ),
    ServerPreset(
        "OpenAI",
        "https://api.openai.com/v1",
        _("A key is needed. A ChatGPT subscription does not include the API."),
        context_tokens=128_000,
    ),
    ServerPreset(
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        _("A key is needed. Names of models have the form maker/model. Free models are limited to few calls a day."),
        context_tokens=32768,
    ),
    ServerPreset(
        "Mistral",
        "https://api.mistral.ai/v1",
        _("A key is needed. The context depends on the model."),
        context_tokens=32768,
    ),
    ServerPreset(
        "DeepSeek",
        "https://api.deepseek.com/v1",
        _("A key is needed. It has no embedding models."),
        context_tokens=64_000,
    ),
    ServerPreset(
        "Anthropic",
        "https://api.anthropic.com/v1",
        _(
            "A key is needed. This is its interface for programs written for OpenAI: enter the name of the model"
            " if no list comes. It has no embedding models."
        ),
        context_tokens=200_000,
    ),
    ServerPreset(
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        _("A key of Google AI Studio is needed. The free tier allows few calls a minute."),
        context_tokens=1_000_000,
    ),
    ServerPreset(
        "xAI",
        "https://api.x.ai/v1",
        _("A key is needed. The context depends on the model."),
        context_tokens=128_000,
    ),
    ServerPreset(
        "Groq",
        "https://api.groq.com/openai/v1",
        _("A key is needed. The free tier allows few tokens a minute. It has no embedding models."),
        context_tokens=32768,
    ),
    ServerPreset(
        "Together AI",
        "https://api.together.xyz/v1",
        _("A key is needed. Names of models have the form maker/model."),
        context_tokens=32768,
    ),
    ServerPreset(
        "Featherless",
        "https://api.featherless.ai/v1",
        _("A key is needed. The subscription limits the calls at a time."),
        context_tokens=16384,
    ),
    ServerPreset(
        "NanoGPT",
        "https://nano-gpt.com/api/v1",
        _("A key is needed. The context depends on the model."),
        context_tokens=32768,
    ),
)
