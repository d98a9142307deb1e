from django.apps import AppConfig


class ChatsConfig(AppConfig):
    name = "apps.chats"

    def ready(self) -> None:
        from apps.chats.models import ImportJob
        from apps.common.jobs import Kind, kinds
        from apps.common.on_demand import on_demand

        execute = on_demand("apps.chats.tasks:execute_import_job")
        kinds.register(Kind(ImportJob, "indexing", execute, on_demand("apps.chats.tasks:send_import_job")))
