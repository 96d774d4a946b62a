// SPDX-License-Identifier: Apache-2.0

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.*;
import java.util.*;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.*;
import javax.sql.PooledConnection;

import com.microsoft.sqlserver.jdbc.*;

/** mssql-jdbc, with its own interface where JDBC has none. */
public class Check extends Program {
    public static void main(String[] args) throws Exception {
        Map<String, Work> checks = new LinkedHashMap<>();
        checks.put("tls_optional", () -> using("encrypt=false", c -> same(encryption(c), "FALSE")));
        checks.put("tls_required", () -> using("encrypt=true", c -> same(encryption(c), "TRUE")));
        checks.put("tls_strict", () -> using("encrypt=strict;serverCertificate=" + env.get("DRV_CERTIFICATE"), c -> same(encryption(c), "TRUE")));
        checks.put("types", () -> using("", Check::types));
        checks.put("parameters_by_position", () -> using("", Check::byPosition));
        checks.put("parameters_by_name", () -> using("", Check::byName));
        checks.put("output_parameters", () -> using("", Check::outputs));
        checks.put("result_sets", () -> using("", Check::resultSets));
        checks.put("prepared", Check::prepared);
        checks.put("bulk", () -> using("", Check::bulk));
        checks.put("transactions", () -> using("", Check::transactions));
        checks.put("cancel", Check::cancel);
        checks.put("pool_reset", Check::poolReset);
        checks.put("error_mid_batch", () -> using("", Check::errorMidBatch));
        checks.put("messages", () -> using("", Check::messages));
        checks.put("packet_sizes", Check::packetSizes);
        checks.put("cursors", Check::cursors);
        checks.put("mars", () -> { throw new Absent("one statement of a connection at a time"); });
        run(checks);
    }

    static String url(String options) {
        return "jdbc:sqlserver://" + env.get("DRV_HOST") + ":" + env.get("DRV_PORT") + ";databaseName=" + env.get("DRV_DATABASE") + ";user=" + env.get("DRV_USER")
            + ";password=" + env.get("DRV_PASSWORD") + ";trustStore=" + env.get("DRV_TRUSTSTORE") + ";trustStorePassword=changeit;loginTimeout=60;" + options;
    }

    static void using(String options, Use work) throws Exception {
        try (Connection c = DriverManager.getConnection(url(options))) { work.with(c); }
    }

    static void types(Connection c) throws Exception {
        List<String> wrong = new ArrayList<>();
        for (String[] f : cases()) {
            String name = f[0], type = f[1], kind = f[2], sql = f[3], want = f[4].repeat(Integer.parseInt(f[5]));
            try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT " + sql)) {
                r.next();
                if (!equal(kind, r, want)) { wrong.add(name + " reads " + canonical(kind, r)); continue; }
                int sqlType = r.getMetaData().getColumnType(1);
                insert(c, name, type, r, sqlType);
                try (Statement n = c.createStatement(); ResultSet none = n.executeQuery("SELECT CAST(NULL AS " + type + ")")) {
                    none.next();
                    if (none.getObject(1) != null || !none.wasNull()) wrong.add(name + " NULL reads otherwise");
                }
            } catch (Exception e) { wrong.add(name + ": " + e.getMessage()); }
        }
        if (!wrong.isEmpty()) throw new Exception(String.join("; ", wrong));
    }

    static void insert(Connection c, String name, String type, ResultSet r, int sqlType) throws Exception {
        try (PreparedStatement p = c.prepareStatement("INSERT INTO dbo.[back_" + name + "] (c) VALUES (?)")) {
            SQLServerPreparedStatement own = p.unwrap(SQLServerPreparedStatement.class);
            Matcher scale = Pattern.compile("(?:time|datetime2|datetimeoffset)\\((\\d)\\)").matcher(type);
            switch (type) {
                case "datetime": own.setDateTime(1, r.getTimestamp(1)); break;
                case "smalldatetime": own.setSmallDateTime(1, r.getTimestamp(1)); break;
                case "money": own.setMoney(1, r.getBigDecimal(1)); break;
                case "smallmoney": own.setSmallMoney(1, r.getBigDecimal(1)); break;
                case "uniqueidentifier": own.setUniqueIdentifier(1, r.getString(1)); break;
                case "xml": { SQLXML x = c.createSQLXML(); x.setString(r.getString(1)); p.setSQLXML(1, x); break; }
                case "sql_variant": p.setObject(1, r.getObject(1)); break;
                default:
                    if (type.startsWith("datetimeoffset")) { scale.matches(); own.setDateTimeOffset(1, ((SQLServerResultSet) r).getDateTimeOffset(1), Integer.parseInt(scale.group(1))); }
                    else if (type.startsWith("datetime2")) { scale.matches(); own.setTimestamp(1, r.getTimestamp(1), Integer.parseInt(scale.group(1))); }
                    else if (type.startsWith("time")) { scale.matches(); p.setString(1, r.getString(1)); }
                    else if (type.startsWith("decimal") || type.startsWith("numeric")) p.setBigDecimal(1, r.getBigDecimal(1));
                    else if (sqlType == Types.NVARCHAR || sqlType == Types.NCHAR || sqlType == Types.LONGNVARCHAR) p.setNString(1, r.getNString(1));
                    else p.setObject(1, r.getObject(1), sqlType);
            }
            p.executeUpdate();
        }
        try (PreparedStatement p = c.prepareStatement("INSERT INTO dbo.[back_" + name + "] (c) VALUES (?)")) {
            p.setNull(1, type.equals("sql_variant") ? Types.NVARCHAR : type.equals("xml") ? Types.SQLXML : sqlType);
            p.executeUpdate();
        }
    }

    static void byPosition(Connection c) throws Exception {
        same(rows(c, "SELECT CAST(? AS int) - CAST(? AS int), ?", 50, 8, "x'y"), List.of(List.of(42, "x'y")));
        same(rows(c, "SELECT COUNT(*) FROM dbo.numbers WHERE n BETWEEN ? AND ?", 3, 5), List.of(List.of(3)));
        try (PreparedStatement p = c.prepareStatement("INSERT INTO dbo.loaded (id, name) VALUES (?, ?)")) {
            ParameterMetaData m = p.getParameterMetaData();
            same(List.of(m.getParameterCount(), m.getParameterType(1), m.getParameterType(2), m.getPrecision(2)), List.of(2, Types.INTEGER, Types.NVARCHAR, 50));
        }
    }

    static void byName(Connection c) throws Exception {
        try (CallableStatement s = c.prepareCall("{call dbo.p_name(?, ?)}")) {
            s.setNString("text", "x'y");
            s.setInt("number", 42);
            try (ResultSet r = s.executeQuery()) { same(read(r), List.of(List.of(42, "x'y"))); }
        }
    }

    static void outputs(Connection c) throws Exception {
        try (CallableStatement s = c.prepareCall("{? = call dbo.p_out(?, ?, ?)}")) {
            s.registerOutParameter(1, Types.INTEGER);
            s.setInt(2, 21);
            s.registerOutParameter(3, Types.INTEGER);
            s.setNString(4, "𠮷");
            s.registerOutParameter(4, Types.NVARCHAR);
            s.execute();
            try (ResultSet r = s.getResultSet()) { same(read(r), List.of(List.of(21))); }
            while (s.getMoreResults() || s.getUpdateCount() != -1) { }
            same(List.of(s.getInt(1), s.getInt(3), s.getNString(4)), List.of(7, 42, "grüße 𠮷"));
        }
    }

    static void prepared() throws Exception {
        for (String options : List.of("", "prepareMethod=prepare", "enablePrepareOnFirstPreparedStatementCall=true;disableStatementPooling=false;statementPoolingCacheSize=10"))
            using(options, Program::insertPrepared);
    }

    static void bulk(Connection c) throws Exception {
        execute(c, "DELETE FROM dbo.loaded");
        StringBuilder csv = new StringBuilder();
        for (int i = 0; i < 5000; i++) csv.append(i).append('\t').append(i % 10 == 0 ? "" : "row " + i + " 😀").append('\n');
        Path file = Files.createTempFile("bulk", ".csv");
        try (SQLServerBulkCopy load = new SQLServerBulkCopy(c)) {
            Files.writeString(file, csv);
            SQLServerBulkCSVFileRecord source = new SQLServerBulkCSVFileRecord(file.toString(), "UTF-8", "\t", false);
            source.addColumnMetadata(1, "id", Types.INTEGER, 0, 0);
            source.addColumnMetadata(2, "name", Types.NVARCHAR, 50, 0);
            load.setDestinationTableName("dbo.loaded");
            load.writeToServer(source);
        } finally { Files.delete(file); }
        same(rows(c, "SELECT COUNT(*), COUNT(name), SUM(id) FROM dbo.loaded"), List.of(List.of(5000, 4500, 12497500)));
        same(rows(c, "SELECT name FROM dbo.loaded WHERE id = 4999"), List.of(List.of("row 4999 😀")));
    }

    /** The driver notes that it has sent its ATTENTION after sending it: an answer that is quicker is lost, and it waits for ever. So the socket has a time-out, and there are several tries. */
    static void cancel() throws Exception {
        for (int left = 8; ; left--) {
            try {
                using("socketTimeout=5000", Check::cancel);
                return;
            } catch (Exception e) { if (left == 1) throw e; }
        }
    }

    static void cancel(Connection c) throws Exception {
        Object spid = rows(c, "SELECT @@SPID").get(0).get(0);
        AtomicBoolean ended = new AtomicBoolean();
        try (Statement s = c.createStatement(); Connection other = DriverManager.getConnection(url(""))) {
            Thread watcher = new Thread(() -> {
                try {
                    while (!ended.get()) {
                        if ((int) rows(other, "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE command = 'WAITFOR' AND session_id = ?", spid).get(0).get(0) > 0) { s.cancel(); return; }
                        Thread.sleep(50);
                    }
                } catch (Exception e) { System.err.println(e); }
            });
            watcher.start();
            String error = "";
            try { s.execute("WAITFOR DELAY '00:02:00'"); } catch (SQLException e) { error = e.getMessage(); }
            ended.set(true);
            watcher.join();
            same(error.toLowerCase().contains("cancel"), true);
        }
        same(rows(c, "SELECT @@SPID").get(0).get(0), spid);
    }

    static void poolReset() throws Exception {
        SQLServerConnectionPoolDataSource source = new SQLServerConnectionPoolDataSource();
        source.setURL(url(""));
        PooledConnection pooled = source.getPooledConnection();
        Object spid;
        try (Connection c = pooled.getConnection()) {
            spid = rows(c, "SELECT @@SPID").get(0).get(0);
            execute(c, "CREATE TABLE #left (id int); SET LOCK_TIMEOUT 1234; USE master; BEGIN TRANSACTION; INSERT INTO #left (id) VALUES (1)");
        }
        try (Connection c = pooled.getConnection()) {
            same(rows(c, "SELECT @@SPID, OBJECT_ID('tempdb..#left'), @@TRANCOUNT, @@LOCK_TIMEOUT, DB_NAME()"), List.of(Arrays.asList(spid, null, 0, -1, env.get("DRV_DATABASE"))));
        }
        pooled.close();
    }

    /** Cursors of every kind, of a statement and of a prepared one, and the way back. */
    static void cursors() throws Exception {
        final String query = "SELECT n, REPLICATE(N'x', 100) FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n FROM sys.all_columns) AS r WHERE n <= 200";
        using("", c -> {
            for (int kind : new int[] {ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.TYPE_SCROLL_SENSITIVE}) {
                try (Statement s = c.createStatement(kind, ResultSet.CONCUR_READ_ONLY); ResultSet r = s.executeQuery(query + " ORDER BY n")) {
                    walk(r);
                }
                try (PreparedStatement s = c.prepareStatement(query + " AND n > ? ORDER BY n", kind, ResultSet.CONCUR_READ_ONLY)) {
                    for (int from : new int[] {0, 150, 199}) {
                        s.setInt(1, from);
                        try (ResultSet r = s.executeQuery()) {
                            if (from == 0) walk(r);
                            else same(r.last() ? r.getRow() : 0, 200 - from);
                        }
                    }
                }
            }
        });
        using("selectMethod=cursor", c -> {
            same(rows(c, query + " ORDER BY n").size(), 200);
            same(rows(c, "SELECT 1 AS a; SELECT 2 AS b").get(0), List.of(1));
        });
    }

    static void walk(ResultSet r) throws Exception {
        int n = 0;
        while (r.next()) same(r.getInt(1), ++n);
        same(Arrays.asList(n, r.isAfterLast(), r.previous(), r.getInt(1), r.absolute(17), r.getInt(1), r.relative(-5), r.getInt(1), r.first(), r.getInt(1)),
            Arrays.asList(200, true, true, 200, true, 17, true, 12, true, 1));
        same(Arrays.asList(r.previous(), r.isBeforeFirst(), r.absolute(-3), r.getRow(), r.absolute(1000), r.isAfterLast(), r.last(), r.getString(2).length()),
            Arrays.asList(false, true, true, 198, false, true, true, 100));
    }

    static void errorMidBatch(Connection c) throws Exception {
        List<Object> seen = new ArrayList<>();
        try (Statement s = c.createStatement()) {
            boolean more = s.execute("SELECT 1 AS a; INSERT INTO dbo.keyed (id) VALUES (1); SELECT 2 AS b");
            for (boolean end = false; !end; ) {
                try {
                    if (more) try (ResultSet r = s.getResultSet()) { seen.addAll(read(r).get(0)); }
                    more = s.getMoreResults();
                    end = !more && s.getUpdateCount() == -1;
                } catch (SQLException e) { seen.add(e.getErrorCode()); more = false; }
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
        } catch (SQLServerException e) {
            same(List.of(e.getErrorCode(), e.getSQLServerError().getErrorState(), e.getSQLServerError().getProcedureName().replaceFirst("^dbo[.]", "")), List.of(50000, 3, "p_raises"));
        }
    }

    static void packetSizes() throws Exception {
        for (int size : new int[] {512, 4096, 32767}) {
            // The driver refuses more than 16 KB with TLS.
            using("packetSize=" + size + (size > 16000 ? ";encrypt=false" : ""), c -> {
                String text = "é".repeat(300000);
                same(rows(c, "SELECT CAST(LEN(?) AS int), CAST(? AS nvarchar(max))", text, text), List.of(List.of(300000, text)));
                same(rows(c, "SELECT net_packet_size FROM sys.dm_exec_connections WHERE session_id = @@SPID"), List.of(List.of(size)));
            });
        }
    }
}
