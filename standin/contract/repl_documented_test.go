// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestDocumentedReplicationOnLinux is docs/linux/sql-server-linux-replication-tutorial-tsql.md as a script: publisher
// and distributor are one server, all jobs are the procedures' own, and they are found in sysjobs and started by hand.
func TestDocumentedReplicationOnLinux(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	run := func(db executor, script string) {
		t.Helper()
		mustExec(t, db, strings.ReplaceAll(script, "$password", saPassword))
	}
	admin := connection(t, r.pubDB)
	run(admin, `CREATE DATABASE Sales`)
	run(admin, `USE [SALES]`)
	run(admin, `CREATE TABLE CUSTOMER([CustomerID] [int] NOT NULL, [SalesAmount] [decimal] NOT NULL)`)
	run(admin, `INSERT INTO CUSTOMER (CustomerID, SalesAmount) VALUES (1,100),(2,200),(3,300)`)
	run(r.subDB, `CREATE DATABASE Sales`)
	run(admin, `DECLARE @distributor AS sysname
DECLARE @distributorlogin AS sysname
DECLARE @distributorpassword AS sysname
SET @distributor = N'PUB'
SET @distributorlogin = N'sa'
SET @distributorpassword = N'$password'
use master
exec sp_adddistributor @distributor = @distributor
exec sp_adddistributiondb @database = N'distribution', @log_file_size = 2, @deletebatchsize_xact = 5000, @deletebatchsize_cmd = 2000, @security_mode = 0, @login = @distributorlogin, @password = @distributorpassword`)
	run(admin, `DECLARE @snapshotdirectory AS nvarchar(500)
SET @snapshotdirectory = N'/var/opt/mssql/data/ReplData/'
use [distribution]
if (not exists (select * from sysobjects where name = 'UIProperties' and type = 'U '))
       create table UIProperties(id int)
if (exists (select * from ::fn_listextendedproperty('SnapshotFolder', 'user', 'dbo', 'table', 'UIProperties', null, null)))
       EXEC sp_updateextendedproperty N'SnapshotFolder', @snapshotdirectory, 'user', dbo, 'table', 'UIProperties'
else
      EXEC sp_addextendedproperty N'SnapshotFolder', @snapshotdirectory, 'user', dbo, 'table', 'UIProperties'`)
	g.Expect(query(t, admin,
		`SELECT CAST(value AS nvarchar(100)) FROM ::fn_listextendedproperty('SnapshotFolder', 'user', 'dbo', 'table', 'UIProperties', null, null)`)).
		To(Equal([][]any{{"/var/opt/mssql/data/ReplData/"}}))
	g.Expect(os.MkdirAll(filepath.Join(r.pub.root, "data", "ReplData"), 0o770)).To(Succeed())
	run(
		admin,
		`exec sp_adddistpublisher @publisher = N'PUB', @distribution_db = N'distribution', @security_mode = 0, @login = N'sa', @password = N'$password',
@working_directory = N'/var/opt/mssql/data/ReplData', @trusted = N'false', @thirdparty_flag = 0, @publisher_type = N'MSSQLSERVER'`,
	)
	run(admin, `use [Sales]
exec sp_replicationdboption @dbname = N'Sales', @optname = N'publish', @value = N'true'
exec sp_addpublication @publication = N'SnapshotRepl', @description = N'Snapshot publication of database ''Sales'' from Publisher ''PUB''.',
@retention = 0, @allow_push = N'true', @repl_freq = N'snapshot', @status = N'active', @independent_agent = N'true'
exec sp_addpublication_snapshot @publication = N'SnapshotRepl', @frequency_type = 1, @frequency_interval = 1, @frequency_relative_interval = 1,
@frequency_recurrence_factor = 0, @frequency_subday = 8, @frequency_subday_interval = 1, @active_start_time_of_day = 0, @active_end_time_of_day = 235959,
@active_start_date = 0, @active_end_date = 0, @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = N'$password'`)
	run(admin, `use [Sales]
exec sp_addarticle @publication = N'SnapshotRepl', @article = N'customer', @source_owner = N'dbo', @source_object = N'customer', @type = N'logbased',
@description = null, @creation_script = null, @pre_creation_cmd = N'drop', @schema_option = 0x000000000803509D, @identityrangemanagementoption = N'manual',
@destination_table = N'customer', @destination_owner = N'dbo', @vertical_partition = N'false'`)
	run(admin, `use [Sales]
exec sp_addsubscription @publication = N'SnapshotRepl', @subscriber = N'SUB', @destination_db = N'Sales', @subscription_type = N'Push',
@sync_type = N'automatic', @article = N'all', @update_mode = N'read only', @subscriber_type = 0
exec sp_addpushsubscription_agent @publication = N'SnapshotRepl', @subscriber = N'SUB', @subscriber_db = N'Sales', @subscriber_security_mode = 0,
@subscriber_login = N'sa', @subscriber_password = N'$password', @frequency_type = 1, @frequency_interval = 0, @frequency_relative_interval = 0,
@frequency_recurrence_factor = 0, @frequency_subday = 0, @frequency_subday_interval = 0, @active_start_time_of_day = 0, @active_end_time_of_day = 0,
@active_start_date = 0, @active_end_date = 19950101`)
	var jobs []string
	for _, row := range query(t, admin, `SELECT name, date_modified FROM msdb.dbo.sysjobs order by date_modified desc`) {
		if name := row[0].(string); strings.Contains(name, "SnapshotRepl") {
			jobs = append(jobs, name)
		}
	}
	g.Expect(jobs).To(ConsistOf("PUB-Sales-SnapshotRepl-1", HavePrefix("PUB-Sales-SnapshotRepl-SUB")))
	outcome := func(job string) func() any {
		return func() any {
			rows, err := tryQuery(
				r.pubDB,
				`SELECT TOP (1) h.run_status, h.[message] FROM msdb.dbo.sysjobhistory AS h JOIN msdb.dbo.sysjobs AS j ON j.job_id = h.job_id WHERE j.name = @p1 AND h.step_id = 0 ORDER BY h.instance_id DESC`,
				job,
			)
			if err != nil || len(rows) == 0 {
				return err
			}
			return rows[0][0]
		}
	}
	for _, prefix := range []string{"PUB-Sales-SnapshotRepl-1", "PUB-Sales-SnapshotRepl-SUB"} {
		for _, job := range jobs {
			if !strings.HasPrefix(job, prefix) {
				continue
			}
			run(admin, `USE msdb; EXEC dbo.sp_start_job N'`+job+`'`)
			g.Eventually(outcome(job)).WithTimeout(deliverWithin).Should(BeEquivalentTo(1), job)
		}
	}
	g.Expect(query(t, r.subDB,
		`SELECT CustomerID, CAST(SalesAmount AS int) FROM [Sales].[dbo].[CUSTOMER] ORDER BY CustomerID`)).
		To(Equal([][]any{{int64(1), int64(100)}, {int64(2), int64(200)}, {int64(3), int64(300)}}))
	// The account of the agents is the server's own: nobody else has its password.
	g.Expect(r.pub.openAs(t, "SQLSERVERAGENT", "", "").Ping()).NotTo(Succeed())
	g.Expect(r.pub.openAs(t, "SQLSERVERAGENT", "guessed", "").Ping()).NotTo(Succeed())
}
