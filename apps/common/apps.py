from django.apps import AppConfig
from django.db.models.signals import post_migrate


class CommonConfig(AppConfig):
    name = "apps.common"

    def ready(self) -> None:
        from apps.common.row_security import secure_database

        post_migrate.connect(secure_database, sender=self)
