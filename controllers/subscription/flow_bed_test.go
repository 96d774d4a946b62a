// SPDX-License-Identifier: Apache-2.0

//go:build integration

package subscription_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/distributor"
	"geosql.dev/operator/controllers/publication"
	"geosql.dev/operator/controllers/subscription"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/engine"
	"geosql.dev/operator/test/support/ports"
)

const (
	namespace = "web"
	system    = "geosql-system"
	patient   = 4 * time.Minute
)

// bed is a hub with the controllers of replication, and engines in processes of their own, each with its sidecar.
type bed struct {
	// nudged is when all objects were last looked at by request.
	nudged   time.Time
	hub      *apiserver.Server
	engines  map[v1alpha1.ServerName]*engine.Engine
	sidecars map[v1alpha1.ServerName]string
	// folders with snapshots and mirrors, by server.
	snapshots, mirrors map[v1alpha1.ServerName]string
	authority          *credentials.Authority
	connector          *mssql.Connector
	// options of its engines.
	options []engine.Option
	// watch is told of what the operator does at engines; nil for nobody.
	watch atomic.Pointer[watch]
}

// watch may keep a look or a step waiting.
type watch struct {
	opens    func(mssql.Target)
	executes func(mssql.Target, tsql.Statement) (done func(error))
}

func newBed(t *testing.T, servers ...v1alpha1.ServerName) *bed {
	t.Helper()
	return newBedOf(t, nil, servers...)
}

// newBedOf is a bed whose engines are started with options.
func newBedOf(t *testing.T, options []engine.Option, servers ...v1alpha1.ServerName) *bed {
	t.Helper()
	g := NewWithT(t)
	if testing.Verbose() {
		log.SetLogger(zap.New(zap.UseDevMode(true)))
	} else {
		log.SetLogger(logr.Discard())
	}
	b := &bed{
		engines: map[v1alpha1.ServerName]*engine.Engine{}, sidecars: map[v1alpha1.ServerName]string{},
		snapshots: map[v1alpha1.ServerName]string{}, mirrors: map[v1alpha1.ServerName]string{}, options: options,
	}
	var err error
	b.authority, err = credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	b.hub = apiserver.StartHub(t)
	b.hub.Namespace(t, system)
	b.hub.JoinHub(t, "dublin", namespace)
	readers, err := credentials.CompleteReader(nil, b.authority.PEM())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.hub.Client.Create(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: credentials.ReaderName}, Data: readers})).
		To(Succeed())
	for _, server := range servers {
		b.startServer(t, server)
	}
	for _, server := range servers {
		b.introduce(t, server)
	}
	b.startManager(t)
	return b
}

// startServer starts an engine and its sidecar, and makes what the controller of servers would make of them.
func (b *bed) startServer(t *testing.T, server v1alpha1.ServerName) {
	t.Helper()
	g := NewWithT(t)
	agreement, err := credentials.Agree(nil, nil, false)
	g.Expect(err).NotTo(HaveOccurred())
	certificate, err := b.authority.Issue(credentials.CertificateNames(namespace, server, nil), time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	for name, data := range map[string]map[string][]byte{
		credentials.PasswordsName(server): agreement.Passwords, credentials.CertificateName(server): certificate,
	} {
		g.Expect(b.hub.Client.Create(t.Context(),
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data})).
			To(Succeed())
	}
	size := &v1alpha1.Volume{Size: resource.MustParse("1Gi")}
	g.Expect(b.hub.Client.Create(t.Context(), &v1alpha1.SQLServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: string(server)},
		Spec: v1alpha1.SQLServerSpec{Site: "dublin", AcceptEULA: true, Edition: "Developer", Image: "mssql:1",
			Storage: &v1alpha1.ServerStorage{Data: size, Log: size, TempDB: size, Backup: size}},
	})).To(Succeed())
	e := engine.StartWith(t, namespace, server, agreement.Passwords, certificate, b.authority, b.options...)
	b.engines[server], b.mirrors[server] = e, e.OnDisk(conf.MirrorDir)
	// The sidecar makes it: an engine does not, and admits no publisher without.
	b.snapshots[server] = e.OnDisk(conf.SnapshotDir)
	b.startSidecar(t, server)
	b.admit(t, server)
}

// launchAnew starts an engine whose volumes were lost, which has the operator's login again and finds the other
// servers.
func (b *bed) launchAnew(t *testing.T, server v1alpha1.ServerName) {
	t.Helper()
	b.engines[server].Launch(t)
	b.admit(t, server)
	b.link(t, server)
}

// admit makes the operator's login on a new instance.
func (b *bed) admit(t *testing.T, server v1alpha1.ServerName) {
	t.Helper()
	g := NewWithT(t)
	e := b.engines[server]
	sa, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	for _, s := range []tsql.Statement{
		tsql.CreateLogin(tsql.Login{Name: credentials.RoleOperator.Login(),
			SID:      credentials.SID(namespace, credentials.RoleOperator.Login()),
			Password: e.Access.Passwords.Of(credentials.RoleOperator)}),
		tsql.AddServerRoleMember("sysadmin", credentials.RoleOperator.Login()),
	} {
		g.Expect(sa.Exec(t.Context(), s)).To(Succeed())
	}
}

// introduce lets an engine find the others, whose ports differ, and the folders behind the names of shares.
func (b *bed) introduce(t *testing.T, server v1alpha1.ServerName) {
	t.Helper()
	e := b.engines[server]
	text := fmt.Sprintf("\n[uncmapping]\n%s = %s\n", conf.Share(server), b.snapshots[server])
	for other := range b.engines {
		if other != server {
			text += fmt.Sprintf("%s = %s\n", conf.Share(other),
				filepath.Join(b.mirrors[server], credentials.HostName(other)))
		}
	}
	e.Configure(t, text)
	b.link(t, server)
}

// link tells a server where the others answer.
func (b *bed) link(t *testing.T, server v1alpha1.ServerName) {
	t.Helper()
	g := NewWithT(t)
	e := b.engines[server]
	sa, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	for name, other := range b.engines {
		if name == server {
			continue
		}
		_, port, err := net.SplitHostPort(other.Address)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sa.Exec(t.Context(), tsql.Statement{Text: fmt.Sprintf(
			"EXEC sp_addlinkedserver @server = N'%s', @srvproduct = N'', @provider = N'MSOLEDBSQL', @datasrc = N'127.0.0.1,%s'",
			credentials.HostName(name),
			port,
		)})).To(Succeed())
	}
}

// startSidecar runs a server's sidecar with its part for snapshots, which reads its orders from the API server.
func (b *bed) startSidecar(t *testing.T, server v1alpha1.ServerName) {
	t.Helper()
	g := NewWithT(t)
	e := b.engines[server]
	b.sidecars[server] = ports.Address(t)
	password := filepath.Join(t.TempDir(), "agent-password")
	g.Expect(os.WriteFile(password, e.Access.Passwords[credentials.KeyAgent], 0o600)).To(Succeed())
	o := agent.DefaultOptions()
	o.ServerName, o.Namespace, o.Listen, o.Engine = credentials.HostName(server), namespace, b.sidecars[server], e.Address
	o.Elections = "127.0.0.1:0"
	o.TLSDir, o.PasswordFile, o.StateDir = e.TLSDir, password, t.TempDir()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	a, err := agent.New(o, quiet)
	g.Expect(err).NotTo(HaveOccurred())
	kube, err := kubernetes.NewForConfig(b.hub.Config)
	g.Expect(err).NotTo(HaveOccurred())
	a.Admit(holder.SecretSource{Client: kube, Namespace: namespace, Name: credentials.ReaderName})
	part := files.NewPart(
		holder.SecretSource{Client: kube, Namespace: namespace, Name: credentials.OrdersName(server)},
		namespace,
		b.snapshots[server],
		b.mirrors[server],
		quiet,
	)
	part.Link(e.OnDisk(conf.Mirror(server)))
	part.Maps(e.OnDisk(conf.Path))
	part.Brought(e.OnDisk(conf.BroughtDir))
	a.Handle(files.Pattern, part.Server())
	a.Add(part)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		g.Eventually(done, patient).Should(Receive())
	})
}

func (b *bed) startManager(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	provider := sites.NewProvider(sites.Options{Namespace: system})
	mgr := apiserver.NewManager(t, b.hub.ManagerConfig(t), provider, apiserver.HubOptions())
	local := mgr.GetLocalManager()
	b.connector = mssql.NewConnector(mssql.Options{
		Access: mssql.SecretAccess{Reader: local.GetAPIReader()},
		Address: func(t mssql.Target) string {
			if w := b.watch.Load(); w != nil {
				w.opens(t)
			}
			return b.engines[t.Server].Address
		},
		Executing: func(t mssql.Target, s tsql.Statement) func(error) {
			if w := b.watch.Load(); w != nil {
				return w.executes(t, s)
			}
			return func(error) {}
		},
	})
	g.Expect(distributor.SetupWithManager(mgr, distributor.Options{Connector: b.connector})).To(Succeed())
	g.Expect(publication.SetupWithManager(mgr, publication.Options{Connector: b.connector})).To(Succeed())
	g.Expect(subscription.SetupWithManager(mgr, subscription.Options{Sites: provider, Connector: b.connector,
		Sidecar: func(_ string, server v1alpha1.ServerName) string { return b.sidecars[server] }})).To(Succeed())
	t.Cleanup(func() { _ = b.connector.Close() })
	apiserver.Run(t, mgr)
}

func (b *bed) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		obj.SetNamespace(namespace)
		NewWithT(t).Expect(b.hub.Client.Create(t.Context(), obj)).To(Succeed())
	}
}

// waitFor waits until Ready has the reason.
func (b *bed) waitFor(t *testing.T, obj client.Object, status *v1alpha1.StatusBase, reason string) {
	t.Helper()
	last := ""
	NewWithT(t).Eventually(func() string {
		if err := b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
		if c == nil {
			return "no condition yet"
		}
		if text := c.Reason + ": " + c.Message; text != last {
			last = text
			t.Logf("%T %s %s", obj, obj.GetName(), text)
		}
		if c.Reason != reason {
			b.nudgeAll(t)
		}
		return c.Reason
	}, patient, 500*time.Millisecond).Should(Equal(reason), "%T %s", obj, obj.GetName())
}

// sql executes a batch as sa.
func (b *bed) sql(t *testing.T, server v1alpha1.ServerName, database, text string) {
	t.Helper()
	db := b.open(t, server, database)
	NewWithT(t).Expect(db.Exec(t.Context(), tsql.Statement{Text: text})).To(Succeed())
}

func (b *bed) open(t *testing.T, server v1alpha1.ServerName, database string) *mssql.DB {
	t.Helper()
	db, err := b.connector.Open(
		t.Context(),
		mssql.Target{Namespace: namespace, Server: server, Database: database, Role: credentials.RoleSA},
	)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return db
}

// sum is the number of rows of a table and a digest of them.
func (b *bed) sum(t *testing.T, server v1alpha1.ServerName, table string) func() string {
	return func() string {
		var n int
		var ids, lengths int64
		err := b.open(t, server, "Content").
			Query(t.Context(),
				tsql.Statement{Text: "SELECT COUNT(*), COALESCE(SUM(CAST(Id AS bigint)), 0), COALESCE(SUM(CAST(LEN(Body) AS " +
					"bigint)), 0) FROM " + table},
				func(r mssql.Row) error { return r.Scan(&n, &ids, &lengths) })
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(n, " ", ids, " ", lengths)
	}
}

// fill inserts rows, in transactions of a hundred.
func (b *bed) fill(t *testing.T, server v1alpha1.ServerName, table string, from, to int) {
	t.Helper()
	b.fillIn(t, server, "Content", table, from, to)
}

// fillIn inserts the same rows in another database.
func (b *bed) fillIn(t *testing.T, server v1alpha1.ServerName, database, table string, from, to int) {
	t.Helper()
	for i := from; i < to; {
		var values []string
		for ; i < to && len(values) < 100; i++ {
			values = append(values, "("+strconv.Itoa(i)+", N'"+strings.Repeat(string(rune('a'+i%26)), 1+i%40)+"')")
		}
		b.sql(t, server, database, "INSERT "+table+" (Id, Body) VALUES "+strings.Join(values, ", "))
	}
}

func published() (*v1alpha1.Distributor, *v1alpha1.Publication) {
	return &v1alpha1.Distributor{
			ObjectMeta: metav1.ObjectMeta{Name: "main"},
			Spec:       v1alpha1.DistributorSpec{Server: "dist"},
		},
		&v1alpha1.Publication{
			ObjectMeta: metav1.ObjectMeta{Name: "articles"},
			Spec: v1alpha1.PublicationSpec{
				Publisher: v1alpha1.ServerOrGroup{Server: "tukpub"}, Database: "Content", Distributor: "main",
				Articles: []v1alpha1.Article{{Table: "dbo.Article"}},
			},
		}
}

func subscribed(kind v1alpha1.SubscriptionType) *v1alpha1.Subscription {
	return &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Name: "dublin"}, Spec: v1alpha1.SubscriptionSpec{
		Publication: "articles", Subscriber: v1alpha1.ServerOrGroup{Server: "dubsub"}, Database: "Content", Type: kind,
		ReclaimPolicy: v1alpha1.ReclaimDelete,
	}}
}

// replicating is a bed whose publisher has rows, and whose subscriber has them too. What is told before comes before
// the objects are declared.
func replicating(
	t *testing.T,
	kind v1alpha1.SubscriptionType,
	rows int,
	before ...func(*bed, *v1alpha1.Subscription),
) (*bed, *v1alpha1.Publication, *v1alpha1.Subscription) {
	t.Helper()
	b := newBed(t, "dist", "tukpub", "dubsub")
	b.publisherDatabase(t, rows)
	d, p := published()
	s := subscribed(kind)
	for _, f := range before {
		f(b, s)
	}
	b.create(t, d, p, s)
	b.settle(t, s, "dbo.Article")
	return b, p, s
}

const createTable = "CREATE TABLE dbo.%s (Id int NOT NULL PRIMARY KEY, Body nvarchar(100) NOT NULL)"
