from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0003_earlier_runs")]

    operations = [
        migrations.RemoveField(model_name="runstep", name="position"),
        migrations.RemoveField(model_name="runstep", name="reply"),
        migrations.AlterField(
            model_name="runstep",
            name="window",
            field=models.CharField(help_text="Which messages were read, as they were.", max_length=64),
        ),
        migrations.AddConstraint(
            model_name="runstep",
            constraint=models.UniqueConstraint(
                fields=("run", "stage", "window", "character"), name="step_once_a_run", nulls_distinct=False
            ),
        ),
    ]
