from django.apps import AppConfig


class JournalConfig(AppConfig):
    name = "apps.journal"

    def ready(self) -> None:
        from apps.chats.signals import chat_purged
        from apps.journal.purging import on_chat_purged

        chat_purged.connect(on_chat_purged)
