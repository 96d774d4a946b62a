// SPDX-License-Identifier: Apache-2.0

//go:build integration

package walk_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/stage"
)

// disturbances are edits that leave the manifest as it is.
var disturbances = []edit{
	{"killManager", killManager},
	{"restartEngine", restartEngine},
	{"deleteLogReader", deleteLogReader},
	{"stopDistributionAgent", byHand("sp_stop_job", "Distribution", distributor, subscriber)},
	{"deleteDistributionAgent", byHand("sp_delete_job", "Distribution", distributor, subscriber)},
	{"shutLoginOut", shutLoginOut},
	{"leaveGroup", leaveGroup},
	{"dropGroup", dropGroup},
	{"emptyPrimary", emptyPrimary},
	{"keepTopology", keepTopology},
	{"passRetention", passRetention},
	{"siteAway", siteAway},
	{"removeWhileAway", removeWhileAway},
	{"unsubscribeWhileAway", unsubscribeWhileAway},
}

func killManager(*manifest, []*manifest, *rand.Rand) change {
	return change{said: "the manager is killed and started again", carry: func(t testing.TB, w *walk) {
		w.manager.Kill()
		w.manager = w.stage.StartManager(t, w.ledger())
	}}
}

func restartEngine(_ *manifest, _ []*manifest, chance *rand.Rand) change {
	server := oneOf(chance, []v1alpha1.ServerName{distributor, subscriber, secondary})
	return change{
		said:  fmt.Sprintf("the engine of %s is killed and started again", server),
		carry: func(t testing.TB, w *walk) { w.stage.Restart(t, server) },
	}
}

// jobs of a subsystem on a server, as Transact-SQL selects their names.
func (w *walk) jobs(t testing.TB, server v1alpha1.ServerName, subsystem string) []string {
	return w.stage.Query(
		t,
		server,
		"msdb",
		"SELECT j.name FROM dbo.sysjobs j JOIN dbo.sysjobsteps s ON s.job_id = j.job_id "+
			"WHERE s.subsystem = N'"+subsystem+"'",
		1,
	)
}

type choice = func(*manifest, []*manifest, *rand.Rand) change

// byHand executes one statement about each job of a subsystem on the servers.
func byHand(procedure, subsystem string, servers ...v1alpha1.ServerName) choice {
	return func(m *manifest, _ []*manifest, _ *rand.Rand) change {
		if len(m.those(subscribed)) == 0 {
			return change{}
		}
		return change{said: procedure + " by hand, of " + subsystem, carry: func(t testing.TB, w *walk) {
			for _, server := range servers {
				for _, job := range w.jobs(t, server, subsystem) {
					t.Logf("%s of %s", job, server)
					w.stage.SQL(t, server, "msdb", "EXEC dbo."+procedure+" @job_name = N'"+strings.ReplaceAll(job, "'", "''")+"'")
				}
			}
		}}
	}
}

var deleteLogReader = byHand("sp_delete_job", "LogReader", distributor)

// waysOut are how a login is shut out by hand, and in which database.
var waysOut = []struct{ database, statement string }{
	{published, "DENY CONNECT TO " + application},
	{published, "REVOKE CONNECT FROM " + application},
	{published, "DENY SELECT TO " + application},
	{"master", "DENY CONNECT SQL TO " + application},
	{"master", "ALTER LOGIN " + application + " DISABLE"},
}

// shutLoginOut does so once there is one; else it gives applications one first.
func shutLoginOut(m *manifest, _ []*manifest, chance *rand.Rand) change {
	way := oneOf(chance, waysOut)
	m.login = true
	return change{said: way.statement, after: func(t testing.TB, w *walk) {
		w.ready(t)
		w.stage.SQL(t, subscriber, way.database, way.statement)
		w.nudge(t, &v1alpha1.Login{ObjectMeta: named(application)})
	}}
}

// nudge has an object looked at now, not within half a minute.
func (w *walk) nudge(t testing.TB, object client.Object) {
	t.Helper()
	NewWithT(t).Expect(w.stage.Hub.Client.Patch(t.Context(), object, client.RawPatch(mergePatch, fmt.Appendf(nil,
		`{"metadata":{"annotations":{"nudge":%q}}}`, time.Now())))).To(Succeed())
}

// leaveGroup takes the secondary replica's copy out of the group by hand, or the group off its server. When the group's
// condition names the copy, a person has it join again.
func leaveGroup(_ *manifest, _ []*manifest, chance *rand.Rand) change {
	way := oneOf(chance, []string{
		"ALTER DATABASE " + published + " SET HADR OFF", "DROP AVAILABILITY GROUP " + stage.Group,
	})
	return change{said: way + " on " + secondary, carry: func(t testing.TB, w *walk) {
		w.ready(t)
		w.stage.SQL(t, secondary, "master", way)
		w.says(t, "AvailabilityGroup "+stage.Group, v1alpha1.ReasonDatabaseOutside, published+" on "+secondary)
		query := func(text string) []string { return w.stage.Query(t, secondary, "master", text, 1) }
		NewWithT(t).Eventually(func() []string { return query("SELECT name FROM sys.availability_groups") }, patient,
			200*time.Millisecond).Should(Equal([]string{stage.Group}), w.told(t))
		for _, database := range query("SELECT name FROM sys.databases WHERE replica_id IS NULL AND name IN (N'" +
			published + "', N'" + further + "')") {
			w.stage.SQL(t, secondary, "master",
				"ALTER DATABASE ["+database+"] SET HADR AVAILABILITY GROUP = ["+stage.Group+"]")
		}
	}}
}

// passRetention makes all that was distributed older than the distributor keeps it, cleans up, and has the subscriber
// begin anew.
func passRetention(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name := oneOf(chance, m.those(func(p publication) bool { return subscribed(p) && !p.compares }))
	if name == "" {
		return change{}
	}
	return change{
		said: "the retention has passed, and the subscription to " + name + " begins anew",
		carry: func(t testing.TB, w *walk) {
			w.ready(t)
			w.arrived(t)
			w.stage.SQL(t, distributor, "distribution", "UPDATE dbo.MSrepl_transactions SET entry_time = "+
				"DATEADD(day, -4, entry_time); UPDATE dbo.MSsnapshot_history SET [time] = DATEADD(day, -4, [time]), "+
				"start_time = DATEADD(day, -4, start_time); "+
				"EXEC dbo.sp_MSdistribution_cleanup @min_distretention = 0, @max_distretention = 72")
			without := m.clone()
			without.set(name, "")
			w.declares(t, without)
			w.ready(t)
			for _, table := range m.publications[name].tables {
				w.stage.SQL(t, subscriber, published, "DROP TABLE IF EXISTS "+table)
			}
		},
	}
}

// absence is something that may be away for a while, with what brings that about and what ends it.
type absence struct {
	what       string
	leave, end func(t testing.TB, w *walk)
	// distributes says that a publication's end needs it without a subscription, too.
	distributes bool
}

var absences = []absence{
	{"the engine of " + distributor,
		func(t testing.TB, w *walk) { w.stage.Kill(t, distributor) },
		func(t testing.TB, w *walk) { w.stage.Launch(t, distributor) }, true},
	{"the engine of " + subscriber,
		func(t testing.TB, w *walk) { w.stage.Kill(t, subscriber) },
		func(t testing.TB, w *walk) { w.stage.Launch(t, subscriber) }, false},
	{"the distribution database", offline(distributor, "distribution"), online(distributor, "distribution"), true},
	{"the site of " + subscriber,
		func(_ testing.TB, w *walk) { w.stage.Member.Wire.Cut() },
		func(_ testing.TB, w *walk) { w.stage.Member.Wire.Mend() }, false},
	{"the subscriber's database", offline(subscriber, published), online(subscriber, published), false},
}

func offline(server v1alpha1.ServerName, database string) func(testing.TB, *walk) {
	return func(t testing.TB, w *walk) {
		w.stage.SQL(t, server, "master", "ALTER DATABASE "+database+" SET OFFLINE WITH ROLLBACK IMMEDIATE")
	}
}

func online(server v1alpha1.ServerName, database string) func(testing.TB, *walk) {
	return func(t testing.TB, w *walk) {
		w.stage.SQL(t, server, "master", "ALTER DATABASE "+database+" SET ONLINE")
		// Sessions that had the database were ended with it: the first question finds that out.
		NewWithT(t).Eventually(func() []string { return w.stage.Query(t, server, database, "SELECT 1", 1) }, patient).
			Should(Equal([]string{"1"}))
	}
}

// removeWhileAway removes a publication, with its subscription if there is one, while something that has a part of them
// is away. That waits for it, and leaves others alone.
func removeWhileAway(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name := oneOf(chance, m.names())
	if name == "" {
		return change{}
	}
	p := m.publications[name]
	delete(m.publications, name)
	if subscribed(p) {
		return away(oneOf(chance, absences), fmt.Sprintf("publication %s is gone, with its subscription", name),
			"Subscription "+name)
	}
	needed := slices.DeleteFunc(slices.Clone(absences), func(a absence) bool { return !a.distributes })
	return away(oneOf(chance, needed), fmt.Sprintf("publication %s is gone, which had no subscription", name),
		"Publication "+name)
}

// unsubscribeWhileAway ends a subscription alone so.
func unsubscribeWhileAway(m *manifest, _ []*manifest, chance *rand.Rand) change {
	name := oneOf(chance, m.those(subscribed))
	if name == "" {
		return change{}
	}
	m.set(name, "")
	return away(oneOf(chance, absences), fmt.Sprintf("%s subscribes to %s no more", subscriber, name),
		"Subscription "+name)
}

// away has a change of the manifest made while something is away, until an object that is being deleted says that it
// waits for that. One that is gone without was let go by what nobody had read.
func away(one absence, said, object string) change {
	return change{
		said:  said + ", while " + one.what + " is away",
		carry: func(t testing.TB, w *walk) { w.ready(t); one.leave(t, w) },
		after: func(t testing.TB, w *walk) {
			seen := ""
			NewWithT(t).Eventually(func() string {
				seen = "gone"
				if c := w.stage.Unready(t)[object]; c != nil {
					seen = c.Message
				}
				return seen
			}, patient, 200*time.Millisecond).Should(ContainSubstring("deletion waits"), w.told(t))
			t.Logf("%s: %s", object, seen)
			one.end(t, w)
		},
	}
}

// siteAway has the manager start while the subscriber's site is away, which is back later. It does not take what it
// cannot see for gone: the server's name leads to it all the time.
func siteAway(*manifest, []*manifest, *rand.Rand) change {
	c := said("the manager starts while the site of %s is away", subscriber)
	c.carry = func(t testing.TB, w *walk) {
		w.ready(t)
		w.stage.Member.Wire.Cut()
		w.manager.Kill()
		w.manager = w.stage.StartManager(t, w.ledger())
		w.write(t)
		server := &v1alpha1.SQLServer{ObjectMeta: named(subscriber)}
		NewWithT(t).Eventually(func() (string, error) {
			err := w.stage.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(server), server)
			if c := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionNamesReady); c != nil {
				return c.Message, err
			}
			return "", err
		}, patient, 200*time.Millisecond).Should(ContainSubstring("the address is not known"), w.told(t))
		NewWithT(t).Expect(w.stage.Leads(t.Context(), credentials.HostName(subscriber))).
			To(BeEquivalentTo(subscriber), w.told(t))
		w.stage.Member.Wire.Mend()
	}
	return c
}
