// SPDX-License-Identifier: Apache-2.0

//go:build drivers

package drivers_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// driver is a client that somebody else wrote, and the program that drives it through the checks.
type driver struct {
	name, title string
	// version is the key of its version in versions.env; empty for Debian's packages.
	version string
	command func(installed string) []string
}

func python(program, name string) func(string) []string {
	return func(installed string) []string {
		return []string{filepath.Join(installed, "venv", "bin", "python"), filepath.Join("python", program), name}
	}
}

var drivers = []driver{
	{"mssql-jdbc", "mssql-jdbc (Java)", "MSSQL_JDBC", func(string) []string { return []string{"java", "Check"} }},
	{"jtds", "jTDS (Java, TDS 7.1)", "JTDS", func(string) []string { return []string{"java", "Jtds"} }},
	{
		"tedious",
		"tedious (JavaScript)",
		"TEDIOUS",
		func(string) []string { return []string{"node", filepath.Join("javascript", "check.mjs")} },
	},
	{"msodbcsql", "Microsoft ODBC 18 (pyodbc)", "MSSQL_PYTHON_ODBC", python("drivers.py", "msodbcsql")},
	{"mssql-python", "mssql-python", "MSSQL_PYTHON", python("drivers.py", "mssql-python")},
	{"freetds-odbc", "FreeTDS ODBC (pyodbc)", "", python("drivers.py", "freetds-odbc")},
	{"pymssql", "pymssql", "PYMSSQL", python("drivers.py", "pymssql")},
	{"python-tds", "python-tds", "PYTHON_TDS", python("drivers.py", "python-tds")},
	{"freetds-tools", "FreeTDS tsql, bsqldb, freebcp", "", python("tools.py", "")},
}

// checkNames are the rows of the table of results.
var checkNames = []struct{ name, title string }{
	{
		"tls_optional",
		"TLS optional (login encrypted only)",
	}, {"tls_required", "TLS required"}, {"tls_strict", "TLS strict (TDS 8.0)"},
	{
		"types",
		"types there and back",
	}, {"parameters_by_position", "parameters by position"}, {"parameters_by_name", "parameters by name"},
	{
		"output_parameters",
		"output parameters, return code",
	}, {"result_sets", "several result sets"}, {"prepared", "prepared statements used again"},
	{
		"bulk",
		"bulk insert",
	}, {"transactions", "transactions, savepoints"}, {"cancel", "cancel"}, {"pool_reset", "pool resets a session"},
	{
		"error_mid_batch",
		"error within a batch",
	}, {"messages", "server messages"}, {"packet_sizes", "packet sizes"}, {"cursors", "scrollable cursors"},
	{"mars", "several results open at a time (MARS)"},
}

// result is what a program says of one check, or of a value of types.json that its driver cannot carry.
type result struct{ Check, Result, Detail, Skip, Reason string }

// results of one driver: of checks by their names, and why values of types.json were left out.
type results struct {
	checks map[string]result
	skips  map[string]string
}

func installed(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("GEOSQL_DRIVERS")
	if dir == "" {
		t.Fatal("GEOSQL_DRIVERS must name the folder that hack/drivers installed into; use make test-drivers")
	}
	return dir
}

// TestDrivers runs every driver's program; a failed check fails the test. The table of results in docs/drivers.md must
// say the same, or is written anew when GEOSQL_WRITE_DRIVERS is set.
func TestDrivers(t *testing.T) {
	dir := installed(t)
	s := start(t)
	env := s.prepareEnvironment(t, dir)
	all := map[string]results{"go-mssqldb": goDriver(t, s)}
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			// freebcp takes a database's name as it is into its statements.
			database := strings.ReplaceAll(d.name, "-", "_")
			db := s.database(t, database)
			r := runProgram(t, d.command(dir), append(env, "DRV_DATABASE="+database))
			all[d.name] = r
			// The tools only read.
			if c := r.checks["types"]; c.Result == "pass" && d.name != "freetds-tools" {
				for _, wrong := range judge(t, db, r.skips) {
					t.Errorf("types: %s", wrong)
				}
			}
			for _, c := range checkNames {
				switch got := r.checks[c.name]; got.Result {
				case "pass", "absent":
				case "":
					t.Errorf("%s: no result", c.name)
				default:
					t.Errorf("%s: %s", c.name, got.Detail)
				}
			}
		})
	}
	checkTable(t, dir, all)
}

// prepareEnvironment writes what programs read besides the server: the cases as TSV for Java, ODBC's and Java's stores,
// and the programs of Java, which share a class and are compiled.
func (s *server) prepareEnvironment(t *testing.T, dir string) []string {
	t.Helper()
	g := NewWithT(t)
	var tsv strings.Builder
	for _, c := range typeCases(t) {
		text, times := c.Text, 1
		if c.Times > 0 {
			text, times = c.Repeat, c.Times
		}
		fmt.Fprintf(&tsv, "%s\t%s\t%s\t%s\t%s\t%d\n", c.Name, c.Type, c.Kind, c.SQL, text, times)
	}
	g.Expect(os.WriteFile(filepath.Join(s.work, "types.tsv"), []byte(tsv.String()), 0o600)).To(Succeed())
	msodbc, err := filepath.Glob(
		filepath.Join(dir, "venv/lib/python3*/site-packages/mssql_python_odbc/libs/linux/debian_ubuntu/*/lib/libmsodbcsql-*"),
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(msodbc).To(HaveLen(1))
	freetds, err := filepath.Glob("/usr/lib/*/odbc/libtdsodbc.so")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(freetds).To(HaveLen(1))
	// mssql-django knows Microsoft's driver by the name that its own installation gives it.
	odbc := fmt.Sprintf(
		"[msodbcsql]\nDriver=%[1]s\n[ODBC Driver 18 for SQL Server]\nDriver=%[1]s\n[FreeTDS]\nDriver=%[2]s\n",
		msodbc[0],
		freetds[0],
	)
	g.Expect(os.WriteFile(filepath.Join(s.work, "odbcinst.ini"), []byte(odbc), 0o600)).To(Succeed())
	store := filepath.Join(s.work, "trust.p12")
	out, err := exec.Command("keytool", "-importcert", "-noprompt", "-file", s.ca, "-keystore", store, "-storepass",
		"changeit", "-storetype", "PKCS12").
		CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	classes := strings.Join(
		[]string{filepath.Join(s.work, "java"), filepath.Join(dir, "mssql-jdbc.jar"), filepath.Join(dir, "jtds.jar")},
		":",
	)
	sources, err := filepath.Glob("java/*.java")
	g.Expect(err).NotTo(HaveOccurred())
	out, err = exec.Command("javac",
		append([]string{"-encoding", "UTF-8", "-cp", classes, "-d", filepath.Join(s.work, "java")}, sources...)...).
		CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	cases, err := filepath.Abs("types.json")
	g.Expect(err).NotTo(HaveOccurred())
	return append(
		os.Environ(),
		"DRV_HOST=localhost",
		"DRV_PORT="+s.port,
		"DRV_USER="+user,
		"DRV_PASSWORD="+password,
		"DRV_CA="+s.ca,
		"DRV_CERTIFICATE="+s.cert,
		"DRV_TYPES="+cases,
		"DRV_TYPES_TSV="+filepath.Join(s.work, "types.tsv"),
		"DRV_TRUSTSTORE="+store,
		"CLASSPATH="+classes,
		"DRV_MODULES="+filepath.Join(dir, "node"),
		"ODBCSYSINI="+s.work,
		"SSL_CERT_FILE="+s.ca,
		"PYTHONDONTWRITEBYTECODE=1",
	)
}

func runProgram(t *testing.T, command, env []string) results {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), driverWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errs
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, errs.String())
	}
	r := results{checks: map[string]result{}, skips: map[string]string{}}
	lines := bufio.NewScanner(&out)
	for lines.Scan() {
		var one result
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Logf("%s", lines.Text())
			continue
		}
		if one.Skip != "" {
			r.skips[one.Skip] = one.Reason
		} else {
			r.checks[one.Check] = one
		}
	}
	return r
}

// judge compares what a driver inserted with the cases: one row of the value and one of NULL.
func judge(t *testing.T, db *sql.DB, skips map[string]string) []string {
	t.Helper()
	var wrong []string
	for _, c := range typeCases(t) {
		if skips[c.Name] != "" {
			continue
		}
		left, right := "c", c.SQL
		switch c.Type {
		case "text", "ntext", "xml":
			left, right = "CAST(c AS nvarchar(max))", "CAST("+c.SQL+" AS nvarchar(max))"
		case "image":
			left, right = "CAST(c AS varbinary(max))", "CAST("+c.SQL+" AS varbinary(max))"
		case "datetimeoffset(7)", "time(7)", "datetime2(7)":
			// Languages with microseconds drop the seventh digit.
			left, right = fmt.Sprintf(
				"ABS(DATEDIFF(ns, c, %s))",
				c.SQL,
			), "0 THEN 1 WHEN c IS NOT NULL AND ABS(DATEDIFF(ns, c, "+c.SQL+")) < 1000"
		}
		var matching, null, count int
		err := db.QueryRow(fmt.Sprintf("SELECT COUNT(CASE WHEN %s = %s THEN 1 END), COUNT(CASE WHEN c IS NULL THEN 1 "+
			"END), COUNT(*) FROM dbo.[back_%s]", left, right, c.Name)).
			Scan(&matching, &null, &count)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", c.Name, err))
		} else if matching != 1 || null != 1 || count != 2 {
			wrong = append(wrong, fmt.Sprintf("%s: of %d rows %d have the value and %d are NULL", c.Name, count, matching, null))
		}
	}
	return wrong
}
