# SPDX-License-Identifier: Apache-2.0
"""The ordinary life of SQLAlchemy with Alembic and of Django: tables are made, rows written and read, the schema is read back, and
migrations go up and down. One JSON line for each check, as checks.py prints them. The database is empty at the begin."""
import datetime
import decimal
import io
import os
import sys
import tempfile
import urllib.parse
import uuid

from checks import report, same

HOST, PORT, USER, PASSWORD, DATABASE = (os.environ["DRV_" + k] for k in ("HOST", "PORT", "USER", "PASSWORD", "DATABASE"))
DAY = datetime.date(2020, 2, 3)
MOMENT = datetime.datetime(2020, 2, 3, 4, 5, 6, 789000)
AMOUNT = decimal.Decimal("1.2345")


class Undone(Exception):
    """Ends a transaction that is to be taken back."""


class SQLAlchemy:
    """Over a DB-API driver's dialect."""

    def __init__(self, url):
        import sqlalchemy as sa
        from sqlalchemy import orm

        self.sa, self.orm, self.url = sa, orm, url
        self.engine = sa.create_engine(url)
        self.meta = sa.MetaData()
        base = orm.declarative_base(metadata=self.meta)

        class Customer(base):
            __tablename__ = "customer"
            __table_args__ = (sa.CheckConstraint("age >= 0", name="ck_age"), sa.Index("ix_name", "name", mssql_include=["age"]),
                              sa.Index("ux_mail", "mail", unique=True, mssql_where=sa.text("mail IS NOT NULL")), {"comment": "of the shop"})
            id = sa.Column(sa.Integer, primary_key=True)
            name = sa.Column(sa.Unicode(50), nullable=False, comment="the name")
            mail = sa.Column(sa.Unicode(100))
            age = sa.Column(sa.SmallInteger, server_default="18")
            orders = orm.relationship("Order", back_populates="customer", cascade="all, delete-orphan")

        class Order(base):
            __tablename__ = "order"
            id = sa.Column(sa.BigInteger, sa.Identity(start=100, increment=10), primary_key=True)
            customer_id = sa.Column(sa.ForeignKey("customer.id", ondelete="CASCADE", name="fk_customer"), index=True, nullable=False)
            amount = sa.Column(sa.Numeric(12, 4))
            key = sa.Column(sa.Uuid, unique=True)
            doc = sa.Column(sa.JSON)
            body = sa.Column(sa.LargeBinary)
            text = sa.Column(sa.UnicodeText)
            done = sa.Column(sa.Boolean, default=False)
            day = sa.Column(sa.Date)
            customer = orm.relationship("Customer", back_populates="orders")

        self.Customer, self.Order = Customer, Order

    def tables(self):
        same(self.engine.dialect.server_version_info or self.connected(), (16, 0, 4000, 0))
        self.meta.create_all(self.engine)
        self.meta.create_all(self.engine)

    def connected(self):
        with self.engine.connect():
            return self.engine.dialect.server_version_info

    def rows(self):
        sa, Customer, Order = self.sa, self.Customer, self.Order
        with self.orm.Session(self.engine) as s:
            keys = [uuid.uuid4() for _ in range(3)]
            s.add(Customer(name="Anna ü", mail="a@x", orders=[Order(amount=AMOUNT, key=k, doc={"a": [1, "ü"]}, body=b"\0\1", text="ü" * 5000, day=DAY) for k in keys]))
            s.add_all([Customer(name="n%d" % i) for i in range(60)])
            s.commit()
            first = s.scalars(sa.select(Order).order_by(Order.id)).first()
            same((first.id, first.amount, first.key, first.doc, first.body, len(first.text), first.done, first.day),
                 (100, AMOUNT, keys[0], {"a": [1, "ü"]}, b"\0\1", 5000, False, DAY))
            same([c.name for c in s.scalars(sa.select(Customer).order_by(Customer.id).limit(2).offset(2))], ["n1", "n2"])
            s.execute(sa.update(Customer).where(Customer.name.like("n1%")).values(age=Customer.age + 1))
            same([tuple(r) for r in s.execute(sa.select(Customer.age, sa.func.count()).group_by(Customer.age).order_by(Customer.age))], [(18, 50), (19, 11)])
            s.delete(s.get(Customer, first.customer_id))
            s.commit()
            same(s.scalar(sa.select(sa.func.count()).select_from(Order)), 0)

    def transactions(self):
        sa, Customer = self.sa, self.Customer
        with self.orm.Session(self.engine) as s:
            before = s.scalar(sa.select(sa.func.count()).select_from(Customer))
            try:
                with s.begin_nested():
                    s.add(Customer(name="gone"))
                    s.flush()
                    raise Undone
            except Undone:
                pass
            s.add(Customer(name="kept", mail="k@x"))
            s.commit()
            s.add(Customer(name="again", mail="k@x"))
            try:
                s.commit()
                raise AssertionError("a duplicate was taken")
            except sa.exc.IntegrityError:
                s.rollback()
            same(s.scalar(sa.select(sa.func.count()).select_from(Customer)), before + 1)

    def reflection(self):
        seen = self.sa.inspect(self.engine)
        same(sorted(seen.get_table_names()), ["customer", "order"])
        same([(c["name"], c["nullable"]) for c in seen.get_columns("customer")], [("id", False), ("name", False), ("mail", True), ("age", True)])
        same(seen.get_table_comment("customer")["text"], "of the shop")
        same([(k["name"], k["constrained_columns"], k["referred_table"], k["options"]) for k in seen.get_foreign_keys("order")],
             [("fk_customer", ["customer_id"], "customer", {"ondelete": "CASCADE"})])
        same(sorted((i["name"], i["unique"]) for i in seen.get_indexes("customer")), [("ix_name", False), ("ux_mail", True)])

    def migration(self):
        from alembic.autogenerate import compare_metadata
        from alembic.migration import MigrationContext
        from alembic.operations import Operations

        sa = self.sa
        with self.engine.begin() as c:
            context = MigrationContext.configure(c)
            same(compare_metadata(context, self.meta), [])
            op = Operations(context)
            op.create_table("extra", sa.Column("id", sa.Integer, primary_key=True), sa.Column("customer", sa.Integer), sa.Column("old", sa.Integer, server_default="3"))
            op.create_foreign_key("fk_extra", "extra", "customer", ["customer"], ["id"])
            op.create_unique_constraint("uq_extra", "extra", ["customer", "id"])
            op.bulk_insert(sa.table("extra", sa.column("customer", sa.Integer)), [{"customer": None}, {"customer": None}])
            op.add_column("extra", sa.Column("word", sa.String(10), server_default="q", nullable=False))
            op.alter_column("extra", "word", new_column_name="text", existing_type=sa.String(10), existing_nullable=False)
            op.alter_column("extra", "text", type_=sa.String(30), existing_type=sa.String(10), existing_nullable=False)
            op.drop_column("extra", "old", mssql_drop_default=True)
            op.rename_table("extra", "renamed")
            same(sorted(d[1].name for d in compare_metadata(context, self.meta) if d[0] == "remove_table"), ["renamed"])
            same(c.scalar(sa.text("SELECT MAX(text) FROM renamed")), "q")
            op.drop_constraint("uq_extra", "renamed")
            op.drop_constraint("fk_extra", "renamed", type_="foreignkey")
            op.drop_table("renamed")
            same(compare_metadata(context, self.meta), [])
        self.meta.drop_all(self.engine)


MODELS = '''
from django.db import models


class Author(models.Model):
    name = models.CharField(max_length=50, db_index=True)
    mail = models.EmailField(null=True, unique=True)

    class Meta:
        app_label = "shop"
        constraints = [models.CheckConstraint(condition=~models.Q(name=""), name="ck_name")]
        indexes = [models.Index(fields=["-name"], name="ix_desc")]


class Book(models.Model):
    title = models.CharField(max_length=100)
    author = models.ForeignKey(Author, models.CASCADE, related_name="books")
    price = models.DecimalField(max_digits=10, decimal_places=4)
    at = models.DateTimeField(null=True)
    day = models.DateField(null=True)
    lasts = models.DurationField(null=True)
    key = models.UUIDField(null=True)
    doc = models.JSONField(null=True)
    body = models.BinaryField(null=True)
    text = models.TextField(default="")

    class Meta:
        app_label = "shop"
'''

SECOND = '''
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [
        migrations.AddField("book", "color", models.CharField(max_length=10, default="red")),
        migrations.AlterField("book", "color", models.CharField(max_length=30, null=True)),
        migrations.RenameField("author", "mail", "email"),
        migrations.AlterField("book", "title", models.CharField(max_length=200, db_index=True)),
        migrations.RemoveIndex("author", "ix_desc"),
        migrations.AddConstraint("book", models.CheckConstraint(condition=models.Q(price__gte=0), name="ck_price")),
        migrations.CreateModel("Extra", [("id", models.AutoField(primary_key=True)), ("x", models.IntegerField(unique=True, null=True))]),
        migrations.RenameModel("Extra", "More"),
    ]
'''


class Django:
    """With mssql-django over Microsoft's ODBC driver."""

    def __init__(self):
        import django
        from django.conf import settings

        folder = tempfile.mkdtemp()
        os.makedirs(os.path.join(folder, "shop", "migrations"))
        for name, text in (("__init__", ""), ("models", MODELS), ("migrations/__init__", "")):
            with open(os.path.join(folder, "shop", name + ".py"), "w", encoding="utf-8") as f:
                f.write(text)
        self.second = os.path.join(folder, "shop", "migrations", "0002_second.py")
        sys.path.insert(0, folder)
        settings.configure(USE_TZ=False, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
                           INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "shop"],
                           DATABASES={"default": {"ENGINE": "mssql", "NAME": DATABASE, "USER": USER, "PASSWORD": PASSWORD, "HOST": HOST, "PORT": PORT,
                                                  "OPTIONS": {"driver": "ODBC Driver 18 for SQL Server", "extra_params": "TrustServerCertificate=yes"}}})
        django.setup()
        from shop.models import Author, Book

        self.Author, self.Book = Author, Book

    @staticmethod
    def command(*arguments, **options):
        from django.core.management import call_command

        out = io.StringIO()
        call_command(*arguments, stdout=out, stderr=out, **options)
        return out.getvalue()

    def tables(self):
        self.command("makemigrations", "shop")
        self.command("migrate")

    def rows(self):
        from django.db.models import Avg, Count, Exists, F, OuterRef, Window
        from django.db.models.functions import ExtractWeekDay, RowNumber, TruncMonth

        Author, Book, key = self.Author, self.Book, uuid.uuid4()
        anna = Author.objects.create(name="Anna ü", mail="a@x")
        Author.objects.bulk_create([Author(name="n%d" % i) for i in range(300)])
        for i in range(3):
            Book.objects.create(title="b%d" % i, author=anna, price=AMOUNT, at=MOMENT, day=DAY, lasts=datetime.timedelta(days=3, seconds=2), key=key,
                                doc={"n": i, "k": [1, {"z": "x"}]}, body=b"\0\1", text="ü" * 5000)
        b = Book.objects.get(title="b1")
        same((b.price, b.at, b.day, b.lasts, b.key, b.doc["k"], bytes(b.body), len(b.text)),
             (AMOUNT, MOMENT, DAY, datetime.timedelta(days=3, seconds=2), key, [1, {"z": "x"}], b"\0\1", 5000))
        same(Book.objects.filter(doc__n=1).count() + Book.objects.filter(doc__k__1__z="x").count(), 4)
        same(list(Author.objects.annotate(n=Count("books"), mean=Avg("books__price")).filter(n__gt=0).values_list("n", "mean")), [(3, decimal.Decimal(float(AMOUNT)))])
        same(list(Book.objects.annotate(m=TruncMonth("at"), w=ExtractWeekDay("at")).values_list("m", "w").distinct()), [(datetime.datetime(2020, 2, 1), 2)])
        same(list(Book.objects.annotate(r=Window(RowNumber(), order_by="-title")).values_list("r", flat=True)), [1, 2, 3])
        same(Author.objects.filter(Exists(Book.objects.filter(author=OuterRef("pk")))).count(), 1)
        same([x.author.name for x in Book.objects.select_related("author").order_by("title")[1:3]], ["Anna ü"] * 2)
        same(Book.objects.update(price=F("price") + 1), 3)
        same(Author.objects.filter(name__startswith="n1").delete()[0], 111)

    def transactions(self):
        from django.db import IntegrityError, transaction

        Author, before = self.Author, self.Author.objects.count()
        try:
            with transaction.atomic():
                Author.objects.create(name="x", mail="x@x")
                try:
                    with transaction.atomic():
                        Author.objects.create(name="y", mail="x@x")
                    raise AssertionError("a duplicate was taken")
                except IntegrityError:
                    pass
                same(Author.objects.select_for_update().filter(mail="x@x").count(), 1)
                raise Undone
        except Undone:
            pass
        same(Author.objects.count(), before)

    def reflection(self):
        from django.db import connection

        with connection.cursor() as c:
            found = connection.introspection.get_constraints(c, "shop_author")
        same((found["ix_desc"]["columns"], found["ix_desc"]["orders"], found["ck_name"]["columns"]), (["name"], ["DESC"], ["name"]))
        told = self.command("inspectdb", "shop_author", "shop_book")
        if "author = models.ForeignKey(ShopAuthor" not in told:
            raise AssertionError(told)

    def migration(self):
        with open(self.second, "w", encoding="utf-8") as f:
            f.write(SECOND)
        from django.db import connection

        self.command("migrate", "shop")
        same("shop_more" in connection.introspection.table_names(), True)
        self.command("migrate", "shop", "0001")
        same("shop_more" in connection.introspection.table_names(), False)
        self.command("flush", interactive=False)
        same(self.Author.objects.count(), 0)
        self.command("migrate", "shop", "zero")


def made(name):
    at = "%s:%s@%s:%s/%s" % (USER, urllib.parse.quote_plus(PASSWORD), HOST, PORT, DATABASE)
    if name == "sqlalchemy-pymssql":
        return SQLAlchemy("mssql+pymssql://" + at)
    if name == "sqlalchemy-pyodbc":
        return SQLAlchemy("mssql+pyodbc://" + at + "?driver=msodbcsql&TrustServerCertificate=yes")
    return Django()


if __name__ == "__main__":
    tool = made(sys.argv[1])
    for check in ("tables", "rows", "transactions", "reflection", "migration"):
        try:
            getattr(tool, check)()
            report(check, "pass")
        except Exception as e:  # noqa: BLE001
            report(check, "fail", "%s: %s" % (type(e).__name__, e))
