from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("extraction", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="extractionrun",
            name="asked",
            field=models.BooleanField(default=False, help_text="Whether a person asked for it and waits."),
        ),
    ]
