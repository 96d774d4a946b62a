// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"filippo.io/age"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// Names of what TestBackupsAreKeptApart declares in its namespace. The server of apartSource is backed up to the volume
// of apartKeeper's, at another site, and to a bucket.
const (
	apartSource, apartKeeper = "apartsource", "apartkeeper"
	apartVolume, apartBucket = "volume", "bucket"
	apartKey, apartSeal      = "backup-key", "seal"
	apartPolicy              = "apart"
	// apartWords are in a table, and nowhere else.
	apartWords = "these words are of a row alone"
)

// apart is a server at one site whose backups are kept, encrypted, on the volume of a server at another, and in a
// bucket. All of it is in a namespace that the test makes.
type apart struct {
	*groupTest
	at             *place
	source, keeper *v1alpha1.SQLServer
	pod            *bucketPod
	// kept is where the objects of each store lie, by its name.
	kept map[string]shelf
	// key is the pair to which the stores encrypt.
	key *age.X25519Identity
	// client is a pod from which servers are asked, at the keeper's site.
	client    *bed.Shell
	connector *mssql.Connector
}

// declareApart declares servers and stores, and waits until they are ready. The Secret of the stores' encryption has
// the public key alone.
func declareApart(t *testing.T, b *bed.Bed) *apart {
	t.Helper()
	x := &apart{groupTest: newGroupTest(t, b), at: &place{t: t, b: b, name: "e2e-apart"}}
	x.at.allow("dublin", "tukwila")
	server := func(name, site string, databases ...v1alpha1.Database) *v1alpha1.SQLServer {
		s := newServer(t, b, name, site, func(s *v1alpha1.SQLServerSpec) { s.Databases = databases })
		s.Namespace = x.at.name
		createServer(t, b, s)
		return s
	}
	x.source = server(apartSource, "tukwila", v1alpha1.Database{Name: "Content"})
	x.keeper = server(apartKeeper, "dublin")
	dublin := b.Site("dublin")
	x.pod = startBucket(t, dublin, x.at.name, apartBucket)
	t.Cleanup(x.remove) // the bucket goes after what uses it
	var err error
	x.key, err = age.GenerateX25519Identity()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	encrypted := &v1alpha1.BackupEncryption{KeySecretRef: v1alpha1.SecretReference{Name: apartKey}}
	bucket := x.pod.store()
	bucket.Encryption = encrypted
	x.create(x.pod.secret(), x.encryptionKey(x.key.Recipient().String()),
		&v1alpha1.BackupStore{ObjectMeta: x.at.of(apartBucket), Spec: bucket},
		&v1alpha1.BackupStore{ObjectMeta: x.at.of(apartVolume), Spec: v1alpha1.BackupStoreSpec{Encryption: encrypted,
			Volume: &v1alpha1.ServerVolume{Server: apartKeeper}}})
	x.client = dublin.StartShell(t, dublin.ShellPod(t, x.at.name, "client", "exec sleep infinity"))
	x.connector = connectorFrom(t, b, x.client)
	waitForServer(t, b, x.source, 4*time.Minute)
	waitForServer(t, b, x.keeper, 4*time.Minute)
	x.kept = map[string]shelf{apartVolume: x.volume(), apartBucket: {x.pod.Shell, "/tmp/buckets/backups/e2e"}}
	return x
}

// volume is the folder of the store on the keeper's backup volume, in a pod that has that to read.
func (x *apart) volume() shelf {
	pod := x.b.Site("dublin").ShellPod(x.t, x.at.name, "reader", "exec sleep infinity")
	pod.Spec.SecurityContext.FSGroup = nil // the volume is the server's
	pod.Spec.Volumes = []corev1.Volume{{Name: "backup", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: apartKeeper + "-backup", ReadOnly: true}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "backup", MountPath: "/backup", ReadOnly: true}}
	return shelf{x.b.Site("dublin").StartShell(x.t, pod), "/backup/stores/" + x.at.name + "/" + apartVolume + "/objects"}
}

// encryptionKey is the Secret of the stores' encryption.
func (x *apart) encryptionKey(line string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: x.at.of(apartKey), StringData: map[string]string{v1alpha1.KeyStoreEncryption: line}}
}

func (x *apart) create(all ...client.Object) {
	x.t.Helper()
	for _, obj := range all {
		NewWithT(x.t).Expect(x.b.Hub().Client.Create(x.t.Context(), obj)).To(Succeed(), "%T %s", obj, obj.GetName())
	}
}

// remove takes everything away in the order in which it needs another.
func (x *apart) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	hub := x.b.Hub()
	if x.t.Failed() {
		out, _, err := hub.Kubectl(ctx, "get", "gsql,gbstore,gbpol,grest", "-n", x.at.name, "-o", "yaml")
		x.t.Logf("%v\n%s", err, out)
	}
	if x.kept != nil { // the reader holds a claim
		if err := client.IgnoreNotFound(hub.Client.Delete(ctx, x.kept[apartVolume].shell.Pod)); err != nil {
			x.t.Error(err)
		}
	}
	for _, kinds := range [][]client.ObjectList{{&v1alpha1.RestoreList{}, &v1alpha1.BackupPolicyList{}},
		{&v1alpha1.BackupStoreList{}}, {&v1alpha1.SQLServerList{}}} {
		for _, kind := range kinds {
			x.deleteAll(ctx, kind)
		}
		if err := bed.Until(x.t, fmt.Sprintf("there is no %T any more", kinds[0]), 2*time.Minute,
			func(ctx context.Context) (bool, string, error) { return x.haveGone(ctx, kinds) }); err != nil {
			x.t.Error(err)
		}
	}
}

func (x *apart) deleteAll(ctx context.Context, kind client.ObjectList) {
	hub := x.b.Hub().Client
	err := hub.List(ctx, kind, client.InNamespace(x.at.name))
	if err == nil {
		err = meta.EachListItem(kind, func(o runtime.Object) error {
			return client.IgnoreNotFound(hub.Delete(ctx, o.(client.Object)))
		})
	}
	if err != nil {
		x.t.Errorf("delete what is in a %T: %v", kind, err)
	}
}

func (x *apart) haveGone(ctx context.Context, kinds []client.ObjectList) (bool, string, error) {
	left := 0
	for _, kind := range kinds {
		if err := x.b.Hub().Client.List(ctx, kind, client.InNamespace(x.at.name)); err != nil {
			return false, "", err
		}
		left += meta.LenList(kind)
	}
	return left == 0, fmt.Sprint(left, " are left"), nil
}

// policy is what is declared of backups: to both stores, as the engine writes them, so that rows can be looked for.
func (x *apart) policy() *v1alpha1.BackupPolicy {
	p := &v1alpha1.BackupPolicy{ObjectMeta: x.at.of(apartPolicy),
		Spec: minutely(v1alpha1.ServerOrGroup{Server: apartSource}, apartVolume)}
	p.Spec.Stores = append(p.Spec.Stores, apartBucket)
	p.Spec.Compression = ptr.To(false)
	return p
}

// folder of a server's database in a store.
func (x *apart) folder(server string) string { return x.at.name + "/server/" + server + "/Content" }

// restore declares a Restore of the source's database from a store's folder.
func (x *apart) restore(name string, store v1alpha1.ObjectName, change func(*v1alpha1.RestoreSpec)) *v1alpha1.Restore {
	x.t.Helper()
	r := &v1alpha1.Restore{ObjectMeta: x.at.of(name), Spec: v1alpha1.RestoreSpec{
		Source: v1alpha1.RestoreSource{Store: store, Path: x.folder(apartSource)},
		Target: v1alpha1.RestoreTarget{Server: apartKeeper, Database: v1alpha1.DatabaseName(name)}}}
	if change != nil {
		change(&r.Spec)
	}
	x.create(r)
	return r
}

// says waits for a Restore's reason, and returns the message.
func (x *apart) says(r *v1alpha1.Restore, reason string, within time.Duration) string {
	x.t.Helper()
	return waitForReady(x.t, x.b, r, &r.Status.StatusBase, reason, within)
}

// sa is a server's database to its administrator.
func (x *apart) sa(server *v1alpha1.SQLServer, database string) *mssql.DB {
	x.t.Helper()
	return open(x.t, x.connector, server, credentials.RoleSA, database)
}

// count is what a query for one number answers.
func (x *apart) count(server *v1alpha1.SQLServer, query string) (n int) {
	x.t.Helper()
	NewWithT(x.t).Expect(x.sa(server, "master").Query(x.t.Context(), tsql.Statement{Text: query},
		func(r mssql.Row) error { return r.Scan(&n) })).To(Succeed(), "%s at %s", query, server.Name)
	return n
}

// databases counts those of a name at a server.
func (x *apart) databases(server *v1alpha1.SQLServer, name string) int {
	x.t.Helper()
	return x.count(server, "SELECT COUNT(*) FROM sys.databases WHERE name = N'"+name+"'")
}

// has compares the rows of a server's database with those that are to be there.
func (x *apart) has(server *v1alpha1.SQLServer, database string, want []int) {
	x.t.Helper()
	ids, err := numbers(x.t, x.sa(server, database), "dbo.Returned")
	NewWithT(x.t).Expect(err).NotTo(HaveOccurred())
	NewWithT(x.t).Expect(ids).To(Equal(want), "%s at %s", database, server.Name)
}

// succeeds waits until a Restore has done what was asked.
func (x *apart) succeeds(r *v1alpha1.Restore) {
	x.t.Helper()
	(&returned{gt: x.groupTest}).succeeds(r)
}

// isRefused waits for the end of a Restore that finds no private key for what it reads, and gives the stores' Secret
// the key then.
func (x *apart) isRefused() {
	t, g := x.t, NewWithT(x.t)
	t.Helper()
	r := x.restore("locked", apartVolume, nil)
	g.Expect(x.says(r, v1alpha1.ReasonDecryptionKeyMissing, time.Minute)).
		To(ContainSubstring(x.key.Recipient().String()))
	g.Expect(r.Status.Outcome).To(Equal(v1alpha1.RestoreRefused))
	g.Expect(x.databases(x.keeper, "locked")).To(BeZero())
	g.Expect(x.b.Hub().Client.Update(t.Context(), x.encryptionKey(x.key.String()))).To(Succeed())
}

// testedSoon has the backups of the one database restored by way of trial at the next full minute that is 20 s away or
// more. What makes way for another is the server's, too, and may be there by then.
func (x *apart) testedSoon(p *v1alpha1.BackupPolicy) {
	t, g, hub := x.t, NewWithT(x.t), x.b.Hub().Client
	t.Helper()
	g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
	before := client.MergeFrom(p.DeepCopy())
	due := time.Now().UTC().Add(80 * time.Second)
	at := v1alpha1.BackupTimes{Schedule: fmt.Sprintf("%d %d * * *", due.Minute(), due.Hour())}
	p.Spec.RestoreTest = &v1alpha1.RestoreTest{BackupTimes: at, Server: apartKeeper,
		Databases: []v1alpha1.DatabaseName{"Content"}}
	g.Expect(hub.Patch(t.Context(), p, before)).To(Succeed())
}

// wasTested waits for the trial's end, and looks at the server what it was and what is left of it.
func (x *apart) wasTested(p *v1alpha1.BackupPolicy) {
	t, g, hub := x.t, NewWithT(x.t), x.b.Hub().Client
	t.Helper()
	bed.Wait(t, "a trial has passed", 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := hub.Get(ctx, client.ObjectKeyFromObject(p), p)
		c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRestoreTested)
		if err != nil || c == nil {
			return false, "", err
		}
		if c.Reason == v1alpha1.ReasonRestoreTestFailed {
			t.Fatal(c.Message)
		}
		return c.Status == metav1.ConditionTrue, c.Reason + ": " + c.Message, nil
	})
	const trial = "Content" + v1alpha1.RestoreTestSuffix
	g.Expect(x.count(x.keeper, "SELECT COUNT(*) FROM msdb.dbo.restorehistory WHERE restore_type = 'D' AND "+
		"destination_database_name = N'"+trial+"'")).To(Equal(1), "it was restored")
	g.Expect(x.databases(x.keeper, trial)).To(BeZero(), "and dropped")
	tested := p.Status.RestoreTest.Databases
	g.Expect(tested).To(HaveLen(1))
	r := &v1alpha1.Restore{ObjectMeta: x.at.of(tested[0].Restore)}
	g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(r), r)).To(Succeed())
	g.Expect(r.Status.Checked).To(BeTrue())
	t.Logf("the trial took %s", tested[0].Duration.Duration)
}

// makesWay puts the source's database back to a moment, from the volume of the other site: to the rows of then.
func (x *apart) makesWay(moment metav1.Time, then, now []int) {
	t, g := x.t, NewWithT(x.t)
	t.Helper()
	r := x.restore("undo", apartVolume, func(s *v1alpha1.RestoreSpec) {
		s.To = &v1alpha1.RestorePoint{Time: &moment}
		s.Target = v1alpha1.RestoreTarget{Server: apartSource, Database: "Content"}
		s.Replace = "Content"
	})
	x.succeeds(r)
	x.has(x.source, "Content", then)
	g.Expect(r.Status.Replaced).NotTo(BeNil())
	g.Expect(r.Status.Replaced.Database).To(HavePrefix("Content_replaced_"))
	x.has(x.source, r.Status.Replaced.Database, now)
}

// areFull waits until each store has a full backup.
func (x *apart) areFull() {
	x.t.Helper()
	since := time.Now()
	for name, place := range x.kept {
		NewWithT(x.t).Eventually(func() int { return len(place.of(x.t, x.folder(apartSource), backup.Full)) },
			2*time.Minute, time.Second).Should(Equal(1), "store %s has a full backup", name)
	}
	x.t.Logf("each store had a full backup %.0f s after the policy was declared", time.Since(since).Seconds())
}

// A server's backups are kept, encrypted, by a server at another site that has no bucket, and in a bucket. They can be
// read at neither place, and nobody restores them without the private key. With it they are tried on a schedule, bring
// back a database of a lost server with the certificate that the bucket keeps sealed, and put the server's own database
// back to a moment, in the place of the present one.
func TestBackupsAreKeptApart(t *testing.T) {
	onlyInAll(t)
	bed.Disturbs(t, 300).Alone() // sites allow another namespace
	began := time.Now()
	x := declareApart(t, bed.Open(t, client.Options{Scheme: operatorScheme()}))
	t.Logf("servers and stores were ready after %.0f s", time.Since(began).Seconds())
	rows := &returned{gt: x.groupTest, db: x.sa(x.source, "Content"), bytes: 100}
	rows.write(10)
	write(t, rows.db, "CREATE TABLE dbo.Words (w varchar(100)); INSERT dbo.Words VALUES ('"+apartWords+"')")
	p := x.policy()
	x.create(p)
	x.areFull()
	moment := rows.moment()
	rows.write(10)
	x.isRefused()
	x.testedSoon(p)
	x.comesBackWithItsKey(between(1, 10))
	kept := &backedUp{x.groupTest, p}
	kept.restorableTo("the moment can be restored", moment.Time, 3*time.Minute)
	x.makesWay(moment, between(1, 10), between(1, 20))
	rows.write(10)
	after := time.Now().Truncate(time.Second)
	x.wasTested(p)
	kept.restorableTo("what is written in place of the former rows can be restored", after, 3*time.Minute)
	again := x.restore("again", "", func(s *v1alpha1.RestoreSpec) {
		s.Source = v1alpha1.RestoreSource{Policy: apartPolicy, Database: "Content"}
	})
	x.succeeds(again)
	x.has(x.keeper, "again", append(between(1, 10), between(21, 30)...))
	for _, site := range []string{"dublin", "tukwila"} {
		x.forgets(site)
	}
	for name, place := range x.kept {
		files, size := place.isEncrypted(t, x.folder(apartSource), x.key, []byte(apartWords))
		t.Logf("store %s has %d encrypted files of %d bytes", name, files, size)
	}
	g := NewWithT(t)
	g.Expect(connects(t, x.client, credentials.HostName(apartKeeper), credentials.AgentPort)()).To(Equal(refused),
		"from a pod that is no server")
	t.Logf("the last assertion held after %.0f s", time.Since(began).Seconds())
}
