// SPDX-License-Identifier: Apache-2.0

import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.*;
import java.util.*;

/** What a JDBC driver's checks need: one JSON line for each, as python/checks.py does, and the checks that all drivers pass alike. */
abstract class Program {
    static final Map<String, String> env = System.getenv();

    static class Absent extends Exception { Absent(String s) { super(s); } }

    interface Work { void run() throws Exception; }
    interface Use { void with(Connection c) throws Exception; }

    static void run(Map<String, Work> checks) {
        for (Map.Entry<String, Work> e : checks.entrySet()) {
            if (env.get("DRV_ONLY") != null && !env.get("DRV_ONLY").equals(e.getKey())) continue;
            try {
                e.getValue().run();
                report(e.getKey(), "pass", "");
            } catch (Absent x) {
                report(e.getKey(), "absent", x.getMessage());
            } catch (Throwable x) {
                if (env.get("DRV_TRACE") != null) x.printStackTrace();
                report(e.getKey(), "fail", x.toString());
            }
        }
    }

    /** The cases of types.json: lines of tab-separated fields. */
    static List<String[]> cases() throws Exception {
        List<String[]> out = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(env.get("DRV_TYPES_TSV")))) out.add(line.split("\t", -1));
        return out;
    }

    static String quoted(String s) {
        StringBuilder b = new StringBuilder("\"");
        for (char c : s.substring(0, Math.min(s.length(), 1500)).toCharArray()) {
            if (c == '"' || c == '\\') b.append('\\').append(c);
            else if (c < 32 || c > 126) b.append(String.format("\\u%04x", (int) c));
            else b.append(c);
        }
        return b.append('"').toString();
    }

    static void report(String check, String result, String detail) {
        System.out.println("{\"check\":\"" + check + "\",\"result\":\"" + result + "\",\"detail\":" + quoted(detail) + "}");
    }

    static void same(Object got, Object want) throws Exception {
        if (!Objects.equals(got, want)) {
            String g = String.valueOf(got), w = String.valueOf(want);
            throw new Exception("got " + g.substring(0, Math.min(300, g.length())) + ", not " + w.substring(0, Math.min(300, w.length())));
        }
    }

    static List<List<Object>> rows(Connection c, String sql, Object... params) throws SQLException {
        try (PreparedStatement s = c.prepareStatement(sql)) {
            for (int i = 0; i < params.length; i++) s.setObject(i + 1, params[i]);
            try (ResultSet r = s.executeQuery()) { return read(r); }
        }
    }

    static List<List<Object>> read(ResultSet r) throws SQLException {
        List<List<Object>> out = new ArrayList<>();
        while (r.next()) {
            List<Object> row = new ArrayList<>();
            for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) {
                Object v = r.getObject(i);
                row.add(v instanceof Clob ? r.getString(i) : v);
            }
            out.add(row);
        }
        return out;
    }

    static void execute(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement()) { s.execute(sql); }
    }

    static Object encryption(Connection c) throws SQLException {
        return rows(c, "SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID").get(0).get(0);
    }

    static String padded(String s) {
        int dot = s.indexOf('.');
        if (dot < 0) return s + ".0000000";
        return s + "0000000".substring(s.length() - dot - 1);
    }

    /** The value as types.json writes it. */
    static String canonical(String kind, ResultSet r) throws Exception {
        switch (kind) {
            case "int": return r.getObject(1) instanceof Boolean ? (r.getBoolean(1) ? "1" : "0") : r.getString(1);
            case "decimal": return ((BigDecimal) r.getObject(1)).toPlainString();
            case "time": case "datetime": return padded(r.getString(1));
            case "datetimeoffset": {
                String s = r.getString(1);
                int at = s.lastIndexOf(' ');
                return padded(s.substring(0, at)) + s.substring(at);
            }
            case "binary": {
                StringBuilder b = new StringBuilder();
                for (byte x : r.getBytes(1)) b.append(String.format("%02x", x));
                return b.toString();
            }
            default: return r.getString(1);
        }
    }

    static boolean equal(String kind, ResultSet r, String want) throws Exception {
        if (kind.equals("float")) return r.getDouble(1) == Double.parseDouble(want);
        if (kind.equals("real")) return r.getFloat(1) == Float.parseFloat(want);
        return canonical(kind, r).equals(want);
    }

    static void resultSets(Connection c) throws Exception {
        List<Object> sets = new ArrayList<>();
        try (Statement s = c.createStatement()) {
            boolean more = s.execute("EXEC dbo.p_sets");
            while (more || s.getUpdateCount() != -1) {
                if (more) try (ResultSet r = s.getResultSet()) { sets.add(read(r)); }
                more = s.getMoreResults();
            }
        }
        same(sets, List.of(List.of(List.of(1), List.of(2)), List.of(List.of("x", "y")), List.of()));
    }

    static void transactions(Connection c) throws Exception {
        execute(c, "DELETE FROM dbo.loaded");
        c.setAutoCommit(false);
        execute(c, "INSERT INTO dbo.loaded (id) VALUES (1)");
        c.rollback();
        same(rows(c, "SELECT COUNT(*) FROM dbo.loaded"), List.of(List.of(0)));
        c.commit();
        execute(c, "INSERT INTO dbo.loaded (id) VALUES (2)");
        Savepoint kept = c.setSavepoint("kept");
        execute(c, "INSERT INTO dbo.loaded (id) VALUES (3)");
        c.rollback(kept);
        c.commit();
        c.setAutoCommit(true);
        same(rows(c, "SELECT id FROM dbo.loaded"), List.of(List.of(2)));
    }

    /** Rows by two statements that are used again, and by a batch. */
    static void insertPrepared(Connection c) throws Exception {
        execute(c, "DELETE FROM dbo.loaded");
        for (int round = 0; round < 2; round++)
            try (PreparedStatement p = c.prepareStatement("INSERT INTO dbo.loaded (id, name) VALUES (?, ?)")) {
                for (int i = 0; i < 50; i++) { p.setInt(1, round * 50 + i); p.setString(2, i % 2 == 0 ? "n" + i : null); p.executeUpdate(); }
            }
        try (PreparedStatement p = c.prepareStatement("INSERT INTO dbo.loaded (id, name) VALUES (?, ?)")) {
            for (int i = 100; i < 150; i++) { p.setInt(1, i); p.setString(2, null); p.addBatch(); }
            same(p.executeBatch().length, 50);
        }
        same(rows(c, "SELECT COUNT(*), COUNT(name), SUM(id) FROM dbo.loaded"), List.of(List.of(150, 50, 11175)));
    }
}
