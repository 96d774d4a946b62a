// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// DefaultRoot is where an instance on Linux lives.
const DefaultRoot = "/var/opt/mssql"

// defaultCollation is the collation of LCID 1033, the only one served.
const defaultCollation = "SQL_Latin1_General_CP1_CI_AS"

// maxServerName is SQL Server's limit on Linux (docs/linux/sql-server-linux-setup.md).
const maxServerName = 15

// Settings is the whole configuration of an instance, after environment variables went before mssql.conf and arguments
// before both.
type Settings struct {
	Arguments  Arguments
	Root       string
	ServerName string
	// Password is MSSQL_SA_PASSWORD, needed at the first start only.
	Password string
	// Edition is SERVERPROPERTY('Edition') for MSSQL_PID.
	Edition string
	// Version is SERVERPROPERTY('ProductVersion') of another build than the program's own; empty for that.
	Version string

	// Address and Port are what to listen on; an empty Address is all, port 0 any free one.
	Address string
	Port    int
	TLS     TLSSettings

	DataDir, LogDir, BackupDir string
	ErrorLog                   string
	// ErrorLogs is how many older error logs are kept.
	ErrorLogs int

	HADREnabled, AgentEnabled bool
	// MemoryLimitMB is MSSQL_MEMORY_LIMIT_MB; 0 means 80 % of what the machine or container has.
	MemoryLimitMB int
	TraceFlags    []int
	// UNCMapping maps //host/share to a local directory.
	UNCMapping map[string]string
	// Answers are the questions that the engine answers the other way.
	Answers Answers
	// Warnings belong into the error log.
	Warnings []string
}

// TLSSettings is the network section's part of TLS.
type TLSSettings struct {
	Certificate, Key string
	// Protocols are the versions of network.tlsprotocols, empty when it is not set.
	Protocols       []string
	ForceEncryption bool
	ForceStrict     bool
	// OwnKey says that the key has to be the engine's own.
	OwnKey bool
}

// RefusedError is a configuration that the server must not start with. Its text says what to change.
type RefusedError struct{ Text string }

func (e *RefusedError) Error() string { return e.Text }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Load reads everything. environment is os.Environ's list. Errors are of type *RefusedError but for files that cannot
// be read.
func Load(arguments Arguments, environment []string, hostName string) (*Settings, error) {
	s := &Settings{Arguments: arguments, Root: arguments.Root}
	if s.Root == "" {
		s.Root = DefaultRoot
	}
	root, err := filepath.Abs(s.Root)
	if err != nil {
		return nil, fmt.Errorf("find directory %s: %w", s.Root, err)
	}
	s.Root = root
	path := filepath.Join(s.Root, "mssql.conf")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	conf, err := ParseConf(string(text))
	if err != nil {
		return nil, refuse("%v", err)
	}
	l := loader{conf: conf, env: map[string]string{}, used: map[string]bool{}}
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		l.env[name] = value
	}
	if err := l.fill(s, hostName); err != nil {
		return nil, err
	}
	s.UNCMapping = conf.UNCMapping
	s.Warnings = append(s.Warnings, conf.warnings()...)
	s.Warnings = append(s.Warnings, l.unused()...)
	for _, option := range arguments.Idle {
		s.Warnings = append(s.Warnings, fmt.Sprintf("Startup option %s has no effect in the stand-in.", option))
	}
	return s, nil
}

// loader looks settings up: environment variables first, then mssql.conf.
type loader struct {
	conf *Conf
	env  map[string]string
	used map[string]bool
	err  error
}

// text is a setting's value and where it comes from, for messages.
func (l *loader) text(variable, key string) (value, source string) {
	if variable != "" {
		l.used[variable] = true
		if v, ok := l.env[variable]; ok && v != "" {
			return v, variable
		}
	}
	if v, ok := l.conf.get(key); ok && key != "" {
		return v, "mssql.conf setting " + key
	}
	return "", ""
}

func (l *loader) number(variable, key string, low, high int, target *int) {
	value, source := l.text(variable, key)
	if value == "" || l.err != nil {
		return
	}
	n := 0
	if _, err := fmt.Sscanf(value+"\n", "%d\n", &n); err != nil || n < low || n > high {
		l.err = refuse("%s must be a number from %d to %d, not %q.", source, low, high, value)
		return
	}
	*target = n
}

func (l *loader) flag(variable, key string, target *bool) {
	value, source := l.text(variable, key)
	switch strings.ToLower(value) {
	case "":
	case "1", "true", "y", "yes", "on":
		*target = true
	case "0", "false", "n", "no", "off":
		*target = false
	default:
		if l.err == nil {
			l.err = refuse("%s must be true or false (1 or 0), not %q.", source, value)
		}
	}
}

func (l *loader) directory(variable, key, fallback string) string {
	value, source := l.text(variable, key)
	if value == "" {
		return fallback
	}
	if !filepath.IsAbs(value) && l.err == nil {
		l.err = refuse("%s must be an absolute path, not %q.", source, value)
	}
	return filepath.Clean(value)
}

func (l *loader) fill(s *Settings, hostName string) error {
	if err := l.license(); err != nil {
		return err
	}
	s.Password, _ = l.text("MSSQL_SA_PASSWORD", "")
	if s.Password == "" {
		s.Password, _ = l.text("SA_PASSWORD", "")
	}
	l.used["SA_PASSWORD"] = true
	if err := l.edition(s); err != nil {
		return err
	}
	s.Port = 1433
	l.number("MSSQL_TCP_PORT", "network.tcpport", 0, 65535, &s.Port)
	s.Address, _ = l.text("MSSQL_IP_ADDRESS", "network.ipaddress")
	s.DataDir = l.directory("MSSQL_DATA_DIR", "filelocation.defaultdatadir", filepath.Join(s.Root, "data"))
	s.LogDir = l.directory("MSSQL_LOG_DIR", "filelocation.defaultlogdir", s.DataDir)
	s.BackupDir = l.directory("MSSQL_BACKUP_DIR", "filelocation.defaultbackupdir", s.DataDir)
	s.ErrorLog = l.directory("MSSQL_ERROR_LOG_FILE", "filelocation.errorlogfile", filepath.Join(s.Root, "log", "errorlog"))
	if s.Arguments.ErrorLog != "" {
		s.ErrorLog = s.Arguments.ErrorLog
	}
	s.ErrorLogs = 6
	l.number("", "errorlog.numerrorlogs", 1, 99, &s.ErrorLogs)
	l.flag("MSSQL_ENABLE_HADR", "hadr.hadrenabled", &s.HADREnabled)
	l.flag("MSSQL_AGENT_ENABLED", "sqlagent.enabled", &s.AgentEnabled)
	l.number("MSSQL_MEMORY_LIMIT_MB", "memory.memorylimitmb", 64, 1<<30, &s.MemoryLimitMB)
	s.TLS.Certificate, _ = l.text("", "network.tlscert")
	s.TLS.Key, _ = l.text("", "network.tlskey")
	l.flag("", "network.forceencryption", &s.TLS.ForceEncryption)
	l.flag("", "network.forcestrict", &s.TLS.ForceStrict)
	if protocols, _ := l.text("", "network.tlsprotocols"); protocols != "" {
		for _, p := range strings.Split(protocols, ",") {
			s.TLS.Protocols = append(s.TLS.Protocols, strings.TrimSpace(p))
		}
	}
	l.answers(s)
	l.version(s)
	l.masterFiles(s)
	l.language()
	l.traceFlags(s)
	l.serverName(s, hostName)
	return l.err
}

func (l *loader) answers(s *Settings) {
	list, source := l.text("", "standin.answers")
	var err error
	if s.Answers, err = ParseAnswers(list); err != nil && l.err == nil {
		l.err = refuse("%s: %v.", source, err)
	}
	s.TLS.OwnKey = s.Answers.Has(KeyIsOwn)
}

// license is the licence question, which the real image asks and the stand-in asks alike, so that a pod that works here
// works there.
func (l *loader) license() error {
	accepted, _ := l.text("ACCEPT_EULA", "eula.accepteula")
	if accepted == "" {
		return refuse("The licence terms were not accepted. Set the environment variable ACCEPT_EULA to Y. " +
			"(The stand-in's own licence is Apache-2.0; it asks as the image it stands for does.)")
	}
	return nil
}

// editions are MSSQL_PID's values (docs/linux/configure/environment-variables.md) in SERVERPROPERTY's words.
var editions = map[string]string{
	"evaluation": "Enterprise Evaluation Edition (64-bit)", "developer": "Developer Edition (64-bit)",
	"express": "Express Edition (64-bit)", "web": "Web Edition (64-bit)", "standard": "Standard Edition (64-bit)",
	"enterprise": "Enterprise Edition (64-bit)", "enterprisecore": "Enterprise Edition: Core-based Licensing (64-bit)",
	"standarddeveloper":   "Standard Developer Edition (64-bit)",
	"enterprisedeveloper": "Enterprise Developer Edition (64-bit)",
}

func (l *loader) edition(s *Settings) error {
	id, _ := l.text("MSSQL_PID", "")
	if id == "" {
		id = "Developer"
	}
	if s.Edition = editions[strings.ToLower(id)]; s.Edition == "" {
		return refuse("MSSQL_PID must be one of Evaluation, Developer, Express, Web, Standard, Enterprise, EnterpriseCore, " +
			"StandardDeveloper or EnterpriseDeveloper; product keys are not supported by the stand-in.")
	}
	return nil
}

// builds is the form of a build's number, such as 16.0.4135.4.
var builds = regexp.MustCompile(`^1[4-7](\.[0-9]{1,4}){3}$`)

// version is for an image that stands for another update of the same program.
func (l *loader) version(s *Settings) {
	value, source := l.text("STANDIN_VERSION", "")
	if value != "" && !builds.MatchString(value) && l.err == nil {
		l.err = refuse("%s must be a build of SQL Server from major version 14 to 17, such as 16.0.4135.4.", source)
	}
	s.Version = value
}

// masterFiles checks -d and -l: the system databases live in the data directory here.
func (l *loader) masterFiles(s *Settings) {
	data := l.directory("MSSQL_MASTER_DATA_FILE", "filelocation.masterdatafile", s.Arguments.MasterData)
	log := l.directory("MSSQL_MASTER_LOG_FILE", "filelocation.masterlogfile", s.Arguments.MasterLog)
	for _, file := range []string{data, log} {
		if file != "" && filepath.Dir(file) != s.DataDir {
			s.Warnings = append(
				s.Warnings,
				fmt.Sprintf("The place %s of a master file has no effect: system databases live in %s.", file, s.DataDir),
			)
		}
	}
}

func (l *loader) language() {
	if c, _ := l.text("MSSQL_COLLATION", ""); c != "" && !strings.EqualFold(c, defaultCollation) && l.err == nil {
		l.err = refuse("MSSQL_COLLATION %q is not supported; the server's collation is %s.", c, defaultCollation)
	}
	if lcid, source := l.text("MSSQL_LCID", "language.lcid"); lcid != "" && lcid != "1033" && l.err == nil {
		l.err = refuse("%s %q is not supported; the language is 1033 (us_english).", source, lcid)
	}
}

func (l *loader) traceFlags(s *Settings) {
	s.TraceFlags = append(s.TraceFlags, s.Arguments.TraceFlags...)
	for _, name := range l.conf.order {
		if !strings.HasPrefix(name, "traceflag.traceflag") {
			continue
		}
		flag := 0
		l.number("", name, 1, 1<<30, &flag)
		if flag > 0 {
			s.TraceFlags = append(s.TraceFlags, flag)
		}
	}
}

func (l *loader) serverName(s *Settings, hostName string) {
	s.ServerName = s.Arguments.ServerName
	if s.ServerName == "" {
		s.ServerName, _, _ = strings.Cut(hostName, ".")
	}
	switch n := len(s.ServerName); {
	case n == 0 && l.err == nil:
		l.err = refuse("The server has no name: give --server-name or set a host name.")
	case n > maxServerName && s.Arguments.ServerName != "" && l.err == nil:
		l.err = refuse("The server name %q has %d characters; %d are allowed.", s.ServerName, n, maxServerName)
	case n > maxServerName:
		s.Warnings = append(
			s.Warnings,
			fmt.Sprintf(
				"The host name %s is longer than %d characters; the server's name is its beginning.",
				s.ServerName,
				maxServerName,
			),
		)
		s.ServerName = s.ServerName[:maxServerName]
	}
}

// documented are environment variables without effect here.
var documented = map[string]bool{"MSSQL_DUMP_DIR": true, "MSSQL_DB": true, "MSSQL_USER": true, "MSSQL_PASSWORD": true}

func (l *loader) unused() []string {
	var out []string
	for name := range l.env {
		switch {
		case !strings.HasPrefix(name, "MSSQL_") || l.used[name]:
		case documented[name]:
			out = append(out, fmt.Sprintf("Environment variable %s has no effect in the stand-in.", name))
		default:
			out = append(out, fmt.Sprintf("Environment variable %s is unknown and was not applied.", name))
		}
	}
	sort.Strings(out)
	return out
}
