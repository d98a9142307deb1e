from django.apps import AppConfig


class SyncConfig(AppConfig):
    name = "apps.sync"

    def ready(self) -> None:
        from apps.accounts.signals import token_revoked
        from apps.chats.signals import chat_changed, chat_list_changed
        from apps.common.jobs import job_changed
        from apps.extraction.models import ExtractionRun
        from apps.sync.live import (
            notify_chat_changed,
            notify_chat_list_changed,
            notify_run_changed,
            notify_token_revoked,
        )

        chat_changed.connect(notify_chat_changed)
        chat_list_changed.connect(notify_chat_list_changed)
        token_revoked.connect(notify_token_revoked)
        job_changed.connect(notify_run_changed, sender=ExtractionRun)
