"""An application on Django: migrations of all contrib apps and its own, the admin, queries, inspectdb, an altering migration."""
import io
import os
import sys
from pathlib import Path

import django
from django.conf import settings

here = Path(__file__).parent
settings.configure(
    SECRET_KEY="test", DEBUG=True, USE_TZ=True, ROOT_URLCONF="shop.urls", ALLOWED_HOSTS=["*"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"], "USER": os.environ["PGUSER"],
                           "PASSWORD": os.environ.get("PGPASSWORD", ""), "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"]}},
    INSTALLED_APPS=["django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
                    "django.contrib.messages", "django.contrib.postgres", "shop"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
                "django.contrib.messages.middleware.MessageMiddleware"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {"context_processors": [
        "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages"]}}],
    MIGRATION_MODULES={"shop": "shop.migrations"})
sys.path.insert(0, str(here))
django.setup()

import datetime
import decimal

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import Avg, Count, Exists, F, OuterRef, Q, Sum, Window
from django.db.models.functions import Lower, Rank, TruncMonth
from django.test import Client
from shop.models import Author, Book, Review

call_command("migrate", verbosity=0)
call_command("migrate", "shop", "0001", verbosity=0)
call_command("migrate", verbosity=0)
call_command("makemigrations", "--check", "--dry-run", verbosity=0)

authors = [Author.objects.create(name=n) for n in ("Ada", "Bob", "Cy")]
Book.objects.bulk_create([
    Book(title=f"Book {i}", author=authors[i % 3], price=decimal.Decimal(i), published=datetime.date(2024, 1 + i % 12, 1),
         tags=["x", f"t{i % 2}"], data={"pages": i * 10, "lang": "nl" if i % 2 else "en"}) for i in range(60)])
assert Book.objects.count() == 60
Review.objects.bulk_create([Review(book=b, stars=b.pk % 5 + 1) for b in Book.objects.all()])
assert Book.objects.filter(title__icontains="book 1", author__name="Bob").count() == 5
assert Book.objects.filter(data__lang="nl", data__pages__gt=300).count() == 15
assert Book.objects.filter(tags__contains=["t1"]).count() == 30 and Book.objects.filter(tags__overlap=["t0", "t1"]).count() == 60
per = Author.objects.annotate(n=Count("book"), total=Sum("book__price", filter=Q(book__price__gte=10))).order_by("name")
assert [(a.name, a.n) for a in per] == [("Ada", 20), ("Bob", 20), ("Cy", 20)]
months = Book.objects.annotate(m=TruncMonth("published")).values("m").annotate(n=Count("id")).order_by("m")
assert [r["n"] for r in months] == [5] * 12
ranked = Book.objects.annotate(r=Window(Rank(), partition_by=F("author"), order_by=F("price").desc())).filter(r=1)
assert sorted(b.price for b in ranked) == [57, 58, 59]
good = Author.objects.filter(Exists(Review.objects.filter(book__author=OuterRef("pk"), stars=5)))
assert good.count() == 3
assert Book.objects.filter(author__name__in=["Ada"]).aggregate(Avg("review__stars"))["review__stars__avg"] is not None
assert Book.objects.select_related("author").get(title="Book 4").author.name == "Bob"
assert Book.objects.order_by(Lower("title")).prefetch_related("review_set").first().review_set.count() == 1
Book.objects.filter(price__lt=5).update(price=F("price") + 100)
assert Book.objects.filter(price__gte=100).count() == 5
with transaction.atomic():
    locked = Book.objects.select_for_update(skip_locked=True).get(title="Book 9")
    try:
        with transaction.atomic():
            Book.objects.create(title="Book 9", author=authors[0], price=1)
        raise SystemExit("no error")
    except IntegrityError as e:
        assert e.__cause__.sqlstate == "23505"
    try:
        with transaction.atomic():
            Book.objects.create(title="free", author=authors[0], price=-1)
        raise SystemExit("no error")
    except IntegrityError as e:
        assert e.__cause__.diag.constraint_name == "price_positive"
book, made = Book.objects.update_or_create(title="Book 9", defaults={"price": 77})
assert not made and Book.objects.get(title="Book 9").price == 77
Book.objects.bulk_create([Book(title="Book 9", author=authors[0], price=3)], update_conflicts=True, unique_fields=["title"], update_fields=["price"])
assert Book.objects.get(title="Book 9").price == 3
assert len(list(Book.objects.iterator(chunk_size=7))) == 60  # a cursor of the server
assert "shop_book" in Book.objects.filter(title="Book 9").explain(analyze=True)
authors[2].delete()
assert Book.objects.count() == 40 and Review.objects.count() == 40

User.objects.create_superuser("root", "root@example.com", "secret")
client = Client()
assert client.login(username="root", password="secret")
page = client.get("/admin/shop/book/?q=book+1&author__id__exact=%d&o=-2" % authors[0].pk)
assert page.status_code == 200 and b"Book 12" in page.content, page.status_code
page = client.post("/admin/shop/book/add/", {"title": "by admin", "author": authors[0].pk, "price": "4.5", "published": "2024-05-06",
                                             "tags": "a,b", "data": '{"pages": 1}'})
assert page.status_code == 302, page.status_code
assert Book.objects.get(title="by admin").tags == ["a", "b"]
assert client.get("/admin/").status_code == 200  # shows the log of what was done

out = io.StringIO()
call_command("inspectdb", "shop_book", "shop_review", "auth_user", stdout=out)
text = out.getvalue()
for line in ("title = models.CharField(unique=True, max_length=100)", "author = models.ForeignKey('ShopAuthor', models.DO_NOTHING)",
             "price = models.DecimalField(max_digits=8, decimal_places=2)", "data = models.JSONField()",
             "username = models.CharField(unique=True, max_length=150)"):
    assert line in text, (line, text)
assert "shop_book" in connection.introspection.table_names()
call_command("flush", "--no-input", verbosity=0)
assert Book.objects.count() == 0
call_command("migrate", "shop", "zero", verbosity=0)
print("django: ok")
