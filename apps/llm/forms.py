"""Forms of the connections' pages."""

from typing import Any

from django import forms
from django.utils.html import format_html

from apps.common.problems import Problem
from apps.llm import operations
from apps.llm.addresses import AddressNotAllowed
from apps.llm.models import Connection


class ConnectionForm(forms.Form):
    """Where a server is and what is used of it. A stored key never comes back into the page."""

    name = forms.CharField(max_length=100, help_text="As you call it, such as “Home server”.")
    backend = forms.ChoiceField(
        choices=Connection.Backend.choices,
        label="Kind of server",
        help_text="Most services and local servers are OpenAI-compatible; Ollama can be either.",
    )
    base_url = forms.CharField(
        max_length=500,
        label="Address",
        help_text="Where its API begins: <code>https://api.openai.com/v1</code>, or <code>http://localhost:11434</code>"
        " for Ollama. No user name, password or key in it.",
        widget=forms.TextInput(attrs={"inputmode": "url", "list": "addresses", "autocapitalize": "off"}),
    )
    api_key = forms.CharField(
        required=False,
        max_length=1000,
        label="API key",
        help_text="Stored encrypted, and never shown again. Local servers mostly need none.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "spellcheck": "false"}),
    )
    remove_key = forms.BooleanField(required=False, label="Remove the stored key")
    model = forms.CharField(
        required=False,
        max_length=200,
        help_text="It writes your memories.",
        widget=forms.TextInput(attrs={"list": "models", "autocapitalize": "off"}),
    )
    embedding_model = forms.CharField(
        required=False,
        max_length=200,
        help_text="It makes search vectors. Left empty, Loci's own small model does.",
        widget=forms.TextInput(attrs={"list": "models", "autocapitalize": "off"}),
    )
    context_tokens = forms.IntegerField(
        min_value=1024,
        max_value=10_000_000,
        initial=8192,
        label="Context",
        help_text="Tokens that the model reads at once.",
    )
    timeout = forms.IntegerField(
        min_value=1,
        max_value=600,
        initial=120,
        label="Patience",
        help_text="Seconds without a sign of the reply, after which a call is given up.",
    )
    stream = forms.BooleanField(required=False, initial=True, label="Read replies as they are written")

    def __init__(self, *args: Any, connection: Connection | None = None, **kwargs: Any) -> None:
        self.connection = connection
        if connection:
            kwargs["initial"] = {name: getattr(connection, name) for name in self.stored_fields()}
        super().__init__(*args, **kwargs)
        if connection and connection.api_key:
            self.fields["api_key"].help_text = format_html(
                "A key is stored{}. Leave this empty to keep it.",
                format_html("; it ends in <code>{}</code>", connection.api_key_hint) if connection.api_key_hint else "",
            )
        else:
            del self.fields["remove_key"]

    @classmethod
    def stored_fields(cls) -> list[str]:
        """The fields that have a counterpart of the same name that may be shown."""
        return [name for name in cls.base_fields if name not in ("api_key", "remove_key")]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("api_key") and data.get("remove_key"):
            self.add_error("remove_key", "Either remove the stored key, or give another one.")
        return data

    def values(self) -> dict[str, Any]:
        """What ``operations.create_connection`` and ``update_connection`` take; no key means that it stays."""
        chosen = {name: self.cleaned_data[name] for name in self.stored_fields()}
        key = self.cleaned_data["api_key"]
        return chosen | ({"api_key": key} if key or self.cleaned_data.get("remove_key") else {})

    def unsaved_connection(self, owner: Any) -> Connection:
        """The server as the form names it, to be asked something; what is not valid in it is left out.

        The stored key goes with it to the server that it was given for alone. Raises Invalid.
        """
        known = {"backend", "base_url", "timeout"} & self.cleaned_data.keys()
        connection = Connection(owner_id=owner.pk, **{name: self.cleaned_data[name] for name in known})
        if key := self.cleaned_data.get("api_key"):
            operations.set_key(connection, key)
        elif self.connection and not self.cleaned_data.get("remove_key"):
            connection.api_key = self.connection.api_key if leads_to(self.connection, connection.base_url) else b""
        return connection

    def add_problem(self, problem: Problem) -> None:
        """Show what an operation found wrong, at its fields where it names them."""
        for error in problem.errors:
            name = error.pointer.removeprefix("/")
            self.add_error(name if name in self.fields else None, error.detail)
        if not problem.errors:
            self.add_error(None, problem.detail)


def leads_to(connection: Connection, base_url: str) -> bool:
    """Whether the address is one of the connection's own server."""
    try:
        checked = operations.address_policy().checked_url(base_url)
    except AddressNotAllowed:
        return False
    return operations.origin_of(str(checked)) == operations.origin_of(connection.base_url)


class UseForm(forms.Form):
    """Whether a connection is used for something: ``purpose`` names what, ``used`` says on or off."""

    purpose = forms.ChoiceField(choices=[("generation", "memories"), ("embeddings", "search vectors")])
    used = forms.BooleanField(required=False)

    def uses(self) -> dict[str, bool]:
        """What ``operations.use_for`` takes."""
        return {self.cleaned_data["purpose"]: self.cleaned_data["used"]}


class LimitForm(forms.Form):
    daily_tokens = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=10**15,
        label="Your daily limit",
        help_text="Tokens; your models are asked no more that day when it is reached. Empty: no limit of your own.",
    )
