# SPDX-License-Identifier: Apache-2.0
"""The Python drivers' own ways. Usage: drivers.py NAME, one of the keys of ADAPTERS."""
import os
import re
import sys
import uuid

from checks import Absent, Checks, same

HOST, PORT = os.environ["DRV_HOST"], int(os.environ["DRV_PORT"])
USER, PASSWORD = os.environ["DRV_USER"], os.environ["DRV_PASSWORD"]
DATABASE, CA, CERTIFICATE = os.environ["DRV_DATABASE"], os.environ["DRV_CA"], os.environ["DRV_CERTIFICATE"]

CALL = ("DECLARE @r int, @o int, @t nvarchar(50) = ?; EXEC @r = dbo.p_out @in = ?, @out = @o OUTPUT, @text = @t OUTPUT; "
        "SELECT @r, @o, @t")


class Adapter:
    """A driver's ways; the defaults are those of most."""
    # sizes are the packet sizes to ask for; cancelled are the options of a connection whose statements end after two
    # seconds, for drivers that cannot cancel from another thread.
    sizes = (512, 4096, 32767)
    cancelled = {}

    def connect(self, encrypt="required", packet_size=None, autocommit=True, timeout=0):
        raise NotImplementedError

    def connect_mars(self, autocommit):
        raise Absent("one statement of a connection at a time")

    def leave(self, cur):
        """Closes a cursor whose rows were not read to their end."""
        cur.close()

    def text(self, sql):
        return sql

    def skipped(self, case):
        return None

    def selected(self, case, sql):
        return sql

    def insert(self, cur, case, value):
        cur.execute(self.text("INSERT INTO dbo.[back_%s] (c) VALUES (?)" % case["name"]), (value,))

    def by_name(self, c):
        raise Absent("parameters have positions only")

    def outputs(self, c):
        """Return code and output parameters through a batch, for drivers without a call of their own."""
        cur = c.cursor()
        cur.execute(self.text(CALL), ("𠮷", 21))
        while cur.description is None or cur.description[0][0] == "a":
            cur.nextset()
        return tuple(cur.fetchone())

    def number(self, error):
        raise NotImplementedError

    def cancel(self, cur):
        cur.cancel()

    def pool_reset(self, checks):
        raise Absent("no pool that resets connections")

    def bulk(self, c, rows):
        raise Absent("no bulk insert")

    def cursors(self):
        raise Absent("no server cursors")


class ODBC(Adapter):
    """pyodbc. Output parameters are read with a batch, as its documentation says."""
    driver = ""

    def connection(self, encrypt):
        return "DRIVER=%s;UID=%s;PWD=%s;DATABASE=%s;" % (self.driver, USER, PASSWORD, DATABASE) + self.options(encrypt)

    def options(self, encrypt):
        raise NotImplementedError

    def connect(self, encrypt="required", packet_size=None, autocommit=True, timeout=0, more=""):
        import pyodbc
        pyodbc.pooling = False
        o = self.connection(encrypt) + more
        if packet_size:
            o += "PacketSize=%d;" % packet_size
        c = pyodbc.connect(o, timeout=60, autocommit=autocommit)
        c.timeout = timeout
        return c

    def cursors(self):
        import cursors
        for seen in cursors.scroll(self.connection("required")):
            same(seen, cursors.WALK)

    def number(self, error):
        numbers = re.findall(r"\((\d+)\) \(SQL", str(error))
        return int(numbers[0]) if numbers else None

    def skipped(self, case):
        if case["type"] == "sql_variant":
            return "pyodbc takes the C type of a sql_variant for its SQL type"
        if case["name"] in ("time_3", "time_7"):
            return "pyodbc sends times without fractions"
        return None

    def selected(self, case, sql):
        # pyodbc reads datetimeoffset (SQL type -155) through a converter only.
        return "CAST(%s AS nvarchar(40))" % sql if case["kind"] == "datetimeoffset" else sql

    def insert(self, cur, case, value):
        if value is None and case["kind"] == "binary":
            # Without a value pyodbc cannot know that a parameter is binary.
            cur.setinputsizes([(-3, 10, 0)])
        super().insert(cur, case, value)

    def bulk(self, c, rows):
        cur = c.cursor()
        cur.fast_executemany = True
        cur.executemany("INSERT INTO dbo.loaded (id, name) VALUES (?, ?)", rows)

    def messages(self, c):
        cur = c.cursor()
        cur.execute("EXEC dbo.p_messages")
        texts = [m[1] for m in cur.messages or []]
        while cur.nextset():
            texts += [m[1] for m in cur.messages or []]
        return texts


class Microsoft(ODBC):
    """Microsoft's ODBC driver 18."""
    driver = "msodbcsql"
    # The driver refuses more than 16 KB with TLS.
    sizes = (512, 4096, 16000)

    def options(self, encrypt):
        return "SERVER=%s,%d;" % (HOST, PORT) + {
            "optional": "Encrypt=optional;", "required": "Encrypt=mandatory;",
            "strict": "Encrypt=strict;ServerCertificate=%s;" % CERTIFICATE}[encrypt]

    def connect_mars(self, autocommit):
        return self.connect(autocommit=autocommit, more="MARS_Connection=yes;")

    def pool_reset(self, checks):
        # unixODBC's pool does not ask the driver for a reset, so SQL_ATTR_RESET_CONNECTION is set as a pool would.
        def again(c):
            c.rollback()
            c.set_attr(116, 1)
            return c
        checks.pooled_session(again)


class FreeTDSODBC(ODBC):
    """FreeTDS' ODBC driver."""
    driver = "FreeTDS"
    # Its connection strings have no keyword for the size.
    sizes = (4096,)

    def bulk(self, c, rows):
        raise Absent("pyodbc's fast_executemany crashes with this driver")

    def connect_mars(self, autocommit):
        return self.connect(autocommit=autocommit, more="MARS_Connection=yes;")

    def skipped(self, case):
        return "FreeTDS 1.3 sends 0001-01-01 as day -1" if case["name"] in ("date_first", "datetime2_first") else super().skipped(case)

    def options(self, encrypt):
        if encrypt == "strict":
            raise Absent("FreeTDS 1.3 has no TDS 8.0")
        return "SERVER=%s;PORT=%d;TDS_Version=7.4;ClientCharset=UTF-8;Encryption=%s;" % (
            HOST, PORT, {"optional": "off", "required": "require"}[encrypt])


class PyMSSQL(Adapter):
    """pymssql, over FreeTDS' DB-Library. Parameters are written into the statement by the driver itself."""
    cancelled = None

    def connect(self, encrypt="required", packet_size=None, autocommit=True, timeout=0):
        import pymssql
        if encrypt == "strict":
            raise Absent("FreeTDS 1.3 has no TDS 8.0")
        if packet_size:
            raise Absent("the packet size cannot be chosen")
        return pymssql.connect(server=HOST, port=str(PORT), user=USER, password=PASSWORD, database=DATABASE, autocommit=autocommit,
                               timeout=timeout, encryption={"optional": "off", "required": "require"}[encrypt], tds_version="7.4", charset="UTF-8")

    def text(self, sql):
        return sql.replace("%", "%%").replace("?", "%s")

    def by_name(self, c):
        cur = c.cursor()
        cur.execute("SELECT CAST(%(a)s AS int) - CAST(%(b)s AS int), %(t)s", {"b": 8, "t": "x'y", "a": 50})
        return tuple(cur.fetchone())

    def number(self, error):
        return error.args[0] if isinstance(error.args[0], int) else error.args[0][0]

    def bulk(self, c, rows):
        c.bulk_copy("dbo.loaded", rows)

    def messages(self, c):
        texts = []
        c._conn.set_msghandler(lambda state, severity, server, procedure, line, text: texts.append(text.decode()))
        cur = c.cursor()
        cur.execute("EXEC dbo.p_messages")
        return texts

    def skipped(self, case):
        if case["type"] == "sql_variant":
            return "pymssql does not decode sql_variant"
        if case["name"] == "datetime2_last":
            return "pymssql writes times with milliseconds"
        return None

    def insert(self, cur, case, value):
        if case["kind"] == "binary":
            # The driver writes bytes that are ASCII as a string literal.
            cur.execute("INSERT INTO dbo.[back_%s] (c) VALUES (CAST(%%s AS varbinary(max)))" % case["name"], (value,))
        else:
            super().insert(cur, case, value)


class PythonTDS(Adapter):
    """python-tds."""
    cancelled = {"timeout": 2}

    def connect(self, encrypt="required", packet_size=None, autocommit=True, timeout=0, mars=False):
        import pytds
        if encrypt == "strict":
            raise Absent("python-tds has no TDS 8.0")
        tls = {} if encrypt == "optional" else {"cafile": CA, "validate_host": True}
        size = {"blocksize": packet_size} if packet_size else {}
        return pytds.connect(dsn=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE, autocommit=autocommit, use_mars=mars,
                             pooling=encrypt == "required" and not packet_size and not timeout and not mars, timeout=timeout or None, **tls, **size)

    def connect_mars(self, autocommit):
        return self.connect(autocommit=autocommit, mars=True)

    def leave(self, cur):
        # With rows unread the driver acknowledges a packet of a session that it has ended, upon which a server closes the connection
        # ([MC-SMP] 3.1.5.1.2).
        cur.fetchall()
        cur.close()

    def text(self, sql):
        return sql.replace("%", "%%").replace("?", "%s")


    def insert(self, cur, case, value):
        import pytds
        if case["kind"] == "binary" and value is None:
            cur.execute("INSERT INTO dbo.[back_%s] (c) VALUES (CAST(%%s AS varbinary(max)))" % case["name"], (None,))
            return
        if case["type"] == "sql_variant" and isinstance(value, str):
            # The driver sends text as nvarchar(max), which sql_variant does not take.
            cur.execute("INSERT INTO dbo.[back_%s] (c) VALUES (CAST(%%s AS nvarchar(4000)))" % case["name"], (value,))
            return
        super().insert(cur, case, pytds.Binary(value) if case["kind"] == "binary" else value)

    def number(self, error):
        return getattr(error, "number", None)

    def outputs(self, c):
        import pytds
        cur = c.cursor()
        text = pytds.output(param_type="nvarchar(50)", value="𠮷")
        # The driver numbers output values as if all parameters before them were output, too.
        cur.callproc("dbo.p_out", {"@out": pytds.output(param_type="int"), "@text": text, "@in": 21})
        cur.fetchall()
        while cur.nextset():
            pass
        out = cur.get_proc_outputs()
        return (cur.get_proc_return_status(), out[0], out[1])

    def by_name(self, c):
        cur = c.cursor()
        cur.callproc("dbo.p_name", {"@text": "x'y", "@number": 42})
        return tuple(cur.fetchone())

    def bulk(self, c, rows):
        import pytds
        from pytds import tds_types
        cur = c.cursor()
        cur.copy_to(data=rows, table_or_view="loaded", schema="dbo", columns=[
            pytds.Column("id", type=tds_types.IntType()), pytds.Column("name", type=tds_types.NVarCharType(50))])

    def messages(self, c):
        cur = c.cursor()
        cur.execute("EXEC dbo.p_messages")
        texts = []
        while True:
            texts += [str(m[1]) for m in cur.messages]
            if not cur.nextset():
                return texts

    def pool_reset(self, checks):
        def again(c):
            c.close()
            return self.connect(autocommit=False)
        checks.pooled_session(again)


class MSSQLPython(ODBC):
    """Microsoft's mssql-python: the ODBC driver that it ships, and its own bulk copy, which speaks TDS itself."""
    cancelled = {"timeout": 2}

    def connect(self, encrypt="required", packet_size=None, autocommit=True, timeout=0):
        import mssql_python
        if packet_size:
            raise Absent("the packet size cannot be chosen")
        mssql_python.pooling(enabled=False)
        o = "SERVER=%s,%d;UID=%s;PWD=%s;DATABASE=%s;" % (HOST, PORT, USER, PASSWORD, DATABASE)
        o += {"optional": "Encrypt=no;", "required": "Encrypt=yes;", "strict": "Encrypt=strict;ServerCertificate=%s;" % CERTIFICATE}[encrypt]
        c = mssql_python.connect(o, autocommit=autocommit)
        if timeout:
            c.timeout = timeout
        return c

    def selected(self, case, sql):
        return sql

    def skipped(self, case):
        return "the driver refuses dates before 1753 as parameters" if case["name"] == "date_first" else None

    def insert(self, cur, case, value):
        Adapter.insert(self, cur, case, value)

    def number(self, error):
        # Its errors have no numbers.
        for number, text in ((2627, "Violation of PRIMARY KEY constraint"), (50000, "failed here")):
            if text in str(error):
                return number
        return None

    def bulk(self, c, rows):
        result = c.cursor().bulkcopy("dbo.loaded", rows)
        if result["rows_copied"] != len(rows):
            raise AssertionError("bulkcopy says %r" % (result,))

    def pool_reset(self, checks):
        raise Absent("its pool is checked with Microsoft's ODBC driver")

    def connect_mars(self, autocommit):
        raise Absent("its connection strings have no MARS_Connection")

    def cursors(self):
        raise Absent("its cursors are not ODBC's")


ADAPTERS = {"msodbcsql": Microsoft, "freetds-odbc": FreeTDSODBC, "pymssql": PyMSSQL, "python-tds": PythonTDS,
            "mssql-python": MSSQLPython}

if __name__ == "__main__":
    Checks(ADAPTERS[sys.argv[1]]()).run()
