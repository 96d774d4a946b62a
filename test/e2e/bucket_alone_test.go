// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/e2e/bed"
)

// aloneName is the name of the group, of its publication and of the rest that has one name.
const aloneName = "e2elost"

// alone is a system that is declared by one manifest in a namespace of its own, with its bucket elsewhere.
type alone struct {
	*groupTest
	at  *place
	pod *bucketPod
	// shell is in the namespace, and the connector reaches servers from there.
	shell     *bed.Shell
	connector *mssql.Connector
}

// topology is the manifest: a group with a publication of the table that a writer fills, a subscriber, and backups.
func (a *alone) topology() *v1alpha1.Topology {
	server := func(name, site string) v1alpha1.TopologyServer {
		return v1alpha1.TopologyServer{Name: v1alpha1.ServerName(name),
			SQLServerSpec: newServer(a.t, a.b, name, site, nil).Spec}
	}
	return &v1alpha1.Topology{ObjectMeta: a.at.of(aloneName), Spec: v1alpha1.TopologySpec{
		Servers: []v1alpha1.TopologyServer{server("e2elostt", "tukwila"), server("e2elostq", "quincy"),
			server("e2elostd", "dublin"), server("e2elostdist", "quincy"), server("e2elostsub", "dublin")},
		AvailabilityGroups: []v1alpha1.TopologyAvailabilityGroup{{Name: aloneName,
			AvailabilityGroupSpec: v1alpha1.AvailabilityGroupSpec{
				Replicas: []v1alpha1.Replica{
					{Server: "e2elostt", AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true},
					{Server: "e2elostq", AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true},
					{Server: "e2elostd", AvailabilityMode: v1alpha1.ConfigurationOnly}},
				InitialPrimary: "e2elostt", Databases: []v1alpha1.Database{{Name: "Content"}},
				Voters:         []v1alpha1.SiteName{"tukwila", "quincy", "dublin"},
				FailoverPolicy: v1alpha1.FailoverAutomatic, ReclaimPolicy: v1alpha1.ReclaimDelete}}},
		Distributors: []v1alpha1.TopologyDistributor{{Name: aloneName,
			DistributorSpec: v1alpha1.DistributorSpec{Server: "e2elostdist"}}},
		Publications: []v1alpha1.TopologyPublication{{Name: aloneName, PublicationSpec: v1alpha1.PublicationSpec{
			Publisher: v1alpha1.ServerOrGroup{AvailabilityGroup: aloneName}, Database: "Content", Distributor: aloneName,
			Articles: []v1alpha1.Article{{Table: "dbo.Acked"}}}}},
		Subscriptions: []v1alpha1.TopologySubscription{{Name: aloneName, SubscriptionSpec: v1alpha1.SubscriptionSpec{
			Publication: aloneName, Subscriber: v1alpha1.ServerOrGroup{Server: "e2elostsub"}, Database: "Content",
			Type: v1alpha1.SubscriptionPull, ReclaimPolicy: v1alpha1.ReclaimDelete}}},
		BackupStores: []v1alpha1.TopologyBackupStore{{Name: aloneName, BackupStoreSpec: a.pod.store()}},
		BackupPolicies: []v1alpha1.TopologyBackupPolicy{{Name: "e2e",
			BackupPolicySpec: minutely(v1alpha1.ServerOrGroup{}, aloneName)}},
	}}
}

// declare applies what is given, and then the manifest with the secret of its bucket.
func (a *alone) declare(before ...client.Object) {
	a.t.Helper()
	secret := a.pod.secret()
	secret.Namespace = a.at.name
	for _, obj := range append(append([]client.Object{secret}, before...), a.topology()) {
		NewWithT(a.t).Expect(a.b.Hub().Client.Create(a.t.Context(), obj)).To(Succeed())
	}
	for i, site := range groupSites {
		a.servers[site] = &v1alpha1.SQLServer{ObjectMeta: a.at.of(string(a.topology().Spec.Servers[i].Name))}
	}
	a.group = &v1alpha1.AvailabilityGroup{ObjectMeta: a.at.of(aloneName)}
	site := a.b.Site("dublin")
	a.shell = site.StartShell(a.t, site.ShellPod(a.t, a.at.name, "client", "exec sleep infinity"))
	a.connector = connectorFrom(a.t, a.b, a.shell)
}

// policy is that of the group.
func (a *alone) policy() *v1alpha1.BackupPolicy {
	return &v1alpha1.BackupPolicy{ObjectMeta: a.at.of("e2e-" + aloneName)}
}

// delivering waits until rows arrive at the subscriber: as many as the publisher has.
func (a *alone) delivering(source *mssql.DB) {
	t := a.t
	t.Helper()
	s := &v1alpha1.Subscription{ObjectMeta: a.at.of(aloneName)}
	waitForReady(t, a.b, s, &s.Status.StatusBase, v1alpha1.ReasonDelivering, 5*time.Minute)
	want, err := numbers(t, source, "dbo.Acked")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	last := want[len(want)-1]
	subscriber := &v1alpha1.SQLServer{ObjectMeta: a.at.of("e2elostsub")}
	copied := open(t, a.connector, subscriber, credentials.RoleSA, "Content")
	bed.Wait(t, fmt.Sprintf("row %d is at the subscriber", last), time.Minute,
		func(context.Context) (bool, string, error) {
			got, err := numbers(t, copied, "dbo.Acked")
			arrived := slices.Index(got, last) + 1
			return arrived > 0 && slices.Equal(got[:arrived], want), fmt.Sprint(len(got), " rows are there"), err
		})
}

// newestLog is the moment until which the newest backup of the log in the bucket has everything.
func (a *alone) newestLog() (until time.Time) {
	a.t.Helper()
	g := NewWithT(a.t)
	out, err := a.pod.Run(a.t.Context(), fmt.Sprintf("cd /tmp/buckets/backups/e2e/%s/Content && cat ./*-log-*/set.json",
		a.target()))
	g.Expect(err).NotTo(HaveOccurred())
	for sets := json.NewDecoder(strings.NewReader(out)); ; {
		var d backup.Description
		if err := sets.Decode(&d); errors.Is(err, io.EOF) {
			return until
		}
		g.Expect(err).NotTo(HaveOccurred())
		if d.Until.After(until) {
			until = d.Until
		}
	}
}

// publishAnew gives the word that the publication waits for: the database came back with it, to a server of the same
// name, and the distributor is another one.
func (a *alone) publishAnew() {
	a.t.Helper()
	p := &v1alpha1.Publication{ObjectMeta: a.at.of(aloneName)}
	waitForReady(a.t, a.b, p, &p.Status.StatusBase, v1alpha1.ReasonDistributorLost, 2*time.Minute)
	page := shellBlocks(a.t, "bucket-alone.md", "publication articles", "publication "+aloneName, "-n web",
		"-n "+a.at.name)
	asAPerson(a.t, a.b, page[len(page)-1])
}

// target is the group's folder in the bucket, below the prefix.
func (a *alone) target() string { return a.at.name + "/group/" + aloneName }

// isAnothers lets the bucket's folder be that of a hub which is no more: the one that comes back has another UID.
func (a *alone) isAnothers() {
	a.t.Helper()
	g, key := NewWithT(a.t), backup.OwnerKey(a.target())
	content, err := a.pod.Run(a.t.Context(), "cat /tmp/buckets/backups/e2e/"+key)
	g.Expect(err).NotTo(HaveOccurred())
	owner := backup.DecodeOwner([]byte(content))
	g.Expect(owner.Hub).NotTo(BeEmpty())
	owner.Hub, owner.Claim = "lost", "lost"
	changed, err := owner.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(a.t.TempDir(), "owner")
	g.Expect(os.WriteFile(file, changed, 0o600)).To(Succeed())
	a.pod.put(a.t, key, file)
}

// firstRead is when the rows could be read through the listener, and which they were.
func (a *alone) firstRead() (at time.Time, ids []int) {
	a.t.Helper()
	c := mssql.NewConnector(mssql.Options{Access: mssql.SecretAccess{Reader: a.b.Hub().Client}, Dial: dialFrom(a.shell),
		Address: func(mssql.Target) string { return aloneName + ":1433" }, Program: "e2e through the listener"})
	a.t.Cleanup(func() { _ = c.Close() })
	bed.Wait(a.t, "rows can be read through the listener", 8*time.Minute, func(ctx context.Context) (bool, string, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		db, err := c.Open(ctx, mssql.Target{Namespace: a.at.name, Server: a.server("tukwila"), Role: credentials.RoleSA,
			Database: "Content"})
		if err != nil {
			return false, "no credentials yet", client.IgnoreNotFound(err)
		}
		ids, err = numbers(a.t, db, "dbo.Acked")
		state, reason := a.ready(ctx)
		if reason != nil {
			return false, "", reason
		}
		at = time.Now()
		return err == nil, state.Reason + ": " + state.Message, nil
	})
	return at, ids
}

// takeOver takes the folder over by the command of the condition's message, and waits until backups go on there.
func (a *alone) takeOver() {
	t, p := a.t, a.policy()
	t.Helper()
	message := waitForReady(t, a.b, p, &p.Status.StatusBase, v1alpha1.ReasonBackupOtherHub, 3*time.Minute)
	command := regexp.MustCompile(`kubectl annotate [^=]*geosql\.dev/take-over-backups=[A-Za-z0-9-]+`).FindString(message)
	NewWithT(t).Expect(command).NotTo(BeEmpty(), message)
	asAPerson(t, a.b, command)
	bed.Wait(t, "the policy is ready", 4*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := a.b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(p), p)
		c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
		if err != nil || c == nil {
			return false, "", err
		}
		return c.Status == metav1.ConditionTrue, c.Reason + ": " + c.Message, nil
	})
}

// Everything is lost but the bucket: the operator, all objects at the hub and at the sites, and all volumes. The
// operator is installed again, the manifest is applied again with a Restore by the folder's path beside it, and the
// system serves, replicates and backs up as before, once a person has said that the publication and the folder are its
// own. Every row is there whose write was acknowledged before the newest backup of the log.
func TestNothingIsLeftButTheBucket(t *testing.T) {
	onlyInAll(t)
	turn := bed.Disturbs(t, 480) // nobody manages anything for a while
	turn.Alone()
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	b.ResetWan(t)
	image, err := operatorImage(t.Context(), b)
	g.Expect(err).NotTo(HaveOccurred())
	a := &alone{groupTest: newGroupTest(t, b), at: &place{t: t, b: b, name: "e2e-alone", image: image}}
	a.at.keep()
	a.pod = startBucket(t, b.Site("dublin"), namespace, "e2e-alone")
	a.at.make()
	a.declare()
	a.wait("the group is synchronized", 1, 6*time.Minute)
	source := a.through(a.shell)
	w := a.startWriting(source)
	a.delivering(source)
	x := &backedUp{a.groupTest, a.policy()}
	x.restorableTo("the group can be restored", time.Now().Truncate(time.Second), 4*time.Minute)
	w.more(t, time.Minute)

	a.at.lose()
	w.end()
	lost, until := time.Now(), a.newestLog()
	acknowledged, later := w.ackedBy(until)
	g.Expect(acknowledged).NotTo(BeEmpty())
	a.isAnothers()
	a.at.make()
	installed := time.Now()
	restore := &v1alpha1.Restore{ObjectMeta: a.at.of(aloneName), Spec: v1alpha1.RestoreSpec{
		Source: v1alpha1.RestoreSource{Store: aloneName, Path: a.target() + "/Content"},
		Target: v1alpha1.RestoreTarget{AvailabilityGroup: aloneName}}}
	a.declare(restore)
	read, ids := a.firstRead()
	var missing []int
	for _, id := range acknowledged {
		if _, there := slices.BinarySearch(ids, id); !there {
			missing = append(missing, id)
		}
	}
	g.Expect(missing).To(BeEmpty(), "acknowledged before %s, of %d rows", until, len(acknowledged))
	a.wait("the group is synchronized", 1, 5*time.Minute)
	redundant := time.Now()
	t.Logf("the last write was acknowledged %.1f s after the newest backup of the log, and %d rows since; %d older ones "+
		"are all there", w.lastAck().Sub(until).Seconds(), later, len(acknowledged))
	t.Logf("the operator was installed again %.1f s after the loss; first read %.1f s, full redundancy %.1f s after the "+
		"manifest was applied", installed.Sub(lost).Seconds(), read.Sub(installed).Seconds(),
		redundant.Sub(installed).Seconds())
	replica := open(t, a.connector, a.servers["quincy"], credentials.RoleSA, "Content")
	g.Eventually(func() ([]int, error) { return numbers(t, replica, "dbo.Acked") }, time.Minute, time.Second).
		Should(Equal(ids))
	source = a.through(a.shell)
	write(t, source, "INSERT dbo.Acked VALUES (2000000000, N'written after the loss')")
	a.publishAnew()
	a.delivering(source)
	t.Logf("the subscriber had everything %.1f s after the manifest was applied", time.Since(installed).Seconds())
	a.takeOver()
}
