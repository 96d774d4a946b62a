// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
)

// leftOfBackups finds what is left of backups: folders on volumes, and orders of sidecars.
func (b *bed) leftOfBackups(t *testing.T) (found []string) {
	t.Helper()
	for _, dirs := range []map[v1alpha1.ServerName]string{b.snapshots, b.mirrors} {
		for _, dir := range dirs {
			err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if err == nil && e.IsDir() && strings.Contains(filepath.Base(path), "_backup") {
					found = append(found, path)
				}
				return err
			})
			if err != nil && !os.IsNotExist(err) {
				t.Logf("look for backups in %s: %v", dir, err)
			}
		}
	}
	for server := range b.engines {
		for key := range b.orders(t, server) {
			if strings.Contains(key, "_backup") {
				found = append(found, string(server)+" "+key)
			}
		}
	}
	return found
}

// orders are those of a server's sidecar.
func (b *bed) orders(t *testing.T, server v1alpha1.ServerName) map[string][]byte {
	t.Helper()
	var secret corev1.Secret
	err := b.hub.Client.Get(t.Context(),
		client.ObjectKey{Namespace: namespace, Name: credentials.OrdersName(server)}, &secret)
	NewWithT(t).Expect(client.IgnoreNotFound(err)).To(Succeed())
	return secret.Data
}

// A Subscription that is deleted on its way to begin with a backup leaves nothing of it, at whichever step that is,
// whatever its policy says, and whether its Publication is still declared or not; no database is left half restored,
// and one that was restored before stays.
func TestADeletedSubscriptionLeavesNothingOfItsBackup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, 100)
	// What does not shrink, and takes a quarter of a minute at the least rate.
	b.sql(t, "tukpub", "Content", "CREATE TABLE dbo.Weight (Id int NOT NULL PRIMARY KEY, Body varbinary(max) NOT NULL)")
	noise := rand.NewChaCha8([32]byte{})
	for id := range 8 {
		body := make([]byte, 256<<10)
		_, err := noise.Read(body)
		g.Expect(err).NotTo(HaveOccurred())
		b.sql(t, "tukpub", "Content", fmt.Sprintf("INSERT dbo.Weight (Id, Body) VALUES (%d, 0x%x)", id, body))
	}
	d, p := published()
	b.create(t, d)
	// Suspended, it gives the log reader no right: nothing is registered.
	suspends := func(suspend bool) {
		change(t, b, p, func(p *v1alpha1.Publication) { p.Spec.Suspend = suspend })
	}
	publish := func() {
		_, p = published()
		b.create(t, p)
		b.waitFor(t, p, &p.Status.StatusBase, v1alpha1.ReasonPublished)
		suspends(true)
	}
	publish()
	told := func(server v1alpha1.ServerName, key string) func(*v1alpha1.Subscription) bool {
		return func(*v1alpha1.Subscription) bool { return len(b.orders(t, server)[key]) > 0 }
	}
	phases := []v1alpha1.CopyPhase{v1alpha1.CopyBackup, v1alpha1.CopyTransfer}
	in := func(phase v1alpha1.CopyPhase) func(*v1alpha1.Subscription) bool {
		return func(s *v1alpha1.Subscription) bool {
			// One may be over before anybody looks.
			return s.Status.Copy != nil && slices.Index(phases, s.Status.Copy.Phase) >= slices.Index(phases, phase)
		}
	}
	waits := func(s *v1alpha1.Subscription) bool {
		ready := readyOf(s.Status.Conditions)
		return ready != nil && ready.Reason == v1alpha1.ReasonWaitingForLogReader
	}
	const slow = "1Mbit"
	toldPublisher, toldSubscriber := told("tukpub", orders.ReaderKey("dublin_backup")),
		told("dubsub", orders.MirrorKey("dublin_backup"))
	for i, c := range []struct {
		name   string
		when   func(*v1alpha1.Subscription) bool
		policy v1alpha1.ReclaimPolicy
		// unpublished has the Publication be deleted first; rate is that of transfers, and restored tells that the database
		// is there by then.
		unpublished bool
		rate        string
		restored    bool
	}{
		{"the publisher is told", toldPublisher, v1alpha1.ReclaimRetain, false, slow, false},
		{"backup", in(v1alpha1.CopyBackup), v1alpha1.ReclaimDelete, false, slow, false},
		{"the subscriber is told", toldSubscriber, v1alpha1.ReclaimRetain, false, slow, false},
		{"transfer", in(v1alpha1.CopyTransfer), v1alpha1.ReclaimRetain, false, slow, false},
		{"transfer, and Delete", in(v1alpha1.CopyTransfer), v1alpha1.ReclaimDelete, false, slow, false},
		{"transfer, and the Publication goes first", in(v1alpha1.CopyTransfer), v1alpha1.ReclaimRetain, true, slow, false},
		{"restored", waits, v1alpha1.ReclaimRetain, false, "", true},
		{"restored, and Delete", waits, v1alpha1.ReclaimDelete, false, "", true},
	} {
		change(t, b, &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "dublin"}}, func(s *v1alpha1.Site) {
			s.Spec.Transfers = nil
			if c.rate != "" {
				s.Spec.Transfers = &v1alpha1.SiteTransfers{MaxRate: c.rate}
			}
		})
		s := subscribed(v1alpha1.SubscriptionPull)
		s.Spec.Initialization = &v1alpha1.Initialization{Method: v1alpha1.InitializeBackup}
		s.Spec.Database, s.Spec.ReclaimPolicy = v1alpha1.DatabaseName(fmt.Sprintf("Content%d", i)), c.policy
		b.create(t, s)
		g.Eventually(func() bool {
			b.nudgeAll(t)
			g.Expect(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
			return c.when(s)
		}, patient, 50*time.Millisecond).Should(BeTrue(), func() string { return fmt.Sprintf("%s: %+v", c.name, s.Status) })
		if c.unpublished {
			suspends(false)
			g.Expect(b.hub.Client.Delete(t.Context(), p)).To(Succeed())
			b.gone(t, p)
		}
		g.Expect(b.hub.Client.Delete(t.Context(), s)).To(Succeed())
		b.gone(t, s)
		g.Expect(b.leftOfBackups(t)).To(BeEmpty(), c.name)
		state := b.rowsIn(t, "dubsub", "master", fmt.Sprintf("SELECT state_desc + IIF(is_read_only = 1, N' READ_ONLY', "+
			"N'') FROM sys.databases WHERE name = N'%s'", s.Spec.Database))
		g.Expect(state).To(Equal(map[bool]string{true: "[ONLINE]", false: "[]"}[c.restored]), c.name)
		for server, query := range map[v1alpha1.ServerName]string{
			"tukpub": "SELECT DISTINCT dest_db FROM Content.dbo.syssubscriptions WHERE dest_db = N'%s'",
			"dist":   "SELECT DISTINCT subscriber_db FROM distribution.dbo.MSsubscriptions WHERE subscriber_db = N'%s'",
			"dubsub": "SELECT name FROM msdb.dbo.sysjobs WHERE name LIKE N'geosql%%-%s'",
		} {
			g.Expect(b.rowsIn(t, server, "master", fmt.Sprintf(query, s.Spec.Database))).To(Equal("[]"), "%s %s", c.name, server)
		}
		g.Expect(b.rowsIn(t, "dubsub", "master", "SELECT name FROM sys.databases WHERE name LIKE N'%[_]replaced[_]%'")).
			To(Equal("[]"), c.name)
		if c.unpublished {
			publish()
		}
	}
}

// gone waits until an object is.
func (b *bed) gone(t *testing.T, obj client.Object) {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		b.nudgeAll(t)
		return apierrors.IsNotFound(b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj))
	}, patient, 100*time.Millisecond).Should(BeTrue(), func() string { return fmt.Sprintf("%T %+v", obj, obj) })
}
