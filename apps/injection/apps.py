from django.apps import AppConfig


class InjectionConfig(AppConfig):
    name = "apps.injection"
    label = "injection"
    default_auto_field = "django.db.models.BigAutoField"
