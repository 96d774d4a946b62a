# SPDX-License-Identifier: Apache-2.0
"""Scrollable cursors through ODBC itself, which Python's drivers do not offer. The driver manager is unixODBC."""
import ctypes
import ctypes.util

STATIC, KEYSET = 3, 1
SQL_SUCCESS, SQL_SUCCESS_WITH_INFO, SQL_NO_DATA = 0, 1, 100
ENV, DBC, STMT = 1, 2, 3
NTS, C_LONG, C_CHAR = -3, 4, 1
NEXT, FIRST, LAST, PRIOR, ABSOLUTE, RELATIVE = 1, 2, 3, 4, 5, 6


class ODBC:
    """One connection, and one statement with a cursor of a type."""

    def __init__(self, connection, cursor):
        self.lib = ctypes.CDLL(ctypes.util.find_library("odbc"))
        self.env, self.dbc, self.stmt = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.allocate(ENV, None, self.env)
        self.lib.SQLSetEnvAttr(self.env, 200, ctypes.c_void_p(3), 0)
        self.allocate(DBC, self.env, self.dbc)
        text = connection.encode()
        self.check(DBC, self.dbc, self.lib.SQLDriverConnect(self.dbc, None, text, ctypes.c_short(len(text)), None, ctypes.c_short(0), None, ctypes.c_ushort(0)))
        self.allocate(STMT, self.dbc, self.stmt)
        self.check(STMT, self.stmt, self.lib.SQLSetStmtAttr(self.stmt, 6, ctypes.c_void_p(cursor), 0))

    def allocate(self, kind, parent, handle):
        if self.lib.SQLAllocHandle(ctypes.c_short(kind), parent, ctypes.byref(handle)) != SQL_SUCCESS:
            raise RuntimeError("no handle of kind %d" % kind)

    def check(self, kind, handle, code):
        if code in (SQL_SUCCESS, SQL_SUCCESS_WITH_INFO):
            return True
        if code == SQL_NO_DATA:
            return False
        state, text, native, size = ctypes.create_string_buffer(6), ctypes.create_string_buffer(1000), ctypes.c_int(), ctypes.c_short()
        self.lib.SQLGetDiagRec(ctypes.c_short(kind), handle, ctypes.c_short(1), state, ctypes.byref(native), text, ctypes.c_short(1000), ctypes.byref(size))
        raise RuntimeError("ODBC %d: %s %d %s" % (code, state.value.decode(), native.value, text.value.decode(errors="replace")))

    def execute(self, sql):
        self.check(STMT, self.stmt, self.lib.SQLExecDirect(self.stmt, sql.encode(), NTS))

    def fetch(self, how, offset=0):
        """The first column of the row, None beyond the rows."""
        if not self.check(STMT, self.stmt, self.lib.SQLFetchScroll(self.stmt, ctypes.c_short(how), ctypes.c_long(offset))):
            return None
        value, size = ctypes.c_int(), ctypes.c_long()
        self.check(STMT, self.stmt, self.lib.SQLGetData(self.stmt, ctypes.c_ushort(1), ctypes.c_short(C_LONG), ctypes.byref(value), ctypes.c_long(0), ctypes.byref(size)))
        return value.value

    def close(self):
        for kind, handle in ((STMT, self.stmt), (DBC, self.dbc), (ENV, self.env)):
            if kind == DBC:
                self.lib.SQLDisconnect(handle)
            self.lib.SQLFreeHandle(ctypes.c_short(kind), handle)


def scroll(connection):
    """The rows that a walk over 1 to 200 comes to."""
    seen = []
    for kind in (STATIC, KEYSET):
        c = ODBC(connection, kind)
        c.execute("SELECT n, REPLICATE(N'x', 100) FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n FROM sys.all_columns) AS r WHERE n <= 200 ORDER BY n")
        seen.append([c.fetch(NEXT), c.fetch(NEXT), c.fetch(LAST), c.fetch(NEXT), c.fetch(PRIOR), c.fetch(ABSOLUTE, 17), c.fetch(RELATIVE, -5), c.fetch(FIRST),
                     c.fetch(PRIOR), c.fetch(ABSOLUTE, -3)])
        c.close()
    return seen


WALK = [1, 2, 200, None, 200, 17, 12, 1, None, 198]
