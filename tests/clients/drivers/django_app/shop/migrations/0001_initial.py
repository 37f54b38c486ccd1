import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """The tables as they were first; the next migration alters them."""

    initial = True
    operations = [
        migrations.CreateModel("Author", [
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("name", models.CharField(max_length=20))]),
        migrations.CreateModel("Book", [
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("name", models.CharField(max_length=100)),
            ("price", models.IntegerField()),
            ("tags", django.contrib.postgres.fields.ArrayField(models.CharField(max_length=10), default=list)),
            ("author", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="shop.author"))]),
    ]
