from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from apps.llm.addresses import AddressPolicy
from apps.llm.builtin import BuiltinBackend
from apps.llm.generation import register_backend


class LlmConfig(AppConfig):
    name = "apps.llm"
    label = "llm"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        register_backend(BuiltinBackend.name, BuiltinBackend)
        try:
            AddressPolicy.parse(settings.LLM_ALLOWED_ADDRESSES)
        except ValueError as error:
            raise ImproperlyConfigured(f"LLM_ALLOWED_ADDRESSES: {error}") from error
