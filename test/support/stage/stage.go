// SPDX-License-Identifier: Apache-2.0

//go:build integration

// Package stage is a whole installation on one machine for tests: an API server, stand-in engines in processes of their
// own with their sidecars, and the manager in a process of its own, which is the test's binary started again and can be
// killed while all else lives on, as in a cluster.
package stage

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/engine"
	"geosql.dev/operator/test/support/ports"
)

const (
	// Namespace of all that is declared.
	Namespace = "web"
	// Site that the hub is.
	Site = "dublin"
	// Far is a site with an API server of its own, where a test puts servers.
	Far = "quincy"
	// Spare is a server that a test may add.
	Spare = "dubspare"
	// Group is the name of the group that may be declared, and of its listener.
	Group = "content"

	system  = "geosql-system"
	patient = 90 * time.Second
)

// Servers that run, in the parts that a test gives them.
var Servers = []v1alpha1.ServerName{"tukpub", "quisec", "dubcfg", "dist", "dubsub"}

// engines are those of the servers, and of the one that may be added.
var engines = append(slices.Clone(Servers), Spare)

// Stage is a hub that is a site too, perhaps another site, engines in processes of their own, and their sidecars.
type Stage struct {
	Hub *apiserver.Server
	// Member is the API server of the site Far, nil where no server is there.
	Member *apiserver.Server

	authority    *credentials.Authority
	engines      map[v1alpha1.ServerName]*engine.Engine
	sidecars     map[v1alpha1.ServerName]string
	elections    map[v1alpha1.ServerName]string
	certificates map[v1alpha1.ServerName]map[string][]byte
	// stops end the sidecars.
	stops              map[v1alpha1.ServerName]func()
	snapshots, mirrors map[v1alpha1.ServerName]string
	// reached are addresses of sidecars that managers know instead of their own, and snapshotParts the sidecars' parts.
	reached       map[v1alpha1.ServerName]string
	snapshotParts map[v1alpha1.ServerName]*files.Part
	// pods are the UIDs of the servers' pods, in which nothing runs: their engines are processes of the test's.
	pods      map[v1alpha1.ServerName]string
	connector *mssql.Connector
	dir       string
	// far are the servers at the site Far.
	far []v1alpha1.ServerName
	// onVolumes says that snapshots and mirrors lie where the engines have their volumes.
	onVolumes bool
	// listener is where a listener of the name Group is reached, as its Service has it.
	listener string
	// mayEnd says that sidecars may end their engines: they are to lose their votes, or those go with the namespace.
	mayEnd atomic.Bool
	// controllers are kube-controller-manager's, once they are needed.
	controllers sync.Once
}

// New starts everything but the manager, with the servers that are named at the site Far. It ends with the test.
func New(t testing.TB, far ...v1alpha1.ServerName) *Stage {
	t.Helper()
	return start(t, false, far)
}

// NewOnVolumes is New with snapshots and mirrors on the engines' own volumes, where an engine may write backups, and
// read what was brought.
func NewOnVolumes(t testing.TB, far ...v1alpha1.ServerName) *Stage {
	t.Helper()
	return start(t, true, far)
}

func start(t testing.TB, onVolumes bool, far []v1alpha1.ServerName) *Stage {
	t.Helper()
	g := gomega.NewWithT(t)
	b := &Stage{
		Hub: apiserver.StartHub(t), onVolumes: onVolumes, far: far, engines: map[v1alpha1.ServerName]*engine.Engine{},
		elections: map[v1alpha1.ServerName]string{},
		sidecars:  map[v1alpha1.ServerName]string{}, snapshots: map[v1alpha1.ServerName]string{},
		mirrors: map[v1alpha1.ServerName]string{}, stops: map[v1alpha1.ServerName]func(){},
		certificates: map[v1alpha1.ServerName]map[string][]byte{}, pods: map[v1alpha1.ServerName]string{}, dir: t.TempDir(),
		reached: map[v1alpha1.ServerName]string{}, snapshotParts: map[v1alpha1.ServerName]*files.Part{},
	}
	var err error
	b.authority, err = credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	b.Hub.Namespace(t, system)
	s := b.Hub.JoinHub(t, Site, Namespace)
	s.Spec.APIServer = b.Hub.Config.Host
	g.Expect(b.Hub.Client.Update(t.Context(), s)).To(gomega.Succeed())
	readers, err := credentials.CompleteReader(nil, b.authority.PEM())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	if len(far) > 0 {
		b.Member = apiserver.StartMember(t)
		b.Member.Join(t, b.Hub, system, Far, Namespace)
		g.Expect(b.Member.Client.Create(t.Context(),
			&corev1.Secret{ObjectMeta: named(credentials.ReaderName), Data: readers})).To(gomega.Succeed())
	}
	b.create(t, &corev1.Secret{ObjectMeta: named(credentials.ReaderName), Data: readers})
	for _, server := range engines {
		b.startEngine(t, server)
		b.sidecars[server] = ports.Address(t)
		b.elections[server] = ports.Address(t)
	}
	b.listener = b.listen(t)
	b.introduce(t)
	for _, server := range Servers {
		b.AddServer(t, server)
	}
	b.connector = mssql.NewConnector(mssql.Options{
		Access: mssql.AccessFunc(func(_ context.Context, _ string, server v1alpha1.ServerName) (mssql.Access, error) {
			return b.engines[server].Access, nil
		}),
		Address: func(target mssql.Target) string { return b.engines[target.Server].Address },
	})
	t.Cleanup(func() { _ = b.connector.Close() })
	return b
}

// Restart kills a server's engine and starts it again on its files.
func (b *Stage) Restart(t testing.TB, server v1alpha1.ServerName) {
	t.Helper()
	b.Kill(t, server)
	b.Launch(t, server)
}

// Kill ends a server's engine at once.
func (b *Stage) Kill(t testing.TB, server v1alpha1.ServerName) {
	t.Helper()
	b.engines[server].Kill(t)
}

// Launch starts a killed engine again on its files.
func (b *Stage) Launch(t testing.TB, server v1alpha1.ServerName) {
	t.Helper()
	b.engines[server].Launch(t)
}

// site of a server.
func (b *Stage) site(server v1alpha1.ServerName) v1alpha1.SiteName {
	if slices.Contains(b.far, server) {
		return Far
	}
	return Site
}

// at is the API server of a server's site.
func (b *Stage) at(server v1alpha1.ServerName) *apiserver.Server {
	if b.site(server) == Far {
		return b.Member
	}
	return b.Hub
}

// startEngine starts a server's engine.
func (b *Stage) startEngine(t testing.TB, server v1alpha1.ServerName) {
	t.Helper()
	g := gomega.NewWithT(t)
	agreement, err := credentials.Agree(nil, nil, false)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	certificate, err := b.authority.Issue(credentials.CertificateNames(Namespace, server, nil), time.Now())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	b.certificates[server] = certificate
	b.engines[server] = engine.StartWith(t, Namespace, server, agreement.Passwords, certificate, b.authority)
	// The sidecar makes the folder of snapshots: an engine does not, and admits no publisher without.
	b.snapshots[server], b.mirrors[server] = filepath.Join(t.TempDir(), "ReplData"), t.TempDir()
	if e := b.engines[server]; b.onVolumes {
		b.snapshots[server], b.mirrors[server] = e.OnDisk(conf.SnapshotDir), e.OnDisk(conf.MirrorDir)
	}
}

// AddServer makes a server known, with what the controller of servers would make of it, and its sidecar.
func (b *Stage) AddServer(t testing.TB, server v1alpha1.ServerName) {
	t.Helper()
	g := gomega.NewWithT(t)
	b.create(t, &corev1.Secret{ObjectMeta: named(credentials.PasswordsName(server)),
		Data: b.engines[server].Access.Passwords})
	b.create(t, &corev1.Secret{ObjectMeta: named(credentials.CertificateName(server)), Data: b.certificates[server]})
	size := &v1alpha1.Volume{Size: resource.MustParse("1Gi")}
	object := &v1alpha1.SQLServer{
		ObjectMeta: named(string(server)),
		Spec: v1alpha1.SQLServerSpec{Site: b.site(server), AcceptEULA: true, Edition: "Developer", Image: "mssql:1",
			Storage: &v1alpha1.ServerStorage{Data: size, Log: size, TempDB: size, Backup: size}},
	}
	b.create(t, object)
	// A manager that runs may write its finalizer meanwhile.
	made := object.DeepCopy()
	conditions.Set(&object.Status.StatusBase, object.Generation, conditions.Ready(v1alpha1.ReasonRunning, "it runs"))
	g.Expect(b.Hub.Client.Status().Patch(t.Context(), object, client.MergeFrom(made))).To(gomega.Succeed())
	account := &corev1.ServiceAccount{ObjectMeta: named("default")}
	g.Expect(client.IgnoreAlreadyExists(b.at(server).Client.Create(t.Context(), account))).To(gomega.Succeed())
	pod := &corev1.Pod{ObjectMeta: named(credentials.HostName(server)),
		// Nothing runs in it. By the default of 30 s the controller of namespaces would look again after 16 s.
		Spec: corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](1),
			Containers: []corev1.Container{{Name: "mssql", Image: "mssql:1"}}}}
	pod.Labels = map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelServer: string(server),
		v1alpha1.LabelNamespace: Namespace}
	g.Expect(b.at(server).Client.Create(t.Context(), pod)).To(gomega.Succeed())
	b.runs(t, server, pod)
	b.pods[server] = string(pod.UID)
	b.startSidecar(t, server)
}

// Orders are the keys of the Secret that tells a server's agent which groups it serves, and which it serves no more.
func (b *Stage) Orders(t testing.TB, server v1alpha1.ServerName) []string {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: named(credentials.OrdersName(server))}
	gomega.NewWithT(t).
		Expect(client.IgnoreNotFound(b.at(server).Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))).
		To(gomega.Succeed())
	return slices.Sorted(maps.Keys(secret.Data))
}

// RemoveServer deletes a server, and ends what the controller of servers would end with it; its volumes go.
func (b *Stage) RemoveServer(t testing.TB, server v1alpha1.ServerName) {
	t.Helper()
	g := gomega.NewWithT(t)
	object := &v1alpha1.SQLServer{ObjectMeta: named(string(server))}
	g.Expect(b.Hub.Client.Delete(t.Context(), object)).To(gomega.Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(b.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	}, patient).Should(gomega.BeTrue(), "SQLServer %s goes", server)
	b.stops[server]()
	at := b.at(server).Client
	g.Expect(at.Delete(t.Context(), &corev1.Pod{ObjectMeta: named(credentials.HostName(server))},
		client.GracePeriodSeconds(0))).To(gomega.Succeed())
	for _, secret := range []string{credentials.PasswordsName(server), credentials.CertificateName(server)} {
		g.Expect(b.Hub.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: named(secret)})).To(gomega.Succeed())
	}
	orders := &corev1.Secret{ObjectMeta: named(credentials.OrdersName(server))}
	g.Expect(client.IgnoreNotFound(at.Delete(t.Context(), orders))).To(gomega.Succeed())
	b.Empty(t, server)
}

// introduce lets engines find each other, whose ports differ, and the folders behind the names of shares, and equips
// them.
func (b *Stage) introduce(t testing.TB) {
	t.Helper()
	var peers []string
	for _, server := range engines {
		peers = append(peers, "--peer", credentials.HostName(server)+":5022="+ports.Address(t))
	}
	for _, server := range engines {
		e := b.engines[server]
		text := fmt.Sprintf("\n[uncmapping]\n%s = %s\n", conf.Share(server), b.snapshots[server])
		for _, other := range engines {
			if other != server {
				mirror := filepath.Join(b.mirrors[server], credentials.HostName(other))
				gomega.NewWithT(t).Expect(os.MkdirAll(mirror, 0o770)).To(gomega.Succeed(), "a publisher writes there, too")
				text += fmt.Sprintf("%s = %s\n", conf.Share(other), mirror)
			}
		}
		e.Arguments = peers
		e.Configure(t, text)
	}
	for _, server := range engines {
		b.equip(t, server)
	}
}

// equip gives an engine the logins that the controller of servers would make, and the addresses of others.
func (b *Stage) equip(t testing.TB, server v1alpha1.ServerName) {
	t.Helper()
	g := gomega.NewWithT(t)
	e := b.engines[server]
	sa, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	execute := func(s tsql.Statement) { g.Expect(sa.Exec(t.Context(), s)).To(gomega.Succeed(), s.Redacted()) }
	for _, role := range []credentials.Role{credentials.RoleOperator, credentials.RoleAgent} {
		execute(tsql.CreateLogin(tsql.Login{Name: role.Login(), SID: credentials.SID(Namespace, role.Login()),
			Password: e.Access.Passwords.Of(role)}))
		execute(tsql.AddServerRoleMember("sysadmin", role.Login()))
	}
	link := func(name, address string) {
		_, port, err := net.SplitHostPort(address)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		execute(tsql.Statement{Text: fmt.Sprintf("EXEC sp_addlinkedserver @server = N'%s', @srvproduct = N'', "+
			"@provider = N'MSOLEDBSQL', @datasrc = N'127.0.0.1,%s'", name, port)})
	}
	link(Group, b.listener)
	for _, other := range engines {
		if other != server {
			link(credentials.HostName(other), b.engines[other].Address)
		}
	}
}

// startSidecar runs a server's sidecar with its parts for elections and snapshots, which read their orders from the API
// server.
func (b *Stage) startSidecar(t testing.TB, server v1alpha1.ServerName) {
	t.Helper()
	g := gomega.NewWithT(t)
	e := b.engines[server]
	password := filepath.Join(t.TempDir(), "agent-password")
	g.Expect(os.WriteFile(password, e.Access.Passwords[credentials.KeyAgent], 0o600)).To(gomega.Succeed())
	o := agent.DefaultOptions()
	o.ServerName, o.Namespace, o.Listen, o.Engine = credentials.HostName(server), Namespace, b.sidecars[server], e.Address
	o.Elections = b.elections[server]
	o.TLSDir, o.PasswordFile, o.StateDir = e.TLSDir, password, t.TempDir()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	a, err := agent.New(o, quiet)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	kube, err := kubernetes.NewForConfig(b.at(server).Config)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	a.Admit(holder.SecretSource{Client: kube, Namespace: Namespace, Name: credentials.ReaderName})
	source := holder.SecretSource{Client: kube, Namespace: Namespace, Name: credentials.OrdersName(server)}
	part := files.NewPart(source, Namespace, b.snapshots[server], b.mirrors[server], quiet)
	a.Handle(files.Pattern, part.Server())
	a.Add(part)
	b.snapshotParts[server] = part
	votes, err := holder.New(holder.Options{
		Target: mssql.Target{Namespace: Namespace, Server: server, Role: credentials.RoleAgent}, PodUID: b.pods[server],
		Connector: a.NewConnector("geosql-agent election"), Process: process{t, e, &b.mayEnd}, Source: source,
		StateDir: t.TempDir(), Log: quiet, Registerer: a.Registerer(), TLSDir: e.TLSDir,
		PeerAddresses: func(host string) []string {
			of := v1alpha1.ServerName(strings.TrimSuffix(host, "-0"))
			return []string{b.elections[of], b.sidecars[of]}
		},
	})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	a.HandlePeers(holder.Pattern, votes)
	// Without its Drain: the test's end is not a pod's, which hands its group over first.
	a.Add(struct{ agent.Part }{votes})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = a.Run(ctx) }()
	b.stops[server] = func() {
		cancel()
		g.Eventually(done, patient).Should(gomega.BeClosed())
	}
	t.Cleanup(b.stops[server])
}

// process is an engine's.
type process struct {
	t      testing.TB
	engine *engine.Engine
	mayEnd *atomic.Bool
}

// Run is the number of the process.
func (p process) Run() (string, error) {
	if pid := p.engine.PID(); pid != 0 {
		return fmt.Sprint(pid), nil
	}
	return "", nil
}

// Kill ends the engine, as is right only where its votes are to be lost.
func (p process) Kill() error {
	if !p.mayEnd.Load() {
		p.t.Errorf("the sidecar of %s gave its votes up and ended the engine", p.engine.Server)
	}
	p.engine.End()
	return nil
}

// StartControllers starts kube-controller-manager, unless it runs.
func (b *Stage) StartControllers(t testing.TB) {
	t.Helper()
	b.controllers.Do(func() { b.Hub.StartControllers(t) })
}

// DeleteNamespace has kube-controller-manager delete the namespace of all that is declared, with its objects in
// whatever order it comes upon them, and returns it as it is now.
func (b *Stage) DeleteNamespace(t testing.TB) (now func() (*corev1.Namespace, error)) {
	t.Helper()
	b.mayEnd.Store(true)
	b.StartControllers(t)
	web := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	gomega.NewWithT(t).Expect(b.Hub.Client.Delete(t.Context(), web)).To(gomega.Succeed())
	return func() (*corev1.Namespace, error) {
		err := b.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(web), web)
		return web, err
	}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: Namespace, Name: name} }

func (b *Stage) create(t testing.TB, object client.Object) {
	t.Helper()
	gomega.NewWithT(t).Expect(b.Hub.Client.Create(t.Context(), object)).To(gomega.Succeed())
}
