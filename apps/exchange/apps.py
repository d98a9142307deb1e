from django.apps import AppConfig


class ExchangeConfig(AppConfig):
    name = "apps.exchange"

    def ready(self) -> None:
        from apps.chats.models import ImportJob
        from apps.common.jobs import Kind, kinds
        from apps.common.on_demand import on_demand
        from apps.prompts.signals import recall_changed

        execute = on_demand("apps.exchange.tasks:execute_import_job")
        kinds.register(Kind(ImportJob, "indexing", execute, on_demand("apps.exchange.tasks:send_import_job")))
        recall_changed.connect(on_demand("apps.exchange.memories.recalls:write_recall"))
