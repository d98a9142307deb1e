from django.apps import AppConfig


class JournalConfig(AppConfig):
    name = "apps.journal"
