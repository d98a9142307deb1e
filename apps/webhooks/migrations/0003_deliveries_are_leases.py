from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0002_tests_of_webhooks"), ("common", "0005_one_lease")]

    operations = [migrations.RemoveField(model_name="webhook", name="claimed_until")]
