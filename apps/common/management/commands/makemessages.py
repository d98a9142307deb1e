"""``manage.py makemessages``: Django's command, which also finds the texts of ``gettext_stored``."""

from django.core.management.commands import makemessages


class Command(makemessages.Command):
    """Write the texts of the code into the catalogues."""

    xgettext_options = [
        *makemessages.Command.xgettext_options,
        "--keyword=gettext_stored",
        "--keyword=ngettext_stored:1,2",
    ]
