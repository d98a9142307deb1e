from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("llm", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="tokenlimit",
            name="own_daily_tokens",
            field=models.PositiveBigIntegerField(
                blank=True, help_text="Set by the user. It counts where it is lower.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="tokenlimit",
            name="daily_tokens",
            field=models.PositiveBigIntegerField(
                blank=True,
                help_text="Set by the operator. Empty: as the installation gives everybody; 0: no limit.",
                null=True,
            ),
        ),
    ]
