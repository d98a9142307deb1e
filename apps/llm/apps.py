from django.apps import AppConfig

from apps.llm.builtin import BuiltinBackend
from apps.llm.generation import register_backend


class LlmConfig(AppConfig):
    name = "apps.llm"
    label = "llm"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        register_backend(BuiltinBackend.name, BuiltinBackend)
