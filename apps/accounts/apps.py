from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "apps.accounts"

    def ready(self) -> None:
        from apps.accounts import checks  # noqa: F401 - registers them
        from apps.common.on_demand import on_demand
        from apps.common.pages.settings_index import indexed_settings

        indexed_settings.register(on_demand("apps.accounts.settings_pages:account_settings"))
