from django.apps import AppConfig


class ChatsConfig(AppConfig):
    name = "apps.chats"

    def ready(self) -> None:
        from apps.chats import tasks
        from apps.chats.models import ImportJob
        from apps.common.jobs import Kind, kinds

        kinds.register(Kind(ImportJob, "indexing", tasks.execute_import_job, tasks.send_import_job))
