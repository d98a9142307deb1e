from django.apps import AppConfig


class SyncConfig(AppConfig):
    name = "apps.sync"

    def ready(self) -> None:
        from apps.accounts.signals import token_revoked
        from apps.chats.signals import chat_changed, chat_list_changed
        from apps.common.jobs import job_changed
        from apps.extraction.models import ExtractionRun
        from apps.memories.signals import tombstones_changed
        from apps.sync.live import (
            notify_chat_changed,
            notify_chat_list_changed,
            notify_run_changed,
            notify_token_revoked,
            notify_tombstones_changed,
        )

        chat_changed.connect(notify_chat_changed)
        chat_list_changed.connect(notify_chat_list_changed)
        token_revoked.connect(notify_token_revoked)
        tombstones_changed.connect(notify_tombstones_changed)
        job_changed.connect(notify_run_changed, sender=ExtractionRun)
