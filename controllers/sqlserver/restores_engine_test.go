// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/restore"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/sidecars"
	"geosql.dev/operator/test/support/bucket"
	"geosql.dev/operator/test/support/engine"
)

// sidecar is what stands beside a server's engine: its part that restores is told by the server's Secret at the site,
// and the manager asks it without a network between.
type sidecar struct {
	sidecars.Sidecars
	part atomic.Pointer[restores.Part]
}

// Part has what the part says, as it goes over the network.
func (s *sidecar) Part(_ context.Context, _ string, _ v1alpha1.ServerName, _ string, into any) error {
	part := s.part.Load()
	if part == nil {
		return nil
	}
	content, err := json.Marshal(part.Status())
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}

// told is a source that is told once, or whenever a Secret of the site changes.
type told func(context.Context) map[string][]byte

func (read told) Watch(ctx context.Context, update func(map[string][]byte)) error {
	var last map[string][]byte
	for {
		data := read(ctx)
		if last == nil || !maps.EqualFunc(data, last, bytes.Equal) {
			update(data)
			last = data
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(often):
		}
	}
}

// runs runs a part of a sidecar until the test ends, or it is ended.
func runs(t *testing.T, part interface{ Run(context.Context) error }) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = part.Run(ctx) }()
	end = func() { cancel(); <-done }
	t.Cleanup(end)
	return end
}

func query(t *testing.T, db *mssql.DB, text string) (n int) {
	t.Helper()
	NewWithT(t).Expect(db.Handle().QueryRowContext(t.Context(), text).Scan(&n)).To(Succeed())
	return n
}

func execute(t *testing.T, db *mssql.DB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		_, err := db.Handle().ExecContext(t.Context(), text)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), text)
	}
}

func open(t *testing.T, e *engine.Engine, role credentials.Role) *mssql.DB {
	t.Helper()
	db, err := e.Connector(t).Open(t.Context(), e.Target(role))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return db
}

// backedUp is a bucket that has the database Blog of a server that is no more, with three rows.
func backedUp(t *testing.T) *bucket.Server {
	t.Helper()
	g := NewWithT(t)
	server := bucket.Start(t)
	live := engine.Start(t, "web", "live")
	db := open(t, live, credentials.RoleSA)
	execute(t, db, "CREATE DATABASE Blog", "ALTER DATABASE Blog SET RECOVERY FULL",
		"CREATE TABLE Blog.dbo.t (id int PRIMARY KEY)", "INSERT Blog.dbo.t VALUES (1), (2), (3)")
	b := server.Bucket
	order, err := orders.Backup{Policy: "nightly", Namespace: "web", Target: "server/live", Stripes: 1, Checksum: true,
		Full: orders.BackupTimes{Schedule: "0 1 * * 0"}, LogEvery: time.Hour, AtPrimary: true,
		Stores: []orders.BackupStore{{Name: "bucket", Endpoint: b.Endpoint, Bucket: b.Name, Prefix: b.Prefix,
			AccessKey: b.AccessKey, SecretKey: b.SecretKey, CA: b.CA}}}.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	asked := func(context.Context) (*mssql.DB, error) { return db, nil }
	end := runs(t, backups.NewPart(
		told(func(context.Context) map[string][]byte { return map[string][]byte{orders.BackupKey("nightly"): order} }),
		"live-0", live.OnDisk(conf.BackupDir), backups.Engine{Ask: asked, Data: asked, Log: asked},
		slog.New(slog.DiscardHandler)))
	opened, err := store.Open(b)
	g.Expect(err).NotTo(HaveOccurred())
	defer opened.Close()
	g.Eventually(func() ([]backups.Kept, error) {
		stored, err := backups.Folder(t.Context(), opened, "web/server/live/Blog")
		return stored.Sets, err
	}, patient, often).ShouldNot(BeEmpty())
	end()
	live.Kill(t)
	return server
}

// A server's database comes from a bucket alone, by the agent beside it, with its rows; it is the operator's then, and
// comes once: neither does a deleted record bring it again, nor is there ever one over a database that is there.
func TestAServersDatabaseComesFromABucket(t *testing.T) {
	server := backedUp(t)
	beside := &sidecar{}
	b := newBed(t, func(mgr mcmanager.Manager, provider *sites.Provider, connector *mssql.Connector) {
		beside.Sidecars = sidecars.Sidecars{Sites: provider, Hub: mgr.GetLocalManager().GetClient(), Access: connector}
		NewWithT(t).Expect(restore.SetupWithManager(mgr, restore.Options{Sites: provider, Connector: connector,
			Sidecars: beside})).To(Succeed())
	})
	g := NewWithT(t)
	meta := metav1.ObjectMeta{Namespace: "web", Name: "s3"}
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{v1alpha1.KeyAccessKeyID: []byte(server.Bucket.AccessKey),
			v1alpha1.KeySecretAccessKey: []byte(server.Bucket.SecretKey), v1alpha1.KeyStoreCA: server.Bucket.CA}},
		&v1alpha1.BackupStore{ObjectMeta: meta, Spec: v1alpha1.BackupStoreSpec{S3: &v1alpha1.S3Bucket{
			Endpoint: server.Bucket.Endpoint, Bucket: server.Bucket.Name, Prefix: server.Bucket.Prefix,
			CredentialsSecretRef: v1alpha1.SecretName{Name: "s3"}, CASecretRef: &v1alpha1.SecretReference{Name: "s3"}}}},
	} {
		g.Expect(b.hub.Client.Create(t.Context(), object)).To(Succeed())
	}
	source := func(path string) *v1alpha1.DatabaseSource {
		return &v1alpha1.DatabaseSource{Restore: &v1alpha1.DatabaseRestore{
			BackupSource: v1alpha1.BackupSource{Store: "s3", Path: path}}}
	}
	s := b.create(t, "tukpub", func(spec *v1alpha1.SQLServerSpec) {
		spec.Databases = []v1alpha1.Database{{Name: "Back", From: source("web/server/live/Blog")}, {Name: "Plain"}}
	})
	var set appsv1.StatefulSet
	g.Eventually(get(t, b.site.Client, "tukpub", &set), patient, often).Should(Succeed(), b.why(t, "tukpub"))
	b.startPod(t, "tukpub")
	e := b.startEngine(t, "tukpub")
	// tempdb is moved to its volume, which takes one restart of the pod.
	b.replacePod(t, "tukpub", e)
	brought := func() []v1alpha1.Restore {
		var all v1alpha1.RestoreList
		g.Expect(b.hub.Client.List(t.Context(), &all, client.InNamespace("web"))).To(Succeed())
		return all.Items
	}
	g.Eventually(brought, patient, often).Should(ConsistOf(And(
		HaveField("Spec.Target", v1alpha1.RestoreTarget{Server: "tukpub", Database: "Back"}),
		HaveField("OwnerReferences", ConsistOf(HaveField("UID", s.UID))))), b.why(t, "tukpub"))
	g.Eventually(b.ready(t, "tukpub"), patient, often).Should(Satisfy(reason(v1alpha1.ReasonRestoreAwaited)))

	sa, agent := open(t, e, credentials.RoleSA), open(t, e, credentials.RoleAgent)
	g.Expect(query(t, sa, "SELECT COUNT(*) FROM sys.databases WHERE name = 'Back'")).To(BeZero(), "no empty one is made")
	asked := func(context.Context) (*mssql.DB, error) { return agent, nil }
	beside.part.Store(restores.NewPart(told(func(ctx context.Context) map[string][]byte {
		var secret corev1.Secret
		_ = b.site.Client.Get(ctx, client.ObjectKey{Namespace: "web", Name: credentials.OrdersName("tukpub")}, &secret)
		return secret.Data
	}), e.OnDisk(conf.BackupDir), backups.Engine{Ask: asked, Data: asked, Log: asked}, slog.New(slog.DiscardHandler)))
	runs(t, beside.part.Load())
	g.Eventually(b.ready(t, "tukpub"), patient, often).
		Should(HaveField("Status", metav1.ConditionTrue), b.why(t, "tukpub"))
	g.Expect(query(t, sa, "SELECT COUNT(*) FROM Back.dbo.t")).To(Equal(3))
	is := func() map[string]mssql.Database {
		all, err := mssql.ReadDatabases(t.Context(), sa)
		g.Expect(err).NotTo(HaveOccurred())
		return all
	}
	operator := credentials.RoleOperator.Login()
	g.Expect(is()).To(And(HaveKeyWithValue("Back", HaveField("Owner", operator)),
		HaveKeyWithValue("Plain", HaveField("Owner", operator))))
	g.Expect(brought()).To(ConsistOf(HaveField("Status.Outcome", v1alpha1.RestoreSucceeded)))

	// The record goes, and a database that is there gets a source: nothing is made of either.
	execute(t, sa, "INSERT Back.dbo.t VALUES (4)")
	record := brought()[0]
	g.Expect(b.hub.Client.Delete(t.Context(), &record)).To(Succeed())
	g.Eventually(brought, patient, often).Should(BeEmpty())
	var generation int64
	g.Eventually(func() error {
		if err := get(t, b.hub.Client, "tukpub", s)(); err != nil {
			return err
		}
		s.Spec.Databases[1].From = source("web/server/live/Blog")
		err := b.hub.Client.Update(t.Context(), s)
		generation = s.Generation
		return err
	}, patient, often).Should(Succeed())
	g.Eventually(b.ready(t, "tukpub"), patient, often).Should(And(HaveField("ObservedGeneration", generation),
		HaveField("Status", metav1.ConditionTrue)), b.why(t, "tukpub"))
	g.Expect(brought()).To(BeEmpty())
	g.Expect(query(t, sa, "SELECT COUNT(*) FROM Back.dbo.t")).To(Equal(4))
}
