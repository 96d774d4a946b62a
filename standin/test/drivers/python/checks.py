# SPDX-License-Identifier: Apache-2.0
"""What a DB-API driver must be able to do against the server. Prints one JSON line for each check; drivers.py has the
drivers' own ways. The harness (harness_test.go) makes the database, its tables and procedures."""
import datetime
import decimal
import json
import os
import threading
import time


class Absent(Exception):
    """The driver has no such feature."""


def cases():
    with open(os.environ["DRV_TYPES"], encoding="utf-8") as f:
        return json.load(f)


def expected(case):
    return case["text"] if "text" in case else case["repeat"] * case["times"]


def canonical(case, v):
    """The value as the table of types writes it. Drivers may give coarser or finer Python types for one SQL type."""
    kind = case["kind"]
    if kind == "int":
        return str(int(v))
    if kind == "decimal":
        return format(v, "f") if isinstance(v, decimal.Decimal) else str(v)
    if kind in ("float", "real"):
        return v
    if kind == "date":
        return v.isoformat() if isinstance(v, datetime.date) else str(v)
    if kind == "time":
        return padded(v.isoformat() if isinstance(v, datetime.time) else str(v))
    if kind == "datetime":
        return padded(v.isoformat(" ") if isinstance(v, datetime.datetime) else str(v).replace("T", " "))
    if kind == "datetimeoffset":
        return offset_text(v)
    if kind == "binary":
        return bytes(v).hex()
    if kind == "guid":
        return str(v).upper()
    return v


def padded(text):
    head, _, fraction = text.partition(".")
    return head + "." + fraction.ljust(7, "0")


def offset_text(v):
    if isinstance(v, datetime.datetime):
        minutes = int(v.utcoffset().total_seconds() // 60)
        sign = "-" if minutes < 0 else "+"
        return padded(v.replace(tzinfo=None).isoformat(" ")) + " %s%02d:%02d" % (sign, abs(minutes) // 60, abs(minutes) % 60)
    head, _, zone = str(v).rpartition(" ")
    return padded(head) + " " + zone


def equal(case, v):
    want, got = expected(case), canonical(case, v)
    if case["kind"] == "float":
        return float(want) == got
    if case["kind"] == "decimal":
        return decimal.Decimal(want) == decimal.Decimal(got)
    if case["kind"] == "real":
        return abs(float(want) - got) <= abs(float(want)) * 1e-6
    if isinstance(got, str) and "." in want and case["kind"] in ("time", "datetime", "datetimeoffset"):
        # Python's times have microseconds: the seventh digit is lost where the driver gives Python's types.
        if not isinstance(v, str):
            return want[: want.index(".") + 7] == got[: got.index(".") + 7] and want[want.index(".") + 8:] == got[got.index(".") + 8:]
    return want == got


class Checks:
    """The checks, in terms of a driver's adapter."""

    def __init__(self, adapter):
        self.a = adapter

    def run(self):
        names = ["tls_optional", "tls_required", "tls_strict", "types", "parameters_by_position", "parameters_by_name",
                 "output_parameters", "result_sets", "prepared", "bulk", "transactions", "cancel", "pool_reset",
                 "error_mid_batch", "messages", "packet_sizes", "cursors", "mars"]
        for name in names:
            only = os.environ.get("DRV_ONLY")
            if only and only != name:
                continue
            try:
                getattr(self, name)()
                report(name, "pass")
            except Absent as e:
                report(name, "absent", str(e))
            except Exception as e:  # noqa: BLE001 - whatever a driver raises is a failed check
                if os.environ.get("DRV_TRACE"):
                    import traceback
                    traceback.print_exc()
                report(name, "fail", "%s: %s" % (type(e).__name__, e))

    def query(self, c, sql, *params):
        cur = c.cursor()
        cur.execute(self.a.text(sql), params) if params else cur.execute(sql)
        rows = [tuple(r) for r in cur.fetchall()]
        cur.close()
        return rows

    def execute(self, c, sql, *params):
        cur = c.cursor()
        cur.execute(self.a.text(sql), params) if params else cur.execute(sql)
        cur.close()

    def encrypted(self, mode):
        c = self.a.connect(encrypt=mode)
        rows = self.query(c, "SELECT encrypt_option, DB_NAME(), SUSER_SNAME() FROM sys.dm_exec_connections WHERE session_id = @@SPID")
        c.close()
        same(rows[0][1:], (os.environ["DRV_DATABASE"], os.environ["DRV_USER"]))
        return rows[0][0]

    def tls_optional(self):
        same(self.encrypted("optional"), "FALSE")

    def tls_required(self):
        same(self.encrypted("required"), "TRUE")

    def tls_strict(self):
        same(self.encrypted("strict"), "TRUE")

    def types(self):
        c = self.a.connect()
        wrong = []
        for case in cases():
            name = case["name"]
            reason = self.a.skipped(case)
            if reason:
                print(json.dumps({"skip": name, "reason": reason}), flush=True)
                continue
            try:
                v = self.query(c, "SELECT " + self.a.selected(case, case["sql"]))[0][0]
                if not equal(case, v):
                    wrong.append("%s reads %.60r" % (name, canonical(case, v)))
                    continue
                if self.query(c, "SELECT " + self.a.selected(case, "CAST(NULL AS %s)" % case["type"]))[0][0] is not None:
                    wrong.append("%s NULL reads otherwise" % name)
                cur = c.cursor()
                self.a.insert(cur, case, v)
                self.a.insert(cur, case, None)
                cur.close()
            except Exception as e:  # noqa: BLE001
                wrong.append("%s: %s" % (name, e))
        c.close()
        if wrong:
            raise AssertionError("; ".join(wrong))

    def parameters_by_position(self):
        c = self.a.connect()
        same(self.query(c, "SELECT CAST(? AS int) - CAST(? AS int), ?", 50, 8, "x'y"), [(42, "x'y")])
        same(self.query(c, "SELECT COUNT(*) FROM dbo.numbers WHERE n BETWEEN ? AND ?", 3, 5), [(3,)])
        c.close()

    def parameters_by_name(self):
        c = self.a.connect()
        same(self.a.by_name(c), (42, "x'y"))
        c.close()

    def output_parameters(self):
        c = self.a.connect()
        same(self.a.outputs(c), (7, 42, "grüße 𠮷"))
        c.close()

    def result_sets(self):
        c = self.a.connect()
        cur = c.cursor()
        cur.execute("EXEC dbo.p_sets")
        sets = []
        while True:
            if cur.description is not None:
                sets.append([tuple(r) for r in cur.fetchall()])
            if not cur.nextset():
                break
        same(sets, [[(1,), (2,)], [("x", "y")], []])
        c.close()

    def prepared(self):
        c = self.a.connect()
        self.execute(c, "DELETE FROM dbo.loaded")
        cur = c.cursor()
        for i in range(100):
            cur.execute(self.a.text("INSERT INTO dbo.loaded (id, name) VALUES (?, ?)"), (i, "n%d" % i))
        cur.executemany(self.a.text("INSERT INTO dbo.loaded (id, name) VALUES (?, ?)"), [(i, None) for i in range(100, 150)])
        cur.close()
        same(self.query(c, "SELECT COUNT(*), COUNT(name), SUM(id) FROM dbo.loaded"), [(150, 100, 11175)])
        c.close()

    def bulk(self):
        c = self.a.connect()
        self.execute(c, "DELETE FROM dbo.loaded")
        self.a.bulk(c, [(i, None if i % 10 == 0 else "row %d 😀" % i) for i in range(5000)])
        same(self.query(c, "SELECT COUNT(*), COUNT(name), SUM(id) FROM dbo.loaded"), [(5000, 4500, 12497500)])
        same(self.query(c, "SELECT name FROM dbo.loaded WHERE id = 4999"), [("row 4999 😀",)])
        c.close()

    def transactions(self):
        c = self.a.connect(autocommit=False)
        self.execute(c, "DELETE FROM dbo.loaded")
        c.commit()
        self.execute(c, "INSERT INTO dbo.loaded (id) VALUES (1)")
        c.rollback()
        same(self.query(c, "SELECT COUNT(*) FROM dbo.loaded"), [(0,)])
        c.commit()
        self.execute(c, "INSERT INTO dbo.loaded (id) VALUES (2)")
        self.execute(c, "SAVE TRANSACTION kept")
        self.execute(c, "INSERT INTO dbo.loaded (id) VALUES (3)")
        self.execute(c, "ROLLBACK TRANSACTION kept")
        c.commit()
        same(self.query(c, "SELECT id FROM dbo.loaded"), [(2,)])
        c.commit()
        c.close()

    def cancel(self):
        """A statement that would run for two minutes ends when it is cancelled, and its connection goes on."""
        if self.a.cancelled is None:
            raise Absent("the driver gives up the connection with the statement")
        c = self.a.connect(**self.a.cancelled)
        spid = self.query(c, "SELECT @@SPID")[0][0]
        cur = c.cursor()
        ended, errors = threading.Event(), []

        def wait():
            try:
                cur.execute("WAITFOR DELAY '00:02:00'")
                while cur.nextset():
                    pass
            except Exception as e:  # noqa: BLE001
                errors.append(e)
            ended.set()
        waiting = threading.Thread(target=wait)
        begin = time.monotonic()
        waiting.start()
        if not self.a.cancelled:
            self.cancel_when_running(spid, cur, ended)
        waiting.join()
        if not errors:
            raise AssertionError("the cancelled statement gave no error")
        if time.monotonic() - begin > 100:
            raise AssertionError("the statement ran to its end: %s" % errors[0])
        cur.close()
        same(self.query(c, "SELECT @@SPID")[0][0], spid)
        c.close()

    def cancel_when_running(self, spid, cur, ended):
        other = self.a.connect()
        while not ended.is_set():
            if self.query(other, "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE command = 'WAITFOR' AND session_id = %d" % spid)[0][0]:
                self.a.cancel(cur)
                break
            ended.wait(0.05)
        other.close()

    def pool_reset(self):
        self.a.pool_reset(self)

    def pooled_session(self, again):
        """What a pool must not hand on: a temporary table, a transaction, a database and an option of a session. again
        gives a connection back to the pool and takes it out."""
        c = self.a.connect(autocommit=False)
        spid = self.query(c, "SELECT @@SPID")[0][0]
        self.execute(c, "CREATE TABLE #left (id int)")
        self.execute(c, "SET LOCK_TIMEOUT 1234")
        self.execute(c, "USE master")
        c.commit()
        self.execute(c, "INSERT INTO #left (id) VALUES (1)")
        c = again(c)
        rows = self.query(c, "SELECT @@SPID, OBJECT_ID('tempdb..#left'), DB_NAME(), @@LOCK_TIMEOUT")
        same(rows, [(spid, None, os.environ["DRV_DATABASE"], -1)])
        c.close()

    def error_mid_batch(self):
        c = self.a.connect()
        cur = c.cursor()
        seen, number = [], None
        try:
            cur.execute("SELECT 1 AS a; INSERT INTO dbo.keyed (id) VALUES (1); SELECT 2 AS b")
            while True:
                if cur.description is not None:
                    seen.append(cur.fetchall()[0][0])
                if not cur.nextset():
                    break
        except Exception as e:  # noqa: BLE001
            number = self.a.number(e)
        same(number, 2627)
        cur.close()
        if seen[:1] != [1]:
            raise AssertionError("the result before the error is lost")
        same(self.query(c, "SELECT COUNT(*) FROM dbo.keyed"), [(1,)])
        c.close()

    def messages(self):
        c = self.a.connect()
        texts = self.a.messages(c)
        try:
            cur = c.cursor()
            cur.execute("EXEC dbo.p_raises")
            while cur.nextset():
                pass
            raise AssertionError("RAISERROR of severity 16 is no error")
        except Exception as e:  # noqa: BLE001
            same(self.a.number(e), 50000)
        for text in ("printed ä", "informed 42"):
            if not any(text in t for t in texts):
                raise AssertionError("%r is not among the messages %r" % (text, texts))
        c.close()

    def cursors(self):
        self.a.cursors()

    def mars(self):
        """Rows of one statement are read while others of the connection read, write, fail and are taken back."""
        c = self.a.connect_mars(autocommit=True)
        self.execute(c, "DELETE FROM dbo.loaded")
        self.execute(c, "INSERT INTO dbo.loaded (id, name) SELECT TOP 3000 ROW_NUMBER() OVER (ORDER BY (SELECT NULL)), REPLICATE(N'é', 50) FROM sys.all_columns")
        c.close()
        c = self.a.connect_mars(autocommit=False)
        handles = [c.cursor() for _ in range(10)]
        for cur in handles:
            cur.execute("SELECT id, name FROM dbo.loaded ORDER BY id")
        for i in range(1, 1001):
            for cur in handles:
                same(tuple(cur.fetchone()), (i, "é" * 50))
        self.execute(c, "UPDATE dbo.loaded SET name = NULL WHERE id > 2000")
        same(self.query(c, "SELECT COUNT(*), COUNT(name) FROM dbo.loaded"), [(3000, 2000)])
        number = None
        try:
            self.execute(c, "INSERT INTO dbo.keyed (id) VALUES (1)")
        except Exception as e:  # noqa: BLE001
            number = self.a.number(e)
        same(number, 2627)
        # A value that is longer than what may be on its way at a time; then the rows of the moment of their statement.
        same(self.query(c, "SELECT REPLICATE(CAST(N'x' AS nvarchar(max)), 400000)")[0][0], "x" * 400000)
        same([tuple(r) for r in handles[0].fetchall()], [(i, "é" * 50) for i in range(1001, 3001)])
        for cur in handles[1:]:
            self.a.leave(cur)
        c.rollback()
        same(self.query(c, "SELECT COUNT(name) FROM dbo.loaded"), [(3000,)])
        c.commit()
        c.close()

    def packet_sizes(self):
        # Encrypted connections have 16,383 bytes at most, whatever is asked for.
        for size, encrypt, most in [(s, "required", min(s, 16383)) for s in self.a.sizes] + [(s, "optional", s) for s in self.a.sizes if s > 16383]:
            c = self.a.connect(packet_size=size, encrypt=encrypt)
            long = "é" * 300000
            same(self.query(c, "SELECT LEN(CAST(? AS nvarchar(max))), CAST(? AS nvarchar(max))", long, long), [(300000, long)])
            got = self.query(c, "SELECT net_packet_size FROM sys.dm_exec_connections WHERE session_id = @@SPID")[0][0]
            if got > most or most - got > 16:
                raise AssertionError("asked for %d with encryption %s, got %d" % (size, encrypt, got))
            c.close()


def same(got, want):
    if got != want:
        raise AssertionError("got %.300r, not %.300r" % (got, want))


def report(check, result, detail=""):
    print(json.dumps({"check": check, "result": result, "detail": detail[:1500]}), flush=True)
