// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/catalog"
)

// resultSetCall is how a procedure is called so that it gives its documented result sets; place is the database.
type resultSetCall struct{ place, text string }

// resultSetCalls has each procedure that the catalogue gives result sets for, in the fixture of publishedHere.
var resultSetCalls = map[string]resultSetCall{
	"sp_browsereplcmds":  {"distribution", "sp_browsereplcmds"},
	"sp_configure":       {"master", "sp_configure"},
	"sp_get_distributor": {"shop", "sp_get_distributor"},
	"sp_get_redirected_publisher": {
		"distribution",
		"sp_get_redirected_publisher @original_publisher = N'ONE', @publisher_db = N'shop'",
	},
	"sp_help_agent_parameter":    {"distribution", "sp_help_agent_parameter"},
	"sp_help_agent_profile":      {"distribution", "sp_help_agent_profile"},
	"sp_help_job":                {"msdb", "sp_help_job @job_name = N'looked at'"},
	"sp_help_jobactivity":        {"msdb", "sp_help_jobactivity"},
	"sp_help_jobhistory":         {"msdb", "sp_help_jobhistory @mode = N'FULL'"},
	"sp_help_jobstep":            {"msdb", "sp_help_jobstep @job_name = N'looked at'"},
	"sp_help_publication_access": {"shop", "sp_help_publication_access @publication = N'web'"},
	"sp_helparticle":             {"shop", "sp_helparticle @publication = N'web'"},
	"sp_helparticlecolumns": {
		"shop",
		"sp_helparticlecolumns @publication = N'web', @article = N'orders'",
	},
	"sp_helpdistpublisher":        {"distribution", "sp_helpdistpublisher"},
	"sp_helpdistributiondb":       {"distribution", "sp_helpdistributiondb"},
	"sp_helpdistributor":          {"shop", "sp_helpdistributor"},
	"sp_helplogreader_agent":      {"shop", "sp_helplogreader_agent"},
	"sp_helppublication":          {"shop", "sp_helppublication"},
	"sp_helppublication_snapshot": {"shop", "sp_helppublication_snapshot @publication = N'web'"},
	"sp_helppullsubscription":     {"pulled", "sp_helppullsubscription"},
	"sp_helpreplicationdboption":  {"shop", "sp_helpreplicationdboption"},
	"sp_helpserver":               {"master", "sp_helpserver"},
	"sp_helpsubscription":         {"shop", "sp_helpsubscription"},
	"sp_helpsubscriptionerrors": {
		"distribution",
		"sp_helpsubscriptionerrors @publisher = N'ONE', @publisher_db = N'shop', @publication = N'web', @subscriber = " +
			"N'ONE', @subscriber_db = N'pushed'",
	},
	"sp_helptracertokenhistory": {
		"shop",
		"sp_helptracertokenhistory @publication = N'web', @tracer_id = $token",
	},
	"sp_helptracertokens":           {"shop", "sp_helptracertokens @publication = N'web'"},
	"sp_replcounters":               {"shop", "sp_replcounters"},
	"sp_replmonitorhelppublication": {"distribution", "sp_replmonitorhelppublication @publisher = N'ONE'"},
	"sp_replmonitorhelppublicationthresholds": {
		"distribution",
		"sp_replmonitorhelppublicationthresholds @publisher = N'ONE', @publisher_db = N'shop', @publication = N'web'",
	},
	"sp_replmonitorhelppublisher":    {"distribution", "sp_replmonitorhelppublisher"},
	"sp_replmonitorhelpsubscription": {"distribution", "sp_replmonitorhelpsubscription @publisher = N'ONE'"},
	"sp_replmonitorsubscriptionpendingcmds": {
		"distribution",
		"sp_replmonitorsubscriptionpendingcmds @publisher = N'ONE', @publisher_db = N'shop', @publication = N'web', " +
			"@subscriber = N'ONE', @subscriber_db = N'pushed', @subscription_type = 0",
	},
	"sp_replshowcmds":       {"quiet", "sp_replshowcmds"},
	"sp_server_diagnostics": {"master", "sp_server_diagnostics"},
	"sp_setsubscriptionxactseqno": {
		"pulled",
		"sp_setsubscriptionxactseqno @publisher = N'ONE', @publisher_db = N'shop', @publication = N'web', @xact_seqno = " +
			"0x00000025000000A80003",
	},
}

// notCompared has the catalogued result sets that are not compared, each with the reason.
var notCompared = map[string]string{
	"sp_estimate_data_compression_savings": "refused by name: there is no compression",
}

// documentsErr has columns, by procedure and column, that are not as the page of the procedure says, with what they are
// and why.
var documentsErr = map[string]string{
	// the column of sysjobsteps and of sp_help_jobstep
	"sp_help_job command":          "nvarchar(max)",
	"sp_help_job output_file_name": "nvarchar(200)", // the same
	// MSreplication_subscriptions.time, with its clock
	"sp_helppullsubscription last updating time":        "smalldatetime",
	"sp_helppullsubscription distribution agent job_id": "binary(16)",           // a job's id, as in sp_helpsubscription
	"sp_server_diagnostics creation_time":               "create_time datetime", // as in the page's own example
}

// TestDocumentedResultSets: each procedure that the catalogue has result sets for answers with their columns, by name,
// order and type. By docs/relational-databases/system-stored-procedures.
func TestDocumentedResultSets(t *testing.T) {
	t.Parallel()
	i := prepareInstance(t, "MSSQL_AGENT_ENABLED=true")
	i.name = "ONE"
	NewWithT(t).Expect(i.launch()).To(Succeed())
	i.publishedHere(t)
	token := value(
		t,
		i.open(t, "shop"),
		"DECLARE @id int; EXEC sp_posttracertoken @publication = N'web', @tracer_token_id = @id OUTPUT; SELECT @id",
	)
	for _, p := range catalog.Procedures() {
		if len(p.ResultSets) == 0 || notCompared[p.Name] != "" {
			continue
		}
		call, known := resultSetCalls[p.Name]
		if !known {
			t.Errorf("%s: the catalogue has a result set of it, and this test neither calls it nor says why not", p.Name)
			continue
		}
		got, err := resultShapes(t, i.open(t, call.place), "EXEC "+strings.ReplaceAll(call.text, "$token", fmt.Sprint(token)))
		if err != nil {
			t.Errorf("%s: %v", call.text, err)
			continue
		}
		for n, set := range p.ResultSets {
			if n >= len(got) {
				t.Errorf("%s: %d result sets where %d are documented (%s)", call.text, len(got), len(p.ResultSets), p.Doc)
				break
			}
			compareShapes(t, p, n+1, set, got[n])
		}
	}
}

// compareShapes tells each difference between the documented columns and those of an answer.
func compareShapes(t *testing.T, p *catalog.ProcedureInfo, number int, documented []catalog.ColumnInfo, got []string) {
	t.Helper()
	for n := range max(len(documented), len(got)) {
		want, have := "none", "none"
		if n < len(got) {
			have = got[n]
		}
		if n < len(documented) {
			c := documented[n]
			want = c.Name + " " + wireType(c.Type)
			if c.Type == "" {
				have = have[:strings.LastIndex(have, " ")+1]
			}
			if right := documentsErr[p.Name+" "+c.Name]; strings.Contains(right, " ") {
				want = right
			} else if right != "" {
				want = c.Name + " " + right
			}
		}
		if want != have {
			t.Errorf("%s, result set %d, column %d (%s)\nwants %s\ngot   %s", p.Name, number, n+1, p.Doc, want, have)
		}
	}
}

// wireType is a documented type as it is on the wire: sysname is nvarchar(128).
func wireType(t string) string {
	if t == "sysname" {
		return "nvarchar(128)"
	}
	return t
}

// resultShapes has the result sets of a batch: for each column its name and type.
func resultShapes(t *testing.T, db *sql.DB, text string) ([][]string, error) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out [][]string
	for more := true; more; more = rows.NextResultSet() {
		types, err := rows.ColumnTypes()
		if err != nil {
			return nil, err
		}
		var set []string
		for _, c := range types {
			set = append(set, c.Name()+" "+documentedType(c))
		}
		if len(set) > 0 {
			out = append(out, set)
		}
		for rows.Next() {
		}
	}
	return out, rows.Err()
}

// publishedHere makes the server, by the name of ONE, distributor, publisher of shop and of quiet, whose log nobody
// reads, and subscriber in pushed and in pulled, and gives it a job.
func (i *instance) publishedHere(t *testing.T) {
	t.Helper()
	master := i.open(t, "master")
	mustExec(
		t,
		master,
		"EXEC sp_adddistributor @distributor = N'ONE', @password = N'Distr1bute-Me'; EXEC sp_adddistributiondb @database "+
			"= N'distribution'",
	)
	mustExec(
		t,
		master,
		"EXEC sp_adddistpublisher @publisher = N'ONE', @distribution_db = N'distribution', @security_mode = 0, @login = "+
			"N'sa', @password = @p1, @working_directory = @p2",
		saPassword,
		t.TempDir(),
	)
	mustExec(t, master, "CREATE DATABASE shop; CREATE DATABASE pushed; CREATE DATABASE pulled; CREATE DATABASE quiet")
	mustExec(
		t,
		master,
		"EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'true'; EXEC "+
			"sp_replicationdboption @dbname = N'quiet', @optname = N'publish', @value = N'true'",
	)
	shop, pulled := i.open(t, "shop"), i.open(t, "pulled")
	mustExec(
		t,
		shop,
		"CREATE TABLE orders (id int NOT NULL PRIMARY KEY, name nvarchar(20)); INSERT INTO orders VALUES (1, N'x')",
	)
	for _, text := range []string{
		"sp_addlogreader_agent @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1",
		"sp_addpublication @publication = N'web', @status = N'active', @allow_push = N'true', @allow_pull = N'true', " +
			"@independent_agent = N'true', @repl_freq = N'continuous'",
		"sp_addpublication_snapshot @publication = N'web', @publisher_security_mode = 0, @publisher_login = N'sa', " +
			"@publisher_password = @p1",
		"sp_addarticle @publication = N'web', @article = N'orders', @source_owner = N'dbo', @source_object = N'orders'",
		"sp_addsubscription @publication = N'web', @subscriber = N'ONE', @destination_db = N'pushed', @subscription_type " +
			"= N'push', @sync_type = N'replication support only', @article = N'all'",
		"sp_addpushsubscription_agent @publication = N'web', @subscriber = N'ONE', @subscriber_db = N'pushed', " +
			"@subscriber_security_mode = 0, @subscriber_login = N'sa', @subscriber_password = @p1",
		"sp_addsubscription @publication = N'web', @subscriber = N'ONE', @destination_db = N'pulled', @subscription_type " +
			"= N'pull', @sync_type = N'replication support only', @article = N'all'",
	} {
		mustExec(t, shop, "EXEC "+text, saPassword)
	}
	mustExec(
		t,
		pulled,
		"EXEC sp_addpullsubscription @publisher = N'ONE', @publisher_db = N'shop', @publication = N'web', "+
			"@subscription_type = N'pull'",
	)
	mustExec(
		t,
		pulled,
		"EXEC sp_addpullsubscription_agent @publisher = N'ONE', @publisher_db = N'shop', @publication = N'web', "+
			"@distributor = N'ONE', @distributor_security_mode = 0, @distributor_login = N'sa', @distributor_password = @p1",
		saPassword,
	)
	mustExec(
		t,
		i.open(t, "msdb"),
		"EXEC sp_add_job @job_name = N'looked at'; EXEC sp_add_jobstep @job_name = N'looked at', @step_name = N'one', "+
			"@subsystem = N'TSQL', @command = N'SELECT 1'; EXEC sp_add_jobserver @job_name = N'looked at'",
	)
}
