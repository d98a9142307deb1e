from django.apps import AppConfig
from django.core.checks import register


class AccountsConfig(AppConfig):
    name = "apps.accounts"

    def ready(self) -> None:
        from apps.common.on_demand import on_demand
        from apps.common.pages.settings_index import indexed_settings

        for check in ("check_rates", "check_sign_up"):
            register(on_demand(f"apps.accounts.checks:{check}"))
        indexed_settings.register(on_demand("apps.accounts.settings_pages:account_settings"))
