// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
)

func (e *Extension) installDistributor(r *engine.Registry) {
	e.procedure(r, "sp_adddistributor", sysadmins, nil, e.addDistributor)
	e.procedure(r, "sp_adddistributiondb", sysadmins, nil, e.addDistributionDB)
	e.procedure(r, "sp_adddistpublisher", sysadmins, nil, e.addDistPublisher)
	e.procedure(r, "sp_changedistpublisher", sysadmins, nil, e.changeDistPublisher)
	e.procedure(r, "sp_changedistributiondb", sysadmins, nil, e.changeDistributionDB)
	e.procedure(r, "sp_changedistributor_password", sysadmins, nil, e.changeDistributorPassword)
	e.procedure(r, "sp_dropdistpublisher", sysadmins, nil, e.dropDistPublisher)
	e.procedure(r, "sp_dropdistributiondb", sysadmins, nil, e.dropDistributionDB)
	e.procedure(r, "sp_dropdistributor", sysadmins, nil, e.dropDistributor)
	e.procedure(r, "sp_get_distributor", anyone, nil, e.getDistributor)
	e.procedure(r, "sp_helpdistributor", anyone, nil, e.helpDistributor)
	e.procedure(r, "sp_helpdistributiondb", anyone, nil, e.helpDistributionDB)
	e.procedure(r, "sp_helpdistpublisher", sysadmins, nil, e.helpDistPublisher)
	e.procedure(r, "sp_MSget_distribution_db", anyone, []engine.Parameter{text("@publisher")}, e.getDistributionDB)
}

// isDistributor tells whether this server is a distributor.
func (e *Extension) isDistributor(ctx context.Context, s *engine.Session) (bool, error) {
	return tables.Exists(ctx, s, "msdb.dbo.MSdistributor")
}

// requireDistributor is 14114 unless this server is a distributor.
func (e *Extension) requireDistributor(ctx context.Context, s *engine.Session) error {
	ok, err := e.isDistributor(ctx, s)
	if err == nil && !ok {
		err = raise(14114, 1, e.serverName())
	}
	return err
}

// linkExists tells whether this server has a distributor. What marks the link as one is set last: a link that a crash
// left half made is none.
func linkExists(ctx context.Context, s *engine.Session) (bool, error) {
	r, err := s.Query(ctx, "SELECT data_source FROM sys.servers WHERE name = @p1 AND is_distributor = 1", distributorLink)
	return r.Len() > 0, err
}

func (e *Extension) addDistributor(ctx context.Context, call *engine.ProcCall) error {
	s, name := call.Session, call.String("@distributor")
	if name == "" {
		return raise(14043, 1, "@distributor", "sp_adddistributor")
	}
	host, _, _ := strings.Cut(name, ",")
	local := agent.SameServer(host, e.serverName())
	taken, err := linkExists(ctx, s)
	if err != nil {
		return err
	}
	if taken {
		return raise(14099, 1, name)
	}
	password := call.String("@password")
	if password == "" && !local {
		return raise(21768, 1)
	}
	if password == "" {
		b := make([]byte, 24)
		_, _ = rand.Read(b) // never fails since Go 1.24
		password = "Aa1!" + base64.RawURLEncoding.EncodeToString(b)
	}
	source := e.agents.Address()
	if !local {
		if source, err = e.agents.AddressOf(ctx, s, name); err != nil {
			return err
		}
	}
	if local {
		if err := tables.Make(ctx, s, "msdb", tables.Distributor); err != nil {
			return err
		}
		if err := setDistributorLogin(ctx, s, password); err != nil {
			return err
		}
	}
	if err := dropLink(ctx, s); err != nil {
		return err
	}
	return e.addLink(ctx, s, distributorLink, source, distributorLogin, password, "dist")
}

// dropLink drops the link to the distributor, if there is one, whole or half made.
func dropLink(ctx context.Context, s *engine.Session) error {
	r, err := s.Query(ctx, "SELECT server_id FROM sys.servers WHERE name = @p1", distributorLink)
	if err != nil || r.Len() == 0 {
		return err
	}
	return s.Exec(ctx, "EXEC sp_dropserver @server = @p1, @droplogins = 'droplogins'", distributorLink)
}

// setDistributorLogin makes the login distributor_admin, or gives it a new password.
func setDistributorLogin(ctx context.Context, s *engine.Session, password string) error {
	verb := "ALTER"
	r, err := s.Query(ctx, "SELECT SUSER_ID(@p1) AS id", distributorLogin)
	if err != nil {
		return err
	}
	if r.Value(0, "id") == nil {
		verb = "CREATE"
	}
	if err := s.Exec(ctx,
		verb+" LOGIN "+bracket(distributorLogin)+" WITH PASSWORD = "+stored.Literal(password)+
			", CHECK_POLICY = OFF"); err != nil {
		return err
	}
	return s.Exec(ctx, "ALTER SERVER ROLE [sysadmin] ADD MEMBER "+bracket(distributorLogin))
}

// addLink makes a linked server with one remote login for everybody.
func (e *Extension) addLink(
	ctx context.Context,
	s *engine.Session,
	name, address, login, password, option string,
) error {
	err := s.Exec(
		ctx,
		"EXEC sp_addlinkedserver @server = @p1, @srvproduct = N'', @provider = N'MSOLEDBSQL', @datasrc = @p2",
		name,
		agent.SourceOfAddress(address),
	)
	if err != nil {
		return err
	}
	if login != "" {
		err = s.Exec(
			ctx,
			"EXEC sp_addlinkedsrvlogin @rmtsrvname = @p1, @useself = 'FALSE', @rmtuser = @p2, @rmtpassword = @p3",
			name,
			login,
			password,
		)
		if err != nil {
			return err
		}
	}
	for _, o := range []string{"rpc out", "data access", option} {
		if err := s.Exec(ctx, "EXEC sp_serveroption @server = @p1, @optname = @p2, @optvalue = N'true'", name,
			o); err != nil {
			return err
		}
	}
	return nil
}

// ensureServer makes a sys.servers row for a server that replication names, when there is none, and marks what it is.
func (e *Extension) ensureServer(ctx context.Context, s *engine.Session, name, option string) error {
	if agent.SameServer(name, e.serverName()) {
		return nil
	}
	r, err := s.Query(ctx, "SELECT server_id FROM sys.servers WHERE name = @p1", name)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return e.addLink(ctx, s, name, agent.AddressOfSource(name), "", "", option)
	}
	return s.Exec(ctx, "EXEC sp_serveroption @server = @p1, @optname = @p2, @optvalue = N'true'", name, option)
}

// unmarkServer takes back what ensureServer marked.
func unmarkServer(ctx context.Context, s *engine.Session, name, option string) error {
	return s.Exec(
		ctx,
		"IF EXISTS (SELECT 1 FROM sys.servers WHERE name = @p1 AND is_linked = 1) EXEC sp_serveroption @server = @p1, "+
			"@optname = @p2, @optvalue = N'false'",
		name,
		option,
	)
}

// distributionDatabase checks that a database of this server is a distribution database: 14117.
func (e *Extension) distributionDatabase(
	ctx context.Context,
	s *engine.Session,
	name string,
) (*engine.Database, error) {
	if err := e.requireDistributor(ctx, s); err != nil {
		return nil, err
	}
	r, err := s.Query(ctx, "SELECT name FROM msdb.dbo.MSdistributiondbs WHERE name = @p1", name)
	if err != nil {
		return nil, err
	}
	db := e.inst.Database(name)
	if r.Len() == 0 || db == nil {
		return nil, raise(14117, 1, name)
	}
	return db, nil
}

func (e *Extension) addDistributionDB(ctx context.Context, call *engine.ProcCall) error {
	s, name := call.Session, call.String("@database")
	if err := e.requireDistributor(ctx, s); err != nil {
		return err
	}
	if db := e.inst.Database(name); name == "" || db != nil && db.System() {
		return raise(20587, 1, "@database", "sp_adddistributiondb")
	}
	if mode := call.Int("@security_mode"); mode < 0 || mode > 1 {
		return raise(14109, 1)
	}
	lo, hi, history := call.Int("@min_distretention"), call.Int("@max_distretention"), call.Int("@history_retention")
	if lo < 0 || hi < 0 || history < 0 {
		return raise(14106, 1)
	}
	if hi <= lo {
		return raise(14107, 1)
	}
	r, err := s.Query(ctx, "SELECT name FROM msdb.dbo.MSdistributiondbs WHERE name = @p1", name)
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		return raise(14119, 1, name)
	}
	if e.inst.Database(name) == nil {
		files := ""
		if folder, file := call.String("@data_folder"), call.String("@data_file"); folder != "" || file != "" {
			files = e.databaseFiles(call, name)
		}
		if err := s.Exec(ctx, "CREATE DATABASE "+bracket(name)+files); err != nil {
			return err
		}
		if err := s.Exec(ctx, "ALTER DATABASE "+bracket(name)+" SET RECOVERY SIMPLE"); err != nil {
			return err
		}
	}
	if err := tables.MakeDistribution(ctx, s, name); err != nil {
		return err
	}
	if err := e.inst.Database(name).Update(ctx, func(i *engine.DatabaseInfo) { i.Distributor = true }); err != nil {
		return err
	}
	if err := e.addCleanupJobs(ctx, s, name); err != nil {
		return err
	}
	// Last: until then the procedure may be called again, should it be cut off.
	return s.Exec(ctx, "INSERT INTO msdb.dbo.MSdistributiondbs VALUES (@p1, @p2, @p3, @p4)", name, lo, hi, history)
}

func (e *Extension) databaseFiles(call *engine.ProcCall, name string) string {
	place := func(folder, file, suffix, otherwise string) string {
		if file == "" {
			file = name + suffix
		}
		if folder == "" {
			folder = otherwise
		}
		return filepath.Join(folder, file)
	}
	c := e.inst.Config()
	return fmt.Sprintf(" ON PRIMARY (NAME = %s, FILENAME = %s) LOG ON (NAME = %s, FILENAME = %s)", bracket(name),
		stored.Literal(place(call.String("@data_folder"), call.String("@data_file"), ".MDF", c.DataDir)),
		bracket(name+"_log"),
		stored.Literal(place(call.String("@log_folder"), call.String("@log_file"), ".LDF", c.LogDir)))
}

// addCleanupJobs makes the jobs that keep a distribution database small.
func (e *Extension) addCleanupJobs(ctx context.Context, s *engine.Session, database string) error {
	jobs := []struct {
		name, category, command string
		every                   int
	}{
		{"Distribution clean up: " + database, "REPL-Distribution Cleanup", "EXEC sp_MSdistribution_cleanup", 10},
		{"Agent history clean up: " + database, "REPL-History Cleanup", "EXEC sp_MShistory_cleanup", 10},
	}
	for _, j := range jobs {
		err := s.Exec(
			ctx,
			`IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs WHERE name = @p1) EXEC msdb.dbo.sp_delete_job @job_name = @p1;
			EXEC msdb.dbo.sp_add_job @job_name = @p1, @category_name = @p2;
			EXEC msdb.dbo.sp_add_jobstep @job_name = @p1, @step_name = N'Run agent.', @database_name = @p3, @command = @p4;
			EXEC msdb.dbo.sp_add_jobschedule @job_name = @p1, @name = N'Replication agent schedule.', @freq_type = 4, @freq_interval = 1,
				@freq_subday_type = 4, @freq_subday_interval = @p5;
			EXEC msdb.dbo.sp_add_jobserver @job_name = @p1;`,
			j.name,
			j.category,
			database,
			j.command,
			j.every,
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Extension) addDistPublisher(ctx context.Context, call *engine.ProcCall) error {
	s, name := call.Session, call.String("@publisher")
	if kind := call.String("@publisher_type"); !strings.EqualFold(kind, "MSSQLSERVER") {
		return raise(21023, 1, "@publisher_type = "+kind)
	}
	if _, err := e.distributionDatabase(ctx, s, call.String("@distribution_db")); err != nil {
		return err
	}
	mode := call.Int("@security_mode")
	if mode == 0 && call.String("@login") == "" {
		return raise(21694, 1, "@login", "@security_mode")
	}
	r, err := s.Query(ctx, "SELECT name FROM msdb.dbo.MSdistpublishers WHERE name = @p1", name)
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		return raise(14074, 1, name)
	}
	directory := call.String("@working_directory")
	if !call.Given("@working_directory") || directory == "" {
		if directory, err = e.agents.DefaultDirectory(); err != nil {
			return err
		}
	}
	if err := e.agents.RequireDirectory(directory); err != nil {
		return err
	}
	if err := e.wantMasterKey(ctx, s, call.String("@distribution_db"), call.String("@password")); err != nil {
		return err
	}
	name, directory = e.localPublisher(name), e.turned(directory)
	if err := e.ensureServer(ctx, s, name, "pub"); err != nil {
		return err
	}
	if err := noteServer(ctx, s, call.String("@distribution_db"), name); err != nil {
		return err
	}
	return s.Exec(
		ctx,
		"INSERT INTO msdb.dbo.MSdistpublishers VALUES (@p1, @p2, @p3, @p4, @p5, @p6, 1, 0, 0, N'MSSQLSERVER', NULL)",
		name,
		call.String("@distribution_db"),
		directory,
		mode,
		call.String("@login"),
		e.key.Seal(call.String("@password")),
	)
}

// publisherRow is the row of a publisher at its distributor: 14080 when there is none.
func (e *Extension) publisherRow(ctx context.Context, s *engine.Session, name string) (*engine.Result, error) {
	if err := e.requireDistributor(ctx, s); err != nil {
		return nil, err
	}
	r, err := s.Query(ctx, "SELECT * FROM msdb.dbo.MSdistpublishers WHERE name = @p1", name)
	if err == nil && r.Len() == 0 {
		err = raise(14080, 1, name)
	}
	return r, err
}

func (e *Extension) changeDistPublisher(ctx context.Context, call *engine.ProcCall) error {
	s, name := call.Session, call.String("@publisher")
	if _, err := e.publisherRow(ctx, s, name); err != nil {
		return err
	}
	property, value := strings.ToLower(call.String("@property")), call.Value("@value")
	text, _ := value.(string)
	switch property {
	case "active":
		if value = strings.EqualFold(text, "true"); !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
			return raise(14137, 1)
		}
	case "security_mode":
		if text != "0" && text != "1" {
			return raise(14109, 1)
		}
	case "password":
		value = e.key.Seal(text)
	case "distribution_db":
		if _, err := e.distributionDatabase(ctx, s, text); err != nil {
			return err
		}
		if err := noteServer(ctx, s, text, name); err != nil {
			return err
		}
	case "working_directory":
		value = e.turned(text)
	case "login":
	default:
		return raise(21794, 1, "active, distribution_db, login, password, security_mode, working_directory")
	}
	return s.Exec(ctx, "UPDATE msdb.dbo.MSdistpublishers SET "+bracket(property)+" = @p2 WHERE name = @p1", name, value)
}

func (e *Extension) changeDistributionDB(ctx context.Context, call *engine.ProcCall) error {
	s, name := call.Session, call.String("@database")
	if _, err := e.distributionDatabase(ctx, s, name); err != nil {
		return err
	}
	property := strings.ToLower(call.String("@property"))
	switch property {
	case "min_distretention", "max_distretention", "history_retention":
	default:
		return raise(21794, 2, "history_retention, max_distretention, min_distretention")
	}
	hours, err := strconv.ParseInt(strings.TrimSpace(call.String("@value")), 10, 32)
	if err != nil {
		return raise(21055, 1, "@value", "sp_changedistributiondb")
	}
	if hours < 0 {
		return raise(14106, 1)
	}
	r, err := s.Query(
		ctx,
		"SELECT min_distretention, max_distretention FROM msdb.dbo.MSdistributiondbs WHERE name = @p1",
		name,
	)
	if err != nil {
		return err
	}
	if property == "min_distretention" && hours >= r.Int(0, "max_distretention") ||
		property == "max_distretention" && hours <= r.Int(0, "min_distretention") {
		return raise(14107, 1)
	}
	return s.Exec(ctx, "UPDATE msdb.dbo.MSdistributiondbs SET "+bracket(property)+" = @p2 WHERE name = @p1", name, hours)
}

func (e *Extension) changeDistributorPassword(ctx context.Context, call *engine.ProcCall) error {
	s, password := call.Session, call.String("@password")
	taken, err := linkExists(ctx, s)
	if err != nil {
		return err
	}
	if !taken {
		return raise(21043, 1)
	}
	local, err := e.isDistributor(ctx, s)
	if err != nil {
		return err
	}
	if local {
		if err := setDistributorLogin(ctx, s, password); err != nil {
			return err
		}
	}
	return s.Exec(
		ctx,
		"EXEC sp_addlinkedsrvlogin @rmtsrvname = @p1, @useself = 'FALSE', @rmtuser = @p2, @rmtpassword = @p3",
		distributorLink,
		distributorLogin,
		password,
	)
}

func (e *Extension) dropDistPublisher(ctx context.Context, call *engine.ProcCall) error {
	s, name := call.Session, call.String("@publisher")
	r, err := e.publisherRow(ctx, s, name)
	if err != nil {
		return err
	}
	database := r.String(0, "distribution_db")
	if e.inst.Database(database) != nil && !call.Bool("@no_checks") {
		r, err := s.Query(
			ctx,
			"SELECT TOP (1) p.publication FROM "+bracket(
				database,
			)+".dbo.MSpublications AS p JOIN "+bracket(
				database,
			)+".dbo.MSreplservers AS v ON v.srvid = p.publisher_id WHERE v.srvname = @p1",
			name,
		)
		if err != nil {
			return err
		}
		if r.Len() > 0 {
			return raise(14098, 1, name, e.serverName())
		}
	}
	if err := s.Exec(ctx, "DELETE FROM msdb.dbo.MSdistpublishers WHERE name = @p1", name); err != nil {
		return err
	}
	return unmarkServer(ctx, s, name, "pub")
}

func (e *Extension) deleteJob(ctx context.Context, s *engine.Session, name string) error {
	return s.Exec(
		ctx,
		"IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs WHERE name = @p1) EXEC msdb.dbo.sp_delete_job @job_name = @p1",
		name,
	)
}
