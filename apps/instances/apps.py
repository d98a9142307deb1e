from django.apps import AppConfig


class InstancesConfig(AppConfig):
    name = "apps.instances"
