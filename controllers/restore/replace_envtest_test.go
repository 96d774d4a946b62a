// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restore_test

import (
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// content is what the database has before it is replaced; its backup has the row 1 alone.
func content(t *testing.T, e *engine.Engine) (file string) {
	t.Helper()
	NewWithT(t).Expect(os.MkdirAll(e.OnDisk(conf.BackupDir), 0o750)).To(Succeed())
	file = path.Join(conf.BackupDir, "content.bak")
	e.Execute(t, "CREATE DATABASE Content", "ALTER DATABASE Content SET RECOVERY FULL",
		"ALTER AUTHORIZATION ON DATABASE::Content TO geosql_operator",
		"CREATE TABLE Content.dbo.t (id int PRIMARY KEY)", "INSERT Content.dbo.t VALUES (1)",
		"BACKUP DATABASE Content TO DISK = N'"+file+"'", "INSERT Content.dbo.t VALUES (2)")
	return file
}

// restored does what the agent does: a database whose files have the Restore's UID in their names, and that is its own.
func (b *bed) restored(r *v1alpha1.Restore, file string) {
	b.Helper()
	g := NewWithT(b.T)
	name := b.order(r.Name)().Database
	place := func(end string) string { return path.Join(conf.DataDir, name+"-"+string(r.UID)+end) }
	files, err := mssql.ReadBackupFileList(b.Context(), b.sa, file, 1)
	g.Expect(err).NotTo(HaveOccurred())
	form := tsql.RestoreForm{Files: []string{file}}
	for _, f := range files {
		end := ".mdf"
		if f.Log {
			end = ".ldf"
		}
		form.Moves = append(form.Moves, tsql.FileMove{Name: f.Name, To: place(end)})
	}
	for _, s := range []tsql.Statement{tsql.RestoreFirst(name, string(r.UID), form), tsql.RecoverDatabase(name),
		tsql.SetDatabaseOwner(name, "geosql_agent")} {
		g.Expect(b.sa.Exec(b.Context(), s)).To(Succeed())
	}
	b.says(r, name)
}

func (b *bed) says(r *v1alpha1.Restore, name string) {
	b.agent.say(restores.Status{Name: r.Name, UID: string(r.UID), Step: restores.Ended, Database: name, Sets: 1,
		Restored: 1, Started: time.Now(), Chain: []restores.SetStatus{{ID: "f", Kind: backup.Full, Finished: time.Now()}},
		Result: &restores.Result{Outcome: restores.Succeeded, Reason: v1alpha1.ReasonRestored, Message: "it is there",
			Finished: time.Now()}})
}

// rows of a database on a server, or why there are none.
func rows(t *testing.T, e *engine.Engine, database string) func() string {
	db := e.SA(t)
	return func() string {
		list, err := db.Handle().QueryContext(t.Context(), "SELECT id FROM ["+database+"].dbo.t ORDER BY id")
		if err != nil {
			return err.Error()
		}
		defer func() { _ = list.Close() }()
		var all []string
		for list.Next() {
			var id int
			if err := list.Scan(&id); err != nil {
				return err.Error()
			}
			all = append(all, fmt.Sprint(id))
		}
		if err := list.Err(); err != nil {
			return err.Error()
		}
		return strings.Join(all, " ")
	}
}

func (b *bed) standing(e *engine.Engine, name string) func() *mssql.Standing {
	db := e.SA(b.T)
	return func() *mssql.Standing {
		all, err := mssql.ReadStandings(b.Context(), db, "nobody's", name)
		NewWithT(b.T).Expect(err).NotTo(HaveOccurred())
		return all[strings.ToLower(name)]
	}
}

func replace(target v1alpha1.RestoreTarget) v1alpha1.RestoreSpec {
	target.Database = "Content"
	return v1alpha1.RestoreSpec{Source: v1alpha1.RestoreSource{Policy: "nightly", Database: "Content"}, Target: target,
		Replace: "Content"}
}

// What is restored takes the place of a database on a server, which stays under another name.
func TestARestoreReplacesOnAServer(t *testing.T) {
	b := newBed(t)
	g := NewWithT(t)
	b.store()
	here := b.engines[0]
	file := content(t, here)
	spec := replace(v1alpha1.RestoreTarget{Server: "quisec"})

	dry := spec
	dry.DryRun = true
	look := b.restore("look", dry)
	g.Eventually(b.order("look"), patient, often).ShouldNot(BeNil())
	b.says(look, "Content_restored")
	g.Eventually(b.status("look"), patient, often).Should(And(HaveField("Phase", v1alpha1.RestoreCompleted),
		HaveField("Message", ContainSubstring("take the place of database Content on quisec-0, in no group"))))
	g.Expect(rows(t, here, "Content")()).To(Equal("1 2"))

	shop := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop"},
		Spec: v1alpha1.SubscriptionSpec{Publication: "shop", Database: "content",
			Subscriber: v1alpha1.ServerOrGroup{Server: "quisec"}}}
	b.create(shop)
	b.restore("held", spec)
	g.Eventually(b.status("held"), patient, often).Should(And(ready(metav1.ConditionFalse, v1alpha1.ReasonRestoreRefused),
		HaveField("Outcome", v1alpha1.RestoreRefused), HaveField("Message", ContainSubstring("Subscription shop"))))
	g.Expect(b.order("held")()).To(BeNil())
	g.Expect(b.hub.Client.Delete(t.Context(), shop)).To(Succeed())

	user, err := here.SA(t).Handle().Conn(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = user.Close() }()
	_, err = user.ExecContext(t.Context(), "USE Content; BEGIN TRANSACTION; INSERT dbo.t VALUES (3)")
	g.Expect(err).NotTo(HaveOccurred())
	r := b.restore("back", spec)
	g.Eventually(b.order("back"), patient, often).ShouldNot(BeNil())
	g.Expect(b.order("back")().Database).To(Equal("Content_restored_" + string(r.UID)[:8]))
	b.restored(r, file)
	g.Eventually(b.status("back"), patient, often).Should(And(ready(metav1.ConditionTrue, v1alpha1.ReasonRestored),
		HaveField("Phase", v1alpha1.RestoreCompleted), HaveField("Database", "Content")))
	s := b.status("back")()
	g.Expect(s.Replaced.Database).To(MatchRegexp(`^Content_replaced_\d{14}$`))
	g.Expect(s.Message).To(ContainSubstring(s.Replaced.Database + " on quisec-0"))
	g.Expect(rows(t, here, "Content")()).To(Equal("1"))
	g.Expect(rows(t, here, s.Replaced.Database)()).To(Equal("1 2"), "what nobody committed is undone")
	for _, name := range []string{"Content", s.Replaced.Database} {
		g.Expect(b.standing(here, name)()).To(And(HaveField("Access", "MULTI_USER"),
			HaveField("Owner", "geosql_operator")), name)
	}
	g.Expect(b.standing(here, "Content_restored_"+string(r.UID)[:8])()).To(BeNil())
	g.Expect(b.rights()).NotTo(ContainElement(mayMake))

	// The next one replaces the one that is there then, though its files are a Restore's.
	again := b.restore("again", spec)
	g.Eventually(b.order("again"), patient, often).ShouldNot(BeNil())
	b.restored(again, file)
	g.Eventually(b.status("again"), patient, often).Should(ready(metav1.ConditionTrue, v1alpha1.ReasonRestored))
	g.Expect(b.status("again")().Replaced.Database).NotTo(Equal(s.Replaced.Database))
}

// What is restored takes the place of a group's database, whose copies go, so that it is seeded to the others.
func TestARestoreReplacesInAGroup(t *testing.T) {
	b := newBed(t, "tukpub")
	g := NewWithT(t)
	b.store()
	b.group()
	primary, secondary := b.engines[0], b.engines[1]
	file := content(t, primary)
	urls := engine.Partners(t, primary, secondary)
	const data = ", AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL, SEEDING_MODE = AUTOMATIC, " +
		"SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL))"
	primary.Execute(t, fmt.Sprintf("CREATE AVAILABILITY GROUP content WITH (CLUSTER_TYPE = NONE) FOR DATABASE Content "+
		"REPLICA ON N'quisec-0' WITH (ENDPOINT_URL = N'%s'%s, N'tukpub-0' WITH (ENDPOINT_URL = N'%s'%s", urls[0], data,
		urls[1], data))
	secondary.Execute(t, "ALTER AVAILABILITY GROUP content JOIN WITH (CLUSTER_TYPE = NONE)",
		"ALTER AVAILABILITY GROUP content GRANT CREATE ANY DATABASE")
	g.Eventually(rows(t, secondary, "Content"), patient, often).Should(Equal("1 2"))
	b.seen(func(s *v1alpha1.AvailabilityGroupStatus) {
		s.GroupID, s.Primary = "6f9619ff-8b86-d011-b42d-00c04fc964ff", "quisec-0"
		s.Replicas = []v1alpha1.ReplicaStatus{{Server: "quisec-0", Role: "PRIMARY",
			Databases: []v1alpha1.ReplicaDatabaseStatus{{Name: "Content", SynchronizationState: "SYNCHRONIZED"}}}}
	})
	r := b.restore("back", replace(v1alpha1.RestoreTarget{AvailabilityGroup: "content"}))
	g.Eventually(b.order("back"), patient, often).ShouldNot(BeNil())
	g.Expect(b.order("back")().Group).To(Equal("content"))
	g.Consistently(b.standing(primary, "Content"), 2*time.Second, often).Should(HaveField("InGroup", true),
		"nothing is there that could take its place")
	b.restored(r, file)
	g.Eventually(b.status("back"), patient, often).Should(And(ready(metav1.ConditionTrue, v1alpha1.ReasonRestored),
		HaveField("Phase", v1alpha1.RestoreCompleted)))
	s := b.status("back")()
	g.Expect(s.Message).NotTo(ContainSubstring("Left alone"))
	g.Expect(b.standing(primary, "Content")()).To(And(HaveField("Owner", "geosql_operator"), HaveField("InGroup", false)))
	g.Expect(rows(t, primary, "Content")()).To(Equal("1"))
	g.Expect(rows(t, primary, s.Replaced.Database)()).To(Equal("1 2"))
	g.Expect(b.standing(secondary, "Content")()).To(BeNil())

	// As the group takes it up.
	primary.Execute(t, "BACKUP DATABASE Content TO DISK = N'"+path.Join(conf.BackupDir, "first.bak")+"'",
		"ALTER AVAILABILITY GROUP content ADD DATABASE Content")
	g.Eventually(rows(t, secondary, "Content"), patient, often).Should(Equal("1"))
	g.Expect(b.hub.Client.Delete(t.Context(), r)).To(Succeed())
	g.Eventually(func() error { return b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(r), r) }, patient, often).
		ShouldNot(Succeed())
}
