# SPDX-License-Identifier: Apache-2.0
"""FreeTDS' command line tools: tsql, bsqldb and freebcp. One JSON line for each check, as checks.py prints them."""
import os
import subprocess
import tempfile

from checks import Absent, report, same

ENV = {k: os.environ[k] for k in os.environ if k.startswith("DRV_")}
USER, PASSWORD, DATABASE = ENV["DRV_USER"], ENV["DRV_PASSWORD"], ENV["DRV_DATABASE"]
TIMEOUT = 120


def configured(directory, encrypt="require", size=4096):
    """A freetds.conf that names the server as [drv]."""
    path = os.path.join(directory, "freetds.conf")
    with open(path, "w", encoding="ascii") as f:
        f.write("[drv]\nhost = %s\nport = %s\ntds version = 7.4\nclient charset = UTF-8\nencryption = %s\ninitial block size = %d\ntext size = 2147483647\n"
                % (ENV["DRV_HOST"], ENV["DRV_PORT"], encrypt, size))
    return dict(os.environ, FREETDSCONF=path, LC_ALL="C.UTF-8")


def tsql(script, **how):
    with tempfile.TemporaryDirectory() as d:
        r = subprocess.run(["tsql", "-S", "drv", "-U", USER, "-P", PASSWORD, "-D", DATABASE, "-o", "qf", "-t", "|"],
                           input=script + "\nGO\nEXIT\n", capture_output=True, text=True, timeout=TIMEOUT, env=configured(d, **how), check=False)
    return [line for line in r.stdout.splitlines() if not line.startswith(("locale ", "using ", "1> ", "Setting "))], r.stdout + r.stderr


def tls_optional():
    out, _ = tsql("SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID", encrypt="off")
    same(out[-1], "FALSE")


def tls_required():
    out, _ = tsql("SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID")
    same(out[-1], "TRUE")


def types():
    out, _ = tsql("SELECT CAST('99999999999999999999999999999999999999' AS decimal(38,0)), CAST(N'grüße \U0001F600' AS nvarchar(20)), CAST(0x00FF AS varbinary(4)), "
                  "CAST(-9223372036854775808 AS bigint), CAST('922337203685477.5807' AS money), CAST(NULL AS int), CAST('' AS varchar(3))")
    same(out[-1], "9" * 38 + "|grüße \U0001F600|00ff|-9223372036854775808|922337203685477.5807|NULL|")


def result_sets():
    out, _ = tsql("EXEC dbo.p_sets")
    same([line for line in out if line], ["n", "1", "2", "b|c", "x|y", "n"])


def bulk():
    with tempfile.TemporaryDirectory() as d:
        env = configured(d)
        data = os.path.join(d, "rows")
        with open(data, "w", encoding="utf-8") as f:
            for i in range(5000):
                f.write("%d\t%s\n" % (i, "" if i % 10 == 0 else "row %d ü" % i))
        tsql("DELETE FROM dbo.loaded")
        arguments = ["-S", "drv", "-U", USER, "-P", PASSWORD, "-c", "-t", "\t", "-b", "1000"]
        r = subprocess.run(["freebcp", DATABASE + ".dbo.loaded", "in", data] + arguments, capture_output=True, text=True, timeout=TIMEOUT, env=env, check=False)
        if r.returncode:
            raise AssertionError(r.stdout + r.stderr)
        out, _ = tsql("SELECT COUNT(*), COUNT(name), SUM(id), MAX(name) FROM dbo.loaded")
        same(out[-1], "5000|4500|12497500|row 999 ü")
        back = os.path.join(d, "back")
        subprocess.run(["freebcp", DATABASE + ".dbo.loaded", "out", back] + arguments, capture_output=True, timeout=TIMEOUT, env=env, check=True)
        with open(data, "rb") as a, open(back, "rb") as b:
            same(b.read() == a.read(), True)


def transactions():
    out, _ = tsql("DELETE FROM dbo.loaded; BEGIN TRAN; INSERT INTO dbo.loaded (id) VALUES (1); SAVE TRAN kept; INSERT INTO dbo.loaded (id) VALUES (2); "
                  "ROLLBACK TRAN kept; COMMIT; SELECT id FROM dbo.loaded")
    same(out[-1], "1")


def output_parameters():
    with tempfile.TemporaryDirectory() as d:
        r = subprocess.run(["bsqldb", "-S", "drv", "-U", USER, "-P", PASSWORD, "-D", DATABASE, "-q", "-t", "|"], capture_output=True, text=True, timeout=TIMEOUT,
                           env=configured(d), input="DECLARE @r int, @o int, @t nvarchar(50) = N'x'; EXEC @r = dbo.p_out 21, @o OUTPUT, @t OUTPUT; SELECT @r, @o, @t", check=False)
    same(r.stdout.splitlines()[-1].replace(" ", ""), "7|42|grüßex")


def error_mid_batch():
    out, everything = tsql("SELECT 1 AS a; INSERT INTO dbo.keyed (id) VALUES (1); SELECT 2 AS b")
    same([line for line in out if line in ("1", "2")], ["1", "2"])
    if "Msg 2627 (severity 14, state 1) from DRIVERS Line 1" not in everything and "Msg 2627" not in everything:
        raise AssertionError(everything)


def messages():
    _, everything = tsql("EXEC dbo.p_messages; EXEC dbo.p_raises")
    for text in ("printed ä", "informed 42", "Msg 50000 (severity 16, state 3)", "failed here"):
        if text not in everything:
            raise AssertionError("%r is not in %r" % (text, everything))


def packet_sizes():
    # The tool asks for 4096 bytes at least.
    for size in (4096, 8192, 16000):
        out, everything = tsql("SELECT net_packet_size FROM sys.dm_exec_connections WHERE session_id = @@SPID", size=size)
        same(out[-1], str(size))
        out, _ = tsql("SELECT REPLICATE(CAST(N'é' AS nvarchar(max)), 300000)", size=size)
        same(len(out[-1]), 300000)


def absent(why):
    def check():
        raise Absent(why)
    return check


CHECKS = {
    "tls_optional": tls_optional, "tls_required": tls_required, "tls_strict": absent("FreeTDS 1.3 has no TDS 8.0"), "types": types,
    "parameters_by_position": absent("statements only"), "parameters_by_name": absent("statements only"), "output_parameters": output_parameters,
    "result_sets": result_sets, "prepared": absent("statements only"), "bulk": bulk, "transactions": transactions,
    "cancel": absent("the tools end with their statement"), "pool_reset": absent("no pool"), "error_mid_batch": error_mid_batch, "messages": messages,
    "packet_sizes": packet_sizes, "cursors": absent("no server cursors"), "mars": absent("one statement of a connection at a time"),
}

if __name__ == "__main__":
    for name, check in CHECKS.items():
        if os.environ.get("DRV_ONLY", name) != name:
            continue
        try:
            check()
            report(name, "pass")
        except Absent as e:
            report(name, "absent", str(e))
        except Exception as e:  # noqa: BLE001
            report(name, "fail", "%s: %s" % (type(e).__name__, e))
