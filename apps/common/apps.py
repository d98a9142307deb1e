from django.apps import AppConfig
from django.core import checks
from django.db.models.signals import post_migrate


class CommonConfig(AppConfig):
    name = "apps.common"

    def ready(self) -> None:
        from apps.common.ownership.partitioning import check_owners
        from apps.common.ownership.row_security import secure_database

        checks.register(check_owners, checks.Tags.models)
        post_migrate.connect(secure_database, sender=self)
