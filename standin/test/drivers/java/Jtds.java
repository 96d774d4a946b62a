// SPDX-License-Identifier: Apache-2.0

import java.sql.*;
import java.util.*;
import java.util.concurrent.atomic.AtomicBoolean;

/** jTDS, which speaks TDS 7.1: the checks of Check.java with JDBC's own means. Types that came after 7.1 are text to it. */
public class Jtds extends Program {
    public static void main(String[] args) throws Exception {
        Map<String, Work> checks = new LinkedHashMap<>();
        checks.put("tls_optional", () -> { throw new Absent("with ssl=request the driver loses the login's answer on Java 17"); });
        checks.put("tls_required", () -> {
            using("ssl=require", c -> same(encryption(c), "TRUE"));
            using("ssl=off", c -> same(encryption(c), "FALSE"));
        });
        checks.put("tls_strict", () -> { throw new Absent("no TDS 8.0"); });
        checks.put("types", () -> using("", Jtds::types));
        checks.put("parameters_by_position", () -> using("", Jtds::byPosition));
        checks.put("parameters_by_name", () -> using("", Jtds::byName));
        checks.put("output_parameters", () -> using("", Jtds::outputs));
        checks.put("result_sets", () -> using("", Jtds::resultSets));
        checks.put("prepared", Jtds::prepared);
        checks.put("bulk", () -> { throw new Absent("no bulk load"); });
        checks.put("transactions", () -> using("", Jtds::transactions));
        checks.put("cancel", () -> using("", Jtds::cancel));
        checks.put("pool_reset", () -> { throw new Absent("no pool that resets connections"); });
        checks.put("error_mid_batch", () -> using("", Jtds::errorMidBatch));
        checks.put("messages", () -> using("", Jtds::messages));
        checks.put("packet_sizes", Jtds::packetSizes);
        checks.put("cursors", Jtds::cursors);
        checks.put("mars", () -> { throw new Absent("one statement of a connection at a time"); });
        run(checks);
    }

    static void using(String options, Use work) throws Exception {
        String url = "jdbc:jtds:sqlserver://" + env.get("DRV_HOST") + ":" + env.get("DRV_PORT") + "/" + env.get("DRV_DATABASE") + ";user=" + env.get("DRV_USER")
            + ";password=" + env.get("DRV_PASSWORD") + ";loginTimeout=60;" + options;
        try (Connection c = DriverManager.getConnection(url)) { work.with(c); }
    }

    static void types(Connection c) throws Exception {
        List<String> wrong = new ArrayList<>();
        for (String[] f : cases()) {
            String name = f[0], type = f[1], kind = f[2], want = f[4].repeat(Integer.parseInt(f[5]));
            try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT " + f[3] + ", CAST(NULL AS " + type + ")");
                 PreparedStatement p = c.prepareStatement("INSERT INTO dbo.[back_" + name + "] (c) VALUES (?)")) {
                r.next();
                if (!equal(kind, r, want)) { wrong.add(name + " reads " + canonical(kind, r)); continue; }
                if (r.getObject(2) != null || !r.wasNull()) wrong.add(name + " NULL reads otherwise");
                Object v = r.getObject(1);
                if (v instanceof Clob) p.setString(1, r.getString(1));
                else if (kind.equals("binary")) p.setBytes(1, r.getBytes(1));
                else p.setObject(1, v);
                p.executeUpdate();
                p.setNull(1, kind.equals("binary") ? Types.VARBINARY : Types.VARCHAR);
                p.executeUpdate();
            } catch (Exception e) { wrong.add(name + ": " + e.getMessage()); }
        }
        if (!wrong.isEmpty()) throw new Exception(String.join("; ", wrong));
    }

    static void byPosition(Connection c) throws Exception {
        same(rows(c, "SELECT CAST(? AS int) - CAST(? AS int), ?", 50, 8, "x'y"), List.of(List.of(42, "x'y")));
        same(rows(c, "SELECT COUNT(*) FROM dbo.numbers WHERE n BETWEEN ? AND ?", 3, 5), List.of(List.of(3)));
    }

    static void byName(Connection c) throws Exception {
        try (CallableStatement s = c.prepareCall("{call dbo.p_name(?, ?)}")) {
            s.setInt("@number", 42);
            s.setString("@text", "x'y");
            try (ResultSet r = s.executeQuery()) { same(read(r), List.of(List.of(42, "x'y"))); }
        }
    }

    static void outputs(Connection c) throws Exception {
        try (CallableStatement s = c.prepareCall("{? = call dbo.p_out(?, ?, ?)}")) {
            s.registerOutParameter(1, Types.INTEGER);
            s.setInt(2, 21);
            s.registerOutParameter(3, Types.INTEGER);
            s.setString(4, "𠮷");
            s.registerOutParameter(4, Types.VARCHAR);
            s.execute();
            try (ResultSet r = s.getResultSet()) { same(read(r), List.of(List.of(21))); }
            while (s.getMoreResults() || s.getUpdateCount() != -1) { }
            same(List.of(s.getInt(1), s.getInt(3), s.getString(4)), List.of(7, 42, "grüße 𠮷"));
        }
    }

    /** As text, as temporary procedures, by sp_executesql and by sp_prepare. */
    static void prepared() throws Exception {
        for (int method = 0; method < 4; method++) using("prepareSQL=" + method, Program::insertPrepared);
    }

    static void cancel(Connection c) throws Exception {
        Object spid = rows(c, "SELECT @@SPID").get(0).get(0);
        AtomicBoolean ended = new AtomicBoolean();
        try (Statement s = c.createStatement()) {
            Thread watcher = new Thread(() -> {
                try {
                    using("", other -> {
                        while (!ended.get()) {
                            if ((int) rows(other, "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE command = 'WAITFOR' AND session_id = ?", spid).get(0).get(0) > 0) { s.cancel(); return; }
                            Thread.sleep(50);
                        }
                    });
                } catch (Exception e) { System.err.println(e); }
            });
            watcher.start();
            boolean failed = false;
            try { s.execute("WAITFOR DELAY '00:02:00'"); } catch (SQLException e) { failed = true; }
            ended.set(true);
            watcher.join();
            same(failed, true);
        }
        same(rows(c, "SELECT @@SPID").get(0).get(0), spid);
    }

    static void errorMidBatch(Connection c) throws Exception {
        List<Object> seen = new ArrayList<>();
        try (Statement s = c.createStatement()) {
            boolean more = s.execute("SELECT 1 AS a; INSERT INTO dbo.keyed (id) VALUES (1); SELECT 2 AS b");
            for (boolean end = false; !end; ) {
                try {
                    // The error comes when the row before it is left.
                    if (more) for (ResultSet r = s.getResultSet(); r.next(); ) seen.add(r.getObject(1));
                    more = s.getMoreResults();
                    end = !more && s.getUpdateCount() == -1;
                } catch (SQLException e) {
                    seen.add(e.getErrorCode());
                    more = s.getResultSet() != null; // the driver has gone on to the next result by then
                }
            }
        }
        same(seen, List.of(1, 2627, 2));
        same(rows(c, "SELECT COUNT(*) FROM dbo.keyed"), List.of(List.of(1)));
    }

    static void messages(Connection c) throws Exception {
        List<String> texts = new ArrayList<>();
        try (Statement s = c.createStatement()) {
            s.execute("EXEC dbo.p_messages");
            while (s.getMoreResults() || s.getUpdateCount() != -1) { }
            for (SQLWarning w = s.getWarnings(); w != null; w = w.getNextWarning()) texts.add(w.getMessage());
        }
        same(texts, List.of("printed ä", "informed 42"));
        try {
            execute(c, "EXEC dbo.p_raises");
            throw new Exception("no error");
        } catch (SQLException e) { same(List.of(e.getErrorCode(), e.getMessage()), List.of(50000, "failed here")); }
    }

    static void packetSizes() throws Exception {
        for (int size : new int[] {512, 4096, 32256}) {
            using("packetSize=" + size, c -> {
                String text = "é".repeat(300000);
                same(rows(c, "SELECT CAST(LEN(CAST(? AS nvarchar(max))) AS int), CAST(? AS nvarchar(max))", text, text), List.of(List.of(300000, text)));
                same(rows(c, "SELECT net_packet_size FROM sys.dm_exec_connections WHERE session_id = @@SPID"), List.of(List.of(size)));
            });
        }
    }

    /** Static cursors, and what useCursors reads row by row. */
    static void cursors() throws Exception {
        final String query = "SELECT n, REPLICATE(N'x', 100) FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n FROM sys.all_columns) AS r WHERE n <= 200";
        using("", c -> {
            try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY); ResultSet r = s.executeQuery(query + " ORDER BY n")) {
                walk(r);
            }
            try (PreparedStatement s = c.prepareStatement(query + " AND n > ? ORDER BY n", ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
                for (int from : new int[] {0, 150, 199}) {
                    s.setInt(1, from);
                    try (ResultSet r = s.executeQuery()) { same(r.last() ? r.getRow() : 0, 200 - from); }
                }
            }
        });
        using("useCursors=true", c -> same(rows(c, query + " ORDER BY n").size(), 200));
    }

    static void walk(ResultSet r) throws Exception {
        int n = 0;
        while (r.next()) same(r.getInt(1), ++n);
        // By more rows than it fetches at a time the driver does not go back.
        same(Arrays.asList(n, r.isAfterLast(), r.previous(), r.getInt(1), r.absolute(17), r.getInt(1), r.relative(-1), r.getInt(1), r.first(), r.getInt(1)),
            Arrays.asList(200, true, true, 200, true, 17, true, 16, true, 1));
        same(Arrays.asList(r.previous(), r.isBeforeFirst(), r.absolute(-3), r.getRow(), r.absolute(1000), r.isAfterLast(), r.last(), r.getString(2).length()),
            Arrays.asList(false, true, true, 198, false, true, true, 100));
    }
}
