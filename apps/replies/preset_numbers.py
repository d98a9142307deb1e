"""Numbers of a generation preset, for its model, its form, its API and presets of SillyTavern.

None is the server's own value.
"""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from apps.common.settings.declarations import Group, Schema, declared, setting

SAMPLING = Group(_("How replies are written"))


@dataclass(frozen=True)
class Numbers:
    """Defaults of a user without a preset."""

    temperature: float = setting(
        0.8, SAMPLING, _("Temperature"), _("From 0, the likeliest words, to 2."), low=0, high=2.0
    )
    top_p: float | None = setting(
        None,
        SAMPLING,
        _("Top-p"),
        _("Chooses from the likeliest words that have this share together, up to 1. Empty: the server’s own."),
        low=0,
        high=1,
    )
    top_k: int | None = setting(
        None,
        SAMPLING,
        _("Top-k"),
        _("Chooses from so many of the likeliest words; 0: no limit. Empty: the server’s own."),
        low=0,
        high=1000,
    )
    min_p: float | None = setting(
        None,
        SAMPLING,
        _("Min-p"),
        _("Leaves out words less likely than this share of the likeliest one. Empty: the server’s own."),
        low=0,
        high=1,
    )
    repetition_penalty: float | None = setting(
        None,
        SAMPLING,
        _("Repetition penalty"),
        _("Above 1, words already used become less likely. Empty: the server’s own."),
        low=0.01,  # servers refuse 0, by which they would divide
        high=2.0,
    )
    max_tokens: int = setting(
        1000,
        SAMPLING,
        _("Longest reply, in tokens"),
        _("At most half of the connection’s context is used."),
        low=1,
        high=1_000_000,
    )


NUMBERS = Schema(declared(Numbers))
