"""Forms of the pages of webhooks."""

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.common.words import Words
from apps.webhooks.models import Event

EVENTS: list[tuple[str, Words]] = [
    (Event.MEMORY_ADDED.value, _("A memory was added")),
    (Event.MEMORY_CHANGED.value, _("A memory was changed")),
    (Event.RUN_ENDED.value, _("A reading of a chat has ended")),
    (Event.RECALL_MADE.value, _("Something was recalled for a turn")),
]


class WebhookForm(forms.Form):
    """Form of a new webhook."""

    url = forms.CharField(
        max_length=500,
        label=_("Address"),
        widget=forms.URLInput({"placeholder": "https://example.com/loci", "autocomplete": "off"}),
        help_text=_("Loci sends it a POST request with ids, signed with a secret."),
    )
    events = forms.MultipleChoiceField(
        choices=EVENTS, label=_("When"), widget=forms.CheckboxSelectMultiple, initial=[Event.MEMORY_ADDED.value]
    )


class WebhookEditForm(WebhookForm):
    """Form of a webhook that is there."""

    active = forms.BooleanField(required=False, label=_("On"))
