// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// deliverWithin bounds the way of a row from publisher to subscriber.
const deliverWithin = patient

// replication is a publisher, a distributor and a subscriber, each a process of its own. A linked server of each
// other's name tells where it is, because they share one host.
type replication struct {
	pub, dist, sub       *instance
	pubDB, distDB, subDB *sql.DB // in master
	source, target       *sql.DB // in the publication and the subscription database
}

// pushing is a publication whose snapshot has arrived at its push subscriber.
func pushing(t *testing.T) *replication {
	t.Helper()
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	r.push(t)
	r.snapshot(t)
	r.bothSame(t)
	return r
}

func newReplication(t *testing.T) *replication {
	t.Helper()
	return newReplicationOver(t, nil)
}

// newReplicationOver is newReplication with the subscriber at the far end of a link; nil is none.
func newReplicationOver(t *testing.T, l *link) *replication {
	t.Helper()
	r := &replication{}
	for _, s := range []struct {
		i    **instance
		name string
	}{{&r.pub, "PUB"}, {&r.dist, "DIST"}, {&r.sub, "SUB"}} {
		i := prepareInstance(t, "MSSQL_AGENT_ENABLED=true")
		i.name = s.name
		*s.i = i
		if l != nil && s.i == &r.sub {
			l.beyond(i)
		}
		port := freePort(t) // the same one after a restart
		for n, e := range i.env {
			if strings.HasPrefix(e, "MSSQL_TCP_PORT=") {
				i.env[n] = fmt.Sprintf("MSSQL_TCP_PORT=%d", port)
			}
		}
		NewWithT(t).Expect(i.launch()).To(Succeed())
	}
	r.pubDB, r.distDB, r.subDB = r.pub.open(t, "master"), r.dist.open(t, "master"), r.sub.open(t, "master")
	for _, at := range []*sql.DB{r.pubDB, r.distDB, r.subDB} {
		for _, other := range []*instance{r.pub, r.dist, r.sub} {
			if at == map[*instance]*sql.DB{r.pub: r.pubDB, r.dist: r.distDB, r.sub: r.subDB}[other] {
				continue
			}
			mustExec(
				t,
				at,
				`EXEC sp_addlinkedserver @server = @p1, @srvproduct = N'', @provider = N'MSOLEDBSQL', @datasrc = @p2`,
				other.name,
				strings.Replace(other.address, ":", ",", 1),
			)
		}
	}
	return r
}

// distribute sets up the distributor, the publisher and two tables to publish.
func (r *replication) distribute(t *testing.T) {
	t.Helper()
	directory := t.TempDir()
	mustExec(t, r.distDB, `EXEC sp_adddistributor @distributor = N'DIST', @password = N'Distr1bute-Me'`)
	// Clean-up, every ten minutes by the clock, must not take away what a test counts.
	mustExec(t, r.distDB, `EXEC sp_adddistributiondb @database = N'distribution', @min_distretention = 1`)
	mustExec(
		t,
		r.distDB,
		`EXEC sp_adddistpublisher @publisher = N'PUB', @distribution_db = N'distribution', @security_mode = 0, @login = N'sa', @password = @p1, @working_directory = @p2`,
		saPassword,
		directory,
	)
	mustExec(t, r.pubDB, `CREATE DATABASE shop`)
	r.source = r.pub.open(t, "shop")
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.orders (id int NOT NULL PRIMARY KEY, customer nvarchar(50) NOT NULL, amount decimal(10,2) NULL, placed datetime2(3) NULL, guid uniqueidentifier NULL)`,
	)
	mustExec(
		t,
		r.source,
		`CREATE TABLE dbo.pictures (code varchar(20) NOT NULL, part smallint NOT NULL, content varbinary(max) NULL, CONSTRAINT PK_pictures PRIMARY KEY (code, part))`,
	)
	mustExec(t, r.source, `CREATE TABLE dbo.keyless (a int NULL)`)
	mustExec(
		t,
		r.source,
		`INSERT INTO dbo.orders VALUES (1, N'Zoë', 12.50, '2026-11-20T10:00:00.123', '6F9619FF-8B86-D011-B42D-00C04FC964FF'), (2, N'Ludwig', NULL, NULL, NULL)`,
	)
	mustExec(t, r.source, `INSERT INTO dbo.pictures VALUES ('a', 1, 0x00010203), ('b', 2, NULL)`)
	mustExec(t, r.pubDB, `EXEC sp_adddistributor @distributor = N'DIST', @password = N'Distr1bute-Me'`)
	mustExec(t, r.pubDB, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'true'`)
}

// job makes an agent's job on a server.
func job(t *testing.T, db *sql.DB, name, subsystem, command string, continuous bool) {
	t.Helper()
	mustExec(t, db, `EXEC msdb.dbo.sp_add_job @job_name = @p1`, name)
	mustExec(
		t,
		db,
		`EXEC msdb.dbo.sp_add_jobstep @job_name = @p1, @step_name = N'Run agent.', @subsystem = @p2, @command = @p3, @retry_attempts = 100, @retry_interval = 0`,
		name,
		subsystem,
		command,
	)
	mustExec(t, db, `EXEC msdb.dbo.sp_add_jobserver @job_name = @p1`, name)
	if continuous {
		mustExec(t, db, `EXEC msdb.dbo.sp_add_jobschedule @job_name = @p1, @name = N'start', @freq_type = 64`, name)
		mustExec(
			t,
			db,
			`EXEC msdb.dbo.sp_add_jobschedule @job_name = @p1, @name = N'again', @freq_type = 4, @freq_interval = 1, @freq_subday_type = 2, @freq_subday_interval = 2`,
			name,
		)
	}
}

func account(role string) string {
	return fmt.Sprintf("-%[1]sSecurityMode 0 -%[1]sLogin [sa] -%[1]sPassword [%[2]s] ", role, saPassword)
}

// publish makes the publication with both tables, the log reader and a finished snapshot job.
func (r *replication) publish(t *testing.T) {
	t.Helper()
	r.publishWith(t, "@immediate_sync = N'false'")
}

func (r *replication) publishWith(t *testing.T, options string) {
	t.Helper()
	job(
		t,
		r.distDB,
		"logreader",
		"LogReader",
		"-Publisher [PUB] -PublisherDB [shop] -Distributor [DIST] "+account(
			"Distributor",
		)+account(
			"Publisher",
		)+"-PollingInterval 1 -Continuous",
		true,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addlogreader_agent @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1, @job_name = N'logreader'`,
		saPassword,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication @publication = N'web', @status = N'active', @allow_push = N'true', @allow_pull = N'true', @independent_agent = N'true', @repl_freq = N'continuous', `+options,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'orders', @source_owner = N'dbo', @source_object = N'orders'`,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addarticle @publication = N'web', @article = N'pictures', @source_owner = N'dbo', @source_object = N'pictures', @ins_cmd = N'SQL', @upd_cmd = N'SQL', @del_cmd = N'SQL'`,
	)
	job(
		t,
		r.distDB,
		"snapshot",
		"Snapshot",
		"-Publisher [PUB] -PublisherDB [shop] -Publication [web] -Distributor [DIST] "+account(
			"Distributor",
		)+account(
			"Publisher",
		),
		false,
	)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpublication_snapshot @publication = N'web', @publisher_security_mode = 0, @publisher_login = N'sa', @publisher_password = @p1, @snapshot_job_name = N'snapshot'`,
		saPassword,
	)
}

func (r *replication) subscriptionDatabase(t *testing.T) {
	t.Helper()
	mustExec(t, r.subDB, `CREATE DATABASE shopcopy`)
	r.target = r.sub.open(t, "shopcopy")
}

// distributionCommand is the text of the distribution agent's step.
func distributionCommand(kind int, more string) string {
	return fmt.Sprintf(
		"-Publisher [PUB] -PublisherDB [shop] -Publication [web] -Distributor [DIST] %s-Subscriber [SUB] -SubscriberDB "+
			"[shopcopy] %s-SubscriptionType %d -PollingInterval 1 -Continuous %s",
		account("Distributor"),
		account("Subscriber"),
		kind,
		more,
	)
}

// pull subscribes with the agent at the subscriber.
func (r *replication) pull(t *testing.T) {
	t.Helper()
	r.pullWith(t, "")
}

// pullWith is pull with more parameters of the agent.
func (r *replication) pullWith(t *testing.T, parameters string) {
	t.Helper()
	r.registerPull(t)
	job(t, r.subDB, "distribution", "Distribution", distributionCommand(1, parameters), true)
	r.attachPull(t)
}

// registerPull registers a pull subscription at both ends.
func (r *replication) registerPull(t *testing.T) {
	t.Helper()
	r.subscriptionDatabase(t)
	mustExec(
		t,
		r.source,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'pull', @sync_type = N'automatic', @article = N'all'`,
	)
	mustExec(
		t,
		r.target,
		`EXEC sp_addpullsubscription @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @subscription_type = N'pull'`,
	)
}

// pullDisabled is pull with the agent's job disabled from the beginning.
func (r *replication) pullDisabled(t *testing.T) {
	t.Helper()
	r.registerPull(t)
	mustExec(t, r.subDB, `EXEC msdb.dbo.sp_add_job @job_name = N'distribution', @enabled = 0`)
	mustExec(
		t,
		r.subDB,
		`EXEC msdb.dbo.sp_add_jobstep @job_name = N'distribution', @step_name = N'Run agent.', @subsystem = N'Distribution', @command = @p1`,
		distributionCommand(1, ""),
	)
	mustExec(t, r.subDB, `EXEC msdb.dbo.sp_add_jobserver @job_name = N'distribution'`)
	r.attachPull(t)
}

// attachPull makes the job the pull subscription's.
func (r *replication) attachPull(t *testing.T) {
	t.Helper()
	mustExec(
		t,
		r.target,
		`EXEC sp_addpullsubscription_agent @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @distributor = N'DIST',
		@distributor_security_mode = 0, @distributor_login = N'sa', @distributor_password = @p1, @job_name = N'distribution'`,
		saPassword,
	)
}

// push subscribes with the agent at the distributor.
func (r *replication) push(t *testing.T) {
	t.Helper()
	r.subscriptionDatabase(t)
	r.pushHere(t)
}

// pushHere is push into a subscription database that is there.
func (r *replication) pushHere(t *testing.T) {
	t.Helper()
	mustExec(
		t,
		r.source,
		`EXEC sp_addsubscription @publication = N'web', @subscriber = N'SUB', @destination_db = N'shopcopy', @subscription_type = N'push', @sync_type = N'automatic', @article = N'all'`,
	)
	job(t, r.distDB, "distribution", "Distribution", distributionCommand(0, ""), true)
	mustExec(
		t,
		r.source,
		`EXEC sp_addpushsubscription_agent @publication = N'web', @subscriber = N'SUB', @subscriber_db = N'shopcopy', @subscriber_security_mode = 0,
		@subscriber_login = N'sa', @subscriber_password = @p1, @job_name = N'distribution'`,
		saPassword,
	)
}

func (r *replication) snapshot(t *testing.T) {
	t.Helper()
	mustExec(t, r.source, `EXEC sp_startpublication_snapshot @publication = N'web'`)
}

// scalar is value for polling: an error or no row is nil.
func scalar(db *sql.DB, text string, params ...any) any {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var v any
	if err := db.QueryRowContext(ctx, text, params...).Scan(&v); err != nil {
		return nil
	}
	return v
}

// same waits until a table has the same rows on both sides.
func (r *replication) same(t *testing.T, table, columns, order string) {
	t.Helper()
	text := "SELECT " + columns + " FROM " + table + " ORDER BY " + order
	want := query(t, r.source, text)
	NewWithT(t).Eventually(func() string {
		have, err := tryQuery(r.target, text)
		if err != nil {
			return err.Error()
		}
		for i, row := range have {
			if i < len(want) && !reflect.DeepEqual(row, want[i]) {
				return fmt.Sprintf("row %d is %v, not %v", i, row, want[i])
			}
		}
		return fmt.Sprintf("%d rows", len(have))
	}).WithTimeout(deliverWithin).WithPolling(200*time.Millisecond).Should(Equal(fmt.Sprintf("%d rows", len(want))), table)
}

func (r *replication) bothSame(t *testing.T) {
	t.Helper()
	r.same(t, "dbo.orders", "*", "id")
	r.same(t, "dbo.pictures", "*", "code, part")
}
