"""Forms of the settings page “Models”."""

import json
from typing import Any

from django import forms
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.common.documents import strict_json
from apps.common.problems import Problem
from apps.common.scoping import Owner, owner_id_of
from apps.llm import operations
from apps.llm.apis import server_choices
from apps.llm.http.addresses import AddressNotAllowed, address_policy
from apps.llm.models import (
    MAX_CONTEXT_TOKENS,
    MAX_NAME_LENGTH,
    MAX_PARALLEL_CALLS,
    MAX_TIMEOUT,
    MAX_URL_LENGTH,
    MIN_CONTEXT_TOKENS,
    PRICE_DIGITS,
    Connection,
    validate_extra_body,
)
from apps.llm.operations import MAX_KEY_LENGTH
from apps.llm.values import MAX_MODEL_LENGTH

MAX_EXTRA_BODY_LENGTH = 10_000  # of further parameters as JSON
PRICE_OPTIONS: dict[str, Any] = {"required": False, "min_value": 0, **PRICE_DIGITS}
SELDOM_CHANGED = ("reasoning_effort", "extra_body", "prompt_price", "completion_price")  # with their default


class ConnectionForm(forms.Form):
    """Form for a connection. A stored key is never sent to the browser."""

    name = forms.CharField(
        max_length=MAX_NAME_LENGTH, help_text=_("A name for your own use, such as “Home server”."), label=_("Name")
    )
    backend = forms.ChoiceField(
        choices=server_choices,
        label=_("Kind of server"),
        help_text=_("Most services and local servers are OpenAI-compatible; Ollama can be either."),
    )
    base_url = forms.CharField(
        max_length=MAX_URL_LENGTH,
        label=_("Address"),
        help_text=_(
            "The base URL of its API: <code>https://api.openai.com/v1</code>, or <code>http://localhost:11434</code>"
            " for Ollama. Without user name, password or key."
        ),
        widget=forms.TextInput(attrs={"inputmode": "url", "list": "addresses", "autocapitalize": "off"}),
    )
    api_key = forms.CharField(
        required=False,
        max_length=MAX_KEY_LENGTH,
        label=_("API key"),
        help_text=_("Stored encrypted, and never shown again. Most local servers need none."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "spellcheck": "false"}),
    )
    remove_key = forms.BooleanField(required=False, label=_("Remove the stored key"))
    model = forms.CharField(
        required=False,
        max_length=MAX_MODEL_LENGTH,
        help_text=_("Writes replies and memories."),
        widget=forms.TextInput(attrs={"list": "models", "autocapitalize": "off"}),
        label=_("Model"),
    )
    embedding_model = forms.CharField(
        required=False,
        max_length=MAX_MODEL_LENGTH,
        help_text=_("Computes search vectors. If this is empty, Loci's own small model computes them."),
        widget=forms.TextInput(attrs={"list": "models", "autocapitalize": "off"}),
        label=_("Embedding model"),
    )
    context_tokens = forms.IntegerField(
        min_value=MIN_CONTEXT_TOKENS,
        max_value=MAX_CONTEXT_TOKENS,
        initial=8192,
        label=_("Context"),
        help_text=_("Context length of the model, in tokens."),
    )
    timeout = forms.IntegerField(
        min_value=1,
        max_value=MAX_TIMEOUT,
        initial=120,
        label=_("Timeout"),
        help_text=_("Seconds without data from the server after which a call fails."),
    )
    stream = forms.BooleanField(required=False, initial=True, label=_("Stream replies"))
    parallel_calls = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_PARALLEL_CALLS,
        label=_("Calls at a time"),
        help_text=_("Replies requested at the same time; further calls wait. Empty: 1 for a local server, else 4."),
    )
    reasoning_effort = forms.ChoiceField(
        required=False,
        choices=[("", _("The server's default")), *Connection.ReasoningEffort.choices],
        help_text=_("How much a reasoning model thinks before it replies. Its thoughts take time and tokens."),
        label=_("Reasoning effort"),
    )
    extra_body = forms.CharField(
        required=False,
        max_length=MAX_EXTRA_BODY_LENGTH,
        label=_("Further parameters"),
        help_text=_(
            "JSON object that is merged into each request for a reply: <code>{&quot;top_p&quot;: 0.9}</code>;"
            " <code>null</code> leaves a parameter out. It can't set messages, model and stream."
        ),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "autocapitalize": "off"}),
    )
    prompt_price = forms.DecimalField(
        **PRICE_OPTIONS,
        label=_("Price of tokens sent"),
        help_text=_("For a million. Costs are shown where both prices are set."),
    )
    completion_price = forms.DecimalField(
        **PRICE_OPTIONS, label=_("Price of tokens received"), help_text=_("For a million.")
    )
    currency = forms.RegexField(
        r"^\s*[A-Za-z]{3}\s*$",
        required=False,
        initial="USD",
        help_text=_("Three letters, such as EUR."),
        error_messages={"invalid": _("Enter three letters.")},
        label=_("Currency"),
    )

    use_now = forms.BooleanField(
        required=False,
        initial=True,
        label=_("Use it at once"),
        help_text=_("For replies and memories and, if an embedding model is entered, for search vectors."),
    )

    def __init__(self, *args: Any, connection: Connection | None = None, **kwargs: Any) -> None:
        self.connection = connection
        if connection:
            kwargs["initial"] = {name: getattr(connection, name) for name in self.stored_fields()}
            kwargs["initial"]["use_now"] = False
            kwargs["initial"]["extra_body"] = written_extra_body(connection)
        super().__init__(*args, **kwargs)
        if connection and connection.for_generation:
            del self.fields["use_now"]
        if connection and connection.api_key:
            self.fields["api_key"].help_text = format_html(
                gettext("A key is stored{}. Leave this empty to keep it."),
                format_html(gettext("; it ends in <code>{}</code>"), connection.api_key_hint)
                if connection.api_key_hint
                else "",
            )
        else:
            del self.fields["remove_key"]

    @classmethod
    def stored_fields(cls) -> list[str]:
        """Return the names of the fields filled from the connection, which are all except the key and its uses."""
        return [name for name in cls.base_fields if name not in ("api_key", "remove_key", "use_now")]

    def clean_base_url(self) -> str:
        """Check the address, so that its error is shown together with those of other fields."""
        url = str(self.cleaned_data["base_url"])
        try:
            operations.check_base_url(url)
        except AddressNotAllowed as error:
            raise forms.ValidationError(str(error)) from error
        return url

    def clean_extra_body(self) -> dict[str, Any]:
        """Parse the further parameters. Raise ValidationError."""
        return parsed_extra_body(self.cleaned_data["extra_body"])

    def clean_currency(self) -> str:
        """Return the currency in capital letters."""
        return str(self.cleaned_data["currency"]).strip().upper() or "USD"

    def clean(self) -> dict[str, Any]:
        """Refuse a new key together with the removal of the stored one."""
        data = super().clean() or {}
        if data.get("api_key") and data.get("remove_key"):
            self.add_error("remove_key", gettext("Either remove the stored key or enter another one."))
        return data

    @property
    def is_folded(self) -> bool:
        """Return whether the fields that most people leave alone are folded: none has an error or another value."""
        return not any(self[name].errors or self[name].value() != self[name].initial for name in SELDOM_CHANGED)

    def values(self) -> dict[str, Any]:
        """Return arguments for ``create_connection`` and ``update_connection``; without ``api_key`` the key is kept."""
        fields = {name: self.cleaned_data[name] for name in self.stored_fields()}
        key = self.cleaned_data["api_key"]
        return fields | ({"api_key": key} if key or self.cleaned_data.get("remove_key") else {})

    def purposes(self) -> dict[str, bool]:
        """Return arguments for ``operations.use_for``: what the connection is used for from now on."""
        chosen = self.cleaned_data.get("use_now", False)
        models = {"generation": self.cleaned_data["model"], "embeddings": self.cleaned_data["embedding_model"]}
        return {purpose: True for purpose, model in models.items() if chosen and model}

    def unsaved_connection(self, owner: Owner) -> Connection:
        """Return an unsaved connection from the valid fields, for listing the server's models.

        The stored key is included only for the server for which it was entered. Raise Invalid.
        """
        valid = {"backend", "timeout"} & self.cleaned_data.keys()
        connection = Connection(owner_id=owner_id_of(owner), **{name: self.cleaned_data[name] for name in valid})
        # An address with an error is kept, since the call tells what is wrong.
        connection.base_url = self.cleaned_data.get("base_url") or self.data.get("base_url", "").strip()
        if key := self.cleaned_data.get("api_key"):
            operations.set_key(connection, key)
        elif self.connection and not self.cleaned_data.get("remove_key"):
            connection.api_key = self.connection.api_key if is_same_server(self.connection, connection.base_url) else ""
        return connection

    def add_problem(self, problem: Problem) -> None:
        """Show an operation's errors at the fields that they name, or above the form."""
        for error in problem.errors:
            name = error.pointer.removeprefix("/")
            self.add_error(name if name in self.fields else None, error.detail)
        if not problem.errors:
            self.add_error(None, problem.detail)


def written_extra_body(connection: Connection) -> str:
    """Return the further parameters of a connection as a field of a form shows them."""
    return json.dumps(connection.extra_body) if connection.extra_body else ""


def parsed_extra_body(text: str) -> dict[str, Any]:
    """Return the further parameters in a field of a form. Raise ValidationError."""
    try:
        value = strict_json.loads(text or "{}")
    except strict_json.JSONError as error:
        raise forms.ValidationError(gettext("This is not valid JSON. %(error)s") % {"error": error}) from error
    validate_extra_body(value)
    return dict(value)


def is_same_server(connection: Connection, base_url: str) -> bool:
    """Return whether ``base_url`` has the origin of the connection's URL."""
    try:
        checked = address_policy().checked_url(base_url)
    except AddressNotAllowed:
        return False
    return operations.origin_of(str(checked)) == operations.origin_of(connection.base_url)


class UseForm(forms.Form):
    """Form that starts or stops using a connection for a ``purpose``."""

    purpose = forms.ChoiceField(choices=[("generation", "memories"), ("embeddings", _("search vectors"))])
    used = forms.BooleanField(required=False)

    def purposes(self) -> dict[str, bool]:
        """Return arguments for ``operations.use_for``."""
        return {self.cleaned_data["purpose"]: self.cleaned_data["used"]}


class LimitForm(forms.Form):
    """Form for the user's own daily limit."""

    daily_tokens = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=10**15,
        label=_("Your daily limit"),
        help_text=_(
            "In tokens. At the limit your models are not called until the next day. Empty: no limit of your own."
        ),
    )
