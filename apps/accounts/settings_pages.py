"""The pages of settings, with a sentence of what each is for."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from apps.common.pages.settings_index import IndexedSetting
from apps.common.words import Words


@dataclass(frozen=True)
class SettingsPage:
    """A link of the settings: its name, what it is for, and the name of its URL."""

    label: Words
    about: Words
    view: str

    @property
    def url(self) -> str:
        """Return the address of the page."""
        return reverse(self.view)


@dataclass(frozen=True)
class PageGroup:
    """Pages that belong together."""

    label: Words
    pages: tuple[SettingsPage, ...]


CHATTING = PageGroup(
    _("Chats and replies"),
    (
        SettingsPage(_("Personas"), _("The roles that you play: name, description and picture."), "personas:index"),
        SettingsPage(
            _("How replies are written"),
            _("Temperature, length and instructions for your model. Takes SillyTavern’s presets."),
            "replies:presets",
        ),
    ),
)
MEMORY = PageGroup(
    _("Memory in detail"),
    (
        SettingsPage(
            _("Everything about memory"),
            _("When messages are read, which kinds are kept, and every limit."),
            "memory-settings:memory",
        ),
        SettingsPage(
            _("Memory in the prompt"),
            _("How much of what is remembered the model gets to read, and where it stands."),
            "prompts:settings",
        ),
        SettingsPage(
            _("Extraction prompts"), _("The words by which a model is asked what to keep."), "memory-settings:prompts"
        ),
        SettingsPage(
            _("Suitability test"),
            _("How well your model reads, measured on texts of ours."),
            "memory-settings:model-tests",
        ),
    ),
)
PROGRAMS = PageGroup(
    _("Other programs"),
    (
        SettingsPage(
            _("API tokens"), _("For SillyTavern, Open WebUI, Claude and your own programs."), "settings:tokens"
        ),
        SettingsPage(
            _("Shared memory"),
            _("Programs that keep a copy of your memories, also offline, and what they and you both changed."),
            "instances:index",
        ),
        SettingsPage(
            _("Webhooks"), _("Addresses that are called when a memory or a chat of yours changes."), "webhooks:index"
        ),
    ),
)
SAFETY = PageGroup(
    _("Your data and your account"),
    (
        SettingsPage(
            _("Snapshots"),
            _("Everything you have as one file, and the way back to an earlier state."),
            "snapshots:index",
        ),
        SettingsPage(_("What you use"), _("Chats, messages, files, and the room they take."), "usage"),
        SettingsPage(_("Moderation"), _("Your reports, and decisions about what you wrote."), "moderation:index"),
        SettingsPage(_("Two-step sign-in"), _("A code or a key besides your password."), "mfa_index"),
        SettingsPage(
            _("Where you are signed in"), _("Browsers and devices, and how to end their sessions."), "usersessions_list"
        ),
        SettingsPage(
            _("Delete my account"),
            _("With all that is in it. You have days to think better of it."),
            "settings:closing",
        ),
    ),
)
GROUPS = (CHATTING, MEMORY, PROGRAMS, SAFETY)

# What stands on the page of settings itself: a label, what it does, and where.
ON_THE_PAGE = (
    (_("Name"), _("How Loci calls you."), "you"),
    (_("Language"), _("Of these pages."), "you"),
    (_("Time zone"), _("In which days and hours are shown."), "you"),
    (_("Email"), _("The address that you sign in with."), "you"),
    (_("Key that sends"), _("Enter, or Ctrl and Enter."), "writing"),
    (_("Reply at once"), _("Whether sending a message asks your model for a reply."), "writing"),
    (_("Password"), _("Change or set it."), "security"),
)


def account_settings() -> Iterator[IndexedSetting]:
    """Yield what the page of settings has, and each page that it links to."""
    home = reverse("settings:index")
    for label, about, anchor in ON_THE_PAGE:
        yield IndexedSetting(label, about, _("Settings"), f"{home}#{anchor}")
    yield IndexedSetting(
        _("Models"), _("Connections to model servers, their keys and prices."), _("Settings"), reverse("llm:index")
    )
    for group in GROUPS:
        for page in group.pages:
            yield IndexedSetting(page.label, page.about, group.label, page.url)
