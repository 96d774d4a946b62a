// SPDX-License-Identifier: Apache-2.0

package tsql_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// each calls f for every sample.
func each(t *testing.T, f func(t *testing.T, text string)) {
	t.Helper()
	for _, function := range slices.Sorted(maps.Keys(samples)) {
		for i, s := range samples[function] {
			t.Run(function+"/"+strconv.Itoa(i), func(t *testing.T) { f(t, s.Text) })
		}
	}
}

// The samples are worth nothing if a function that makes statements has none.
func TestEveryStatementHasSamples(t *testing.T) {
	g := NewWithT(t)
	entries, err := os.ReadDir(".")
	g.Expect(err).NotTo(HaveOccurred())
	functions := map[string]bool{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.SkipObjectResolution)
		g.Expect(err).NotTo(HaveOccurred())
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() && makesStatement(f) {
				functions[f.Name.Name] = true
			}
		}
	}
	g.Expect(functions).NotTo(BeEmpty())
	for f := range functions {
		if len(samples[f]) == 0 {
			t.Errorf("add samples of every form that %s can make", f)
		}
	}
	for f := range samples {
		if !functions[f] {
			t.Errorf("no function %s makes statements any more: take its samples away", f)
		}
	}
}

func makesStatement(f *ast.FuncDecl) bool {
	if f.Type.Results == nil {
		return false
	}
	for _, r := range f.Type.Results.List {
		of := r.Type
		if list, ok := of.(*ast.ArrayType); ok {
			of = list.Elt
		}
		if id, ok := of.(*ast.Ident); ok && id.Name == "Statement" {
			return true
		}
	}
	return false
}

// What decides by a statement goes by what it says of itself, so that it has to be true: everything that copies, backs
// up, checks or rebuilds is long, a call has its procedure's name.
func TestStatementsSayWhatTheyAre(t *testing.T) {
	long := regexp.MustCompile(`(?m)^(BACKUP|RESTORE|DBCC CHECKDB) |\bREBUILD\b`)
	alone := regexp.MustCompile(`^EXEC (\S+)`)
	for function, list := range samples {
		for _, s := range list {
			g := NewWithT(t)
			g.Expect(s.Long).To(Equal(long.MatchString(s.Text)), "%s: %s", function, s)
			g.Expect(s.Exclusive).To(Equal(strings.Contains(s.Text, "sp_dropdistributiondb") ||
				strings.Contains(s.Text, "READ_COMMITTED_SNAPSHOT") || function == "DropOwnOnline"), "%s: %s", function, s)
			if call := alone.FindStringSubmatch(s.Text); call != nil {
				g.Expect(s.Procedure).To(Equal(call[1]), "%s: %s", function, s)
			}
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	for function, list := range samples {
		for _, s := range list {
			if shown := s.Redacted() + s.String(); strings.Contains(shown, "secret") {
				t.Errorf("%s shows a secret: %s", function, shown)
			}
			for _, a := range s.Args {
				if text, ok := a.Value.(string); ok && strings.Contains(text, "secret") && !s.SecretArgument(a.Name) {
					t.Errorf("parameter %s of %s has a secret and is not marked", a.Name, function)
				}
			}
		}
	}
}

var (
	execution = regexp.MustCompile(
		`(?i)\bEXEC(?:UTE)?\s+(?:@\w+\s*=\s*)?(?:\[?\w+\]?\.)?(?:\[?\w*\]?\.)?\[?(sp_\w+|xp_\w+)\]?([^;]*)`,
	)
	argument = regexp.MustCompile(`(@\w+)\s*=\s*(N'(?:[^']|'')*'|0x[0-9A-Fa-f]*|-?\w+|@\w+)`)
	literals = regexp.MustCompile(stringForm)
	keywords = regexp.MustCompile(`\b([A-Z][A-Z_]+) =`)
)

// uncataloguedProcedures are procedures that the catalog does not have, with parameters that their pages have.
var uncataloguedProcedures = map[string][]string{
	// docs/relational-databases/system-stored-procedures/sp-addsubscriber-transact-sql.md
	"sp_addsubscriber": {"@subscriber", "@type", "@login", "@password", "@security_mode"},
	// What the engine's own maintenance jobs run, by the commands that the field shows of them; no page has them.
	"sp_MSdistribution_cleanup": {"@min_distretention", "@max_distretention"},
	"sp_MShistory_cleanup":      {"@history_retention"},
}

// Every procedure is documented, with these parameters; a value is one that the page allows, and none is missing.
func TestProceduresAreAsDocumented(t *testing.T) {
	each(t, func(t *testing.T, text string) {
		for _, m := range execution.FindAllStringSubmatch(text, -1) {
			documented, ok := catalog().procedure(m[1])
			if parameters := uncataloguedProcedures[m[1]]; !ok && parameters != nil {
				for _, a := range argument.FindAllStringSubmatch(m[2], -1) {
					if !slices.Contains(parameters, a[1]) {
						t.Errorf("%s has no parameter %s", m[1], a[1])
					}
				}
				continue
			}
			if !ok {
				t.Fatalf("procedure %s is not in the catalog", m[1])
			}
			given := map[string]bool{}
			for _, a := range argument.FindAllStringSubmatch(m[2], -1) {
				p, ok := documented.parameter(a[1])
				if !ok {
					t.Errorf("%s has no parameter %s", m[1], a[1])
					continue
				}
				given[strings.ToLower(p.Name)] = true
				checkAllowed(t, documented.Name, p, a[2])
			}
			for _, p := range documented.Parameters {
				if p.Required && !given[strings.ToLower(p.Name)] {
					t.Errorf("%s needs parameter %s", m[1], p.Name)
				}
			}
		}
	})
}

// checkAllowed compares a literal with the values that the page allows; a variable's value is not known here.
func checkAllowed(t *testing.T, procedure string, p *parameter, literal string) {
	t.Helper()
	if len(p.Allowed) == 0 || strings.HasPrefix(literal, "@") || strings.EqualFold(literal, "NULL") {
		return
	}
	value := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(literal, "N'"), "'"), "''", "'")
	if p.Name == "@schema_option" {
		checkBits(t, procedure, p, value)
		return
	}
	if !slices.ContainsFunc(p.Allowed, func(a string) bool {
		return strings.EqualFold(a, value) || sameNumber(a, value)
	}) {
		t.Errorf("%s %s = %s is not one of %v", procedure, p.Name, literal, p.Allowed)
	}
}

// sameNumber compares numbers of which one may be written in hexadecimal.
func sameNumber(a, b string) bool {
	first, err := strconv.ParseInt(a, 0, 64)
	second, other := strconv.ParseInt(b, 0, 64)
	return err == nil && other == nil && first == second
}

// checkBits compares each bit of a mask with the bits that the page allows.
func checkBits(t *testing.T, procedure string, p *parameter, value string) {
	t.Helper()
	mask, err := strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64)
	if err != nil {
		t.Errorf("%s %s = %s is no mask", procedure, p.Name, value)
	}
	for bit := uint64(1); bit != 0; bit <<= 1 {
		if one := "0x" + strings.ToUpper(strconv.FormatUint(bit, 16)); mask&bit != 0 &&
			!slices.ContainsFunc(p.Allowed, func(a string) bool {
				known, err := strconv.ParseUint(strings.TrimPrefix(a, "0x"), 16, 64)
				return err == nil && known == bit
			}) {
			t.Errorf("%s %s has bit %s, which is not one of %v", procedure, p.Name, one, p.Allowed)
		}
	}
}

// ddl is what the tests use of the catalog's DDL.
type ddl struct {
	Group   map[string]option `json:"group_options"`
	Replica map[string]option `json:"replica_options"`
	Options map[string]any    `json:"options"`
}

type option struct {
	Values []string `json:"values"`
	Create bool     `json:"create"`
	Alter  bool     `json:"alter"`
}

func family(t *testing.T, name string) (d ddl) {
	t.Helper()
	raw, ok := catalog().ddl[name]
	if !ok {
		t.Fatalf("the catalog has no DDL %s", name)
	}
	// CREATE_CERTIFICATE and a few others have a list of options; those are not asked for here.
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatalf("DDL %s: %v", name, err)
	}
	return d
}

// Options of groups and replicas are documented for CREATE or ALTER, whichever is used, and so are their values.
func TestGroupOptionsAreAsDocumented(t *testing.T) {
	documented := family(t, "AVAILABILITY_GROUP")
	listener := map[string]option{"PORT": {Create: true, Alter: true}}
	each(t, func(t *testing.T, text string) {
		if !strings.Contains(text, "AVAILABILITY GROUP [") {
			return
		}
		creates := strings.Contains(text, "CREATE AVAILABILITY GROUP") || strings.Contains(text, " ADD REPLICA") ||
			strings.Contains(text, " JOIN ")
		bare := literals.ReplaceAllString(text, "''")
		for _, m := range keywords.FindAllStringSubmatchIndex(bare, -1) {
			keyword, value, _ := bare[m[2]:m[3]], strings.TrimSpace(bare[m[1]:]), 0
			o, ok := documented.Group[keyword]
			for _, more := range []map[string]option{documented.Replica, listener} {
				if !ok {
					o, ok = more[keyword]
				}
			}
			if keyword == "ALLOW_CONNECTIONS" {
				o, ok = documented.Replica["SECONDARY_ROLE.ALLOW_CONNECTIONS"]
			}
			switch end := strings.IndexAny(value, " ,)\n;"); {
			case !ok:
				t.Errorf("option %s is not documented", keyword)
			case creates && !o.Create || !creates && !o.Alter:
				t.Errorf("option %s is not documented for this statement: %s", keyword, text)
			case len(o.Values) > 0 && (end < 0 || !slices.Contains(o.Values, value[:end])):
				t.Errorf("%s = %.30s is not one of %v", keyword, value, o.Values)
			}
		}
	})
}

// What excludes each other is not said together.
func TestConfigurationOnlyReplicasHaveNoDataOptions(t *testing.T) {
	each(t, func(t *testing.T, text string) {
		for _, clause := range strings.Split(text, "ENDPOINT_URL")[1:] {
			if clause, _, _ = strings.Cut(clause, "N'"+"dubcfg"); strings.Contains(clause, "CONFIGURATION_ONLY") &&
				(strings.Contains(clause, "FAILOVER_MODE") || strings.Contains(clause, "SEEDING_MODE")) {
				t.Errorf("a configuration-only replica excludes FAILOVER_MODE and SEEDING_MODE: %s", text)
			}
		}
	})
}

// backupOption is an option of BACKUP.
const backupOption = `(FORMAT|INIT|NOFORMAT|NOINIT|CHECKSUM|COMPRESSION|NO_COMPRESSION|COPY_ONLY|DIFFERENTIAL|BUFFERCOUNT = \d+|` +
	`MAXTRANSFERSIZE = \d+)`

// covered are the beginnings of statements whose options the catalog has, with what else may stand in them.
var covered = []*regexp.Regexp{
	regexp.MustCompile(`^(CREATE|ALTER) AVAILABILITY GROUP `),
	regexp.MustCompile(
		`^CREATE ENDPOINT ` + nameForm +
			` STATE = STARTED AS TCP \(LISTENER_PORT = \d+, LISTENER_IP = ALL\) FOR DATABASE_MIRRORING ` +
			`\(AUTHENTICATION = CERTIFICATE ` + nameForm +
			`, ENCRYPTION = REQUIRED ALGORITHM AES, ROLE = (WITNESS|PARTNER|ALL)\)$`,
	),
	regexp.MustCompile(
		`^ALTER ENDPOINT ` + nameForm + `( STATE = (STARTED|STOPPED)| FOR DATABASE_MIRRORING \(AUTHENTICATION = CERTIFICATE ` +
			nameForm + `\))$`,
	),
	regexp.MustCompile(
		`^CREATE CERTIFICATE ` + nameForm + `( WITH SUBJECT = ` + stringForm +
			`, START_DATE = N'\d{8} \d\d:\d\d:\d\d', EXPIRY_DATE = N'\d{8} \d\d:\d\d:\d\d'| AUTHORIZATION ` + nameForm +
			` FROM BINARY = 0x[0-9A-F]+)$`,
	),
	regexp.MustCompile(`^CREATE MASTER KEY ENCRYPTION BY PASSWORD = ` + stringForm + `$`),
	regexp.MustCompile(
		`^ALTER DATABASE ` + nameForm + ` SET HADR (AVAILABILITY GROUP = ` + nameForm + `|OFF|SUSPEND|RESUME)$`,
	),
	regexp.MustCompile(
		`^BACKUP (DATABASE|LOG) ` + nameForm + ` TO DISK = ` + stringForm + `(, DISK = ` + stringForm + `)* WITH ` +
			backupOption + `(, ` + backupOption + `)*$`,
	),
	regexp.MustCompile(
		`^RESTORE (DATABASE|LOG) ` + nameForm + ` FROM DISK = ` + stringForm + `(, DISK = ` + stringForm +
			`)* WITH (NO)?RECOVERY(, FILE = \d+)?(, MOVE ` + stringForm + ` TO ` + stringForm +
			`)*(, STOPAT = N'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}'|, STOPBEFOREMARK = N'lsn:\d+')?$`,
	),
	regexp.MustCompile(`^RESTORE DATABASE ` + nameForm + ` WITH RECOVERY$`),
	regexp.MustCompile(`^RESTORE (LABELONLY|HEADERONLY|FILELISTONLY) FROM DISK = ` + stringForm + `( WITH FILE = \d+)?$`),
	regexp.MustCompile(`(?i)^EXEC `),
}

// Every statement is one that the catalog covers or one of the documented forms, line by line; queries as a whole.
func TestStatementsHaveDocumentedForms(t *testing.T) {
	met := map[int]bool{}
	each(t, func(t *testing.T, text string) {
		lines := []string{text}
		if !strings.HasPrefix(text, "SELECT") && !strings.HasPrefix(text, "CREATE AVAILABILITY GROUP") &&
			familyOf(text) == "" {
			lines = strings.Split(text, "\n")
		}
		for _, line := range lines {
			line = strings.TrimSuffix(strings.TrimSpace(line), ";")
			i := slices.IndexFunc(forms, func(f form) bool { return f.pattern.MatchString(line) })
			if i >= 0 {
				met[i] = true
			} else if !slices.ContainsFunc(covered, func(r *regexp.Regexp) bool { return r.MatchString(line) }) {
				t.Errorf("no documented form of %q", line)
			}
		}
	})
	for i, f := range forms {
		if !met[i] {
			t.Errorf("no statement has the form %s of %s any more", f.pattern, f.doc)
		}
	}
}

// familyOf names families whose batches are checked elsewhere than line by line.
func familyOf(text string) string {
	if len(execution.FindStringIndex(text)) > 0 {
		return "procedures"
	}
	return ""
}

var views = regexp.MustCompile(`\bsys\.(\w+)`)

// uncataloguedViews are views that the catalog does not have, with their pages.
var uncataloguedViews = map[string]string{
	"sys.fn_hadr_backup_is_preferred_replica": "docs/relational-databases/system-functions/sys-fn-hadr-backup-is-preferred-replica-transact-sql.md",
	"sys.dm_db_partition_stats":               "docs/relational-databases/system-dynamic-management-views/sys-dm-db-partition-stats-transact-sql.md",
	"sys.symmetric_keys":                      "docs/relational-databases/system-catalog-views/sys-symmetric-keys-transact-sql.md",
	"sys.database_mirroring_endpoints":        "docs/relational-databases/system-catalog-views/sys-database-mirroring-endpoints-transact-sql.md",
	"sys.tcp_endpoints":                       "docs/relational-databases/system-catalog-views/sys-tcp-endpoints-transact-sql.md",
	"sys.dm_database_encryption_keys": "docs/relational-databases/system-dynamic-management-views/" +
		"sys-dm-database-encryption-keys-transact-sql.md",
	"sys.certificates":             "docs/relational-databases/system-catalog-views/sys-certificates-transact-sql.md",
	"sys.database_principals":      "docs/relational-databases/system-catalog-views/sys-database-principals-transact-sql.md",
	"sys.server_principals":        "docs/relational-databases/system-catalog-views/sys-server-principals-transact-sql.md",
	"sys.server_permissions":       "docs/relational-databases/system-catalog-views/sys-server-permissions-transact-sql.md",
	"sys.server_role_members":      "docs/relational-databases/system-catalog-views/sys-server-role-members-transact-sql.md",
	"sys.databases":                "docs/relational-databases/system-catalog-views/sys-databases-transact-sql.md",
	"sys.database_recovery_status": "docs/relational-databases/system-catalog-views/sys-database-recovery-status-transact-sql.md",
	"sys.database_files":           "docs/relational-databases/system-catalog-views/sys-database-files-transact-sql.md",
	"sys.master_files":             "docs/relational-databases/system-catalog-views/sys-master-files-transact-sql.md",
	"sys.columns":                  "docs/relational-databases/system-catalog-views/sys-columns-transact-sql.md",
	"sys.database_permissions":     "docs/relational-databases/system-catalog-views/sys-database-permissions-transact-sql.md",
	"sys.database_role_members":    "docs/relational-databases/system-catalog-views/sys-database-role-members-transact-sql.md",
	"sys.identity_columns":         "docs/relational-databases/system-catalog-views/sys-identity-columns-transact-sql.md",
	"sys.default_constraints":      "docs/relational-databases/system-catalog-views/sys-default-constraints-transact-sql.md",
	"sys.check_constraints":        "docs/relational-databases/system-catalog-views/sys-check-constraints-transact-sql.md",
	"sys.foreign_keys":             "docs/relational-databases/system-catalog-views/sys-foreign-keys-transact-sql.md",
	"sys.extended_properties":      "docs/relational-databases/system-catalog-views/extended-properties-catalog-views-sys-extended-properties.md",
	"sys.objects":                  "docs/relational-databases/system-catalog-views/sys-objects-transact-sql.md",
	"sys.sql_modules":              "docs/relational-databases/system-catalog-views/sys-sql-modules-transact-sql.md",
	"sys.triggers":                 "docs/relational-databases/system-catalog-views/sys-triggers-transact-sql.md",
	"sys.indexes":                  "docs/relational-databases/system-catalog-views/sys-indexes-transact-sql.md",
	"sys.index_columns":            "docs/relational-databases/system-catalog-views/sys-index-columns-transact-sql.md",
	"sys.types":                    "docs/relational-databases/system-catalog-views/sys-types-transact-sql.md",
	"sys.tables":                   "docs/relational-databases/system-catalog-views/sys-tables-transact-sql.md",
	"sys.schemas":                  "docs/relational-databases/system-catalog-views/schemas-catalog-views-sys-schemas.md",
	"sys.sql_logins":               "docs/relational-databases/system-catalog-views/sys-sql-logins-transact-sql.md",
	"sys.dm_os_sys_info":           "docs/relational-databases/system-dynamic-management-views/sys-dm-os-sys-info-transact-sql.md",
	"sys.dm_os_volume_stats":       "docs/relational-databases/system-dynamic-management-views/sys-dm-os-volume-stats-transact-sql.md",
	"sys.dm_exec_requests":         "docs/relational-databases/system-dynamic-management-views/sys-dm-exec-requests-transact-sql.md",
	"sys.dm_exec_sessions":         "docs/relational-databases/system-dynamic-management-views/sys-dm-exec-sessions-transact-sql.md",
}

// endpointColumns are those that sys.database_mirroring_endpoints and sys.tcp_endpoints inherit
// (docs/relational-databases/system-catalog-views/sys-endpoints-transact-sql.md).
var endpointColumns = []string{
	"name",
	"endpoint_id",
	"principal_id",
	"protocol",
	"protocol_desc",
	"type",
	"type_desc",
	"state",
	"state_desc",
	"is_admin_endpoint",
}

var from = regexp.MustCompile(`(?:FROM|JOIN) (sys\.\w+) AS (\w+)`)

// Views are documented, and the columns that are read of a catalogued one too.
func TestViewsAreAsDocumented(t *testing.T) {
	each(t, func(t *testing.T, text string) {
		for _, m := range views.FindAllStringSubmatch(text, -1) {
			name := "sys." + m[1]
			if _, ok := catalog().view(name); !ok && uncataloguedViews[name] == "" && !strings.HasPrefix(m[1], "sp_") {
				t.Errorf("view %s is neither in the catalog nor in the list of documented ones", name)
			}
		}
		for _, m := range from.FindAllStringSubmatch(text, -1) {
			view, ok := catalog().view(m[1])
			if !ok {
				continue
			}
			for _, c := range regexp.MustCompile(`\b`+m[2]+`\.(\w+)`).FindAllStringSubmatch(text, -1) {
				if strings.HasSuffix(m[1], "_endpoints") && slices.Contains(endpointColumns, c[1]) {
					continue
				}
				if !slices.ContainsFunc(view.Columns, func(i column) bool { return strings.EqualFold(i.Name, c[1]) }) {
					t.Errorf("view %s has no column %s", m[1], c[1])
				}
			}
		}
	})
}
