from django.apps import AppConfig


class SyncConfig(AppConfig):
    name = "apps.sync"

    def ready(self) -> None:
        from apps.accounts.signals import token_revoked
        from apps.chats.signals import chat_changed, chat_erased, chat_list_changed
        from apps.common.jobs import job_changed
        from apps.common.on_demand import on_demand
        from apps.extraction.models import ExtractionRun
        from apps.memories.signals import namespace_erased, tombstones_changed

        chat_changed.connect(on_demand("apps.sync.live:notify_chat_changed"))
        chat_list_changed.connect(on_demand("apps.sync.live:notify_chat_list_changed"))
        token_revoked.connect(on_demand("apps.sync.live:notify_token_revoked"))
        tombstones_changed.connect(on_demand("apps.sync.live:notify_tombstones_changed"))
        for erased in (chat_erased, namespace_erased):
            erased.connect(on_demand("apps.sync.idempotency:drop_bodies_of_namespace"))
        job_changed.connect(on_demand("apps.sync.live:notify_run_changed"), sender=ExtractionRun)
