from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("sync", "0001_initial"), ("common", "0005_one_lease")]

    operations = [migrations.DeleteModel(name="OpenStream")]
