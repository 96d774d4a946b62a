// SPDX-License-Identifier: Apache-2.0

//go:build integration

package interrupted_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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
)

const (
	namespace = "web"
	system    = "geosql-system"
	site      = "dublin"
	listener  = "content"
	patient   = 90 * time.Second
)

var servers = []v1alpha1.ServerName{"tukpub", "quisec", "dubcfg", "dist", "dubsub"}

// bed is a hub that is a site too, engines in processes of their own, and their sidecars.
type bed struct {
	hub                *apiserver.Server
	authority          *credentials.Authority
	engines            map[v1alpha1.ServerName]*engine.Engine
	sidecars           map[v1alpha1.ServerName]string
	snapshots, mirrors map[v1alpha1.ServerName]string
	// pods are the UIDs of the servers' pods, in which nothing runs: their engines are processes of the test's.
	pods      map[v1alpha1.ServerName]string
	connector *mssql.Connector
	dir       string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	g := NewWithT(t)
	b := &bed{
		hub: apiserver.StartHub(t), engines: map[v1alpha1.ServerName]*engine.Engine{}, sidecars: map[v1alpha1.ServerName]string{},
		snapshots: map[v1alpha1.ServerName]string{}, mirrors: map[v1alpha1.ServerName]string{}, pods: map[v1alpha1.ServerName]string{}, dir: t.TempDir(),
	}
	var err error
	b.authority, err = credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	b.hub.Namespace(t, system)
	s := b.hub.JoinHub(t, site, namespace)
	s.Spec.APIServer = b.hub.Config.Host
	g.Expect(b.hub.Client.Update(t.Context(), s)).To(Succeed())
	readers, err := credentials.CompleteReader(nil, b.authority.PEM())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.hub.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: credentials.ReaderName}, Data: readers})).To(Succeed())
	for _, server := range servers {
		b.startServer(t, server)
	}
	b.introduce(t)
	for _, server := range servers {
		b.startSidecar(t, server)
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

// startServer starts an engine and makes what the controller of servers would make of it.
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
		g.Expect(b.hub.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data})).To(Succeed())
	}
	size := &v1alpha1.Volume{Size: resource.MustParse("1Gi")}
	object := &v1alpha1.SQLServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: string(server)},
		Spec: v1alpha1.SQLServerSpec{Site: site, AcceptEULA: true, Edition: "Developer", Image: "mssql:1",
			Storage: &v1alpha1.ServerStorage{Data: size, Log: size, TempDB: size, Backup: size}},
	}
	g.Expect(b.hub.Client.Create(t.Context(), object)).To(Succeed())
	conditions.Set(&object.Status.StatusBase, object.Generation, conditions.Ready(conditions.ReasonRunning, "it runs"))
	g.Expect(b.hub.Client.Status().Update(t.Context(), object)).To(Succeed())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	g.Expect(client.IgnoreAlreadyExists(b.hub.Client.Create(t.Context(), account))).To(Succeed())
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: credentials.HostName(server)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "mssql", Image: "mssql:1"}}}}
	g.Expect(b.hub.Client.Create(t.Context(), pod)).To(Succeed())
	b.pods[server] = string(pod.UID)
	b.engines[server], b.snapshots[server], b.mirrors[server] =
		engine.StartWith(t, namespace, server, agreement.Passwords, certificate, b.authority), t.TempDir(), t.TempDir()
}

// introduce lets engines find each other, whose ports differ, and the folders behind the names of shares; and makes the
// logins that the controller of servers would make.
func (b *bed) introduce(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	var peers []string
	for _, server := range servers {
		peers = append(peers, "--peer", credentials.HostName(server)+":5022=127.0.0.1:"+freePort(t))
	}
	for _, server := range servers {
		e := b.engines[server]
		text := fmt.Sprintf("\n[uncmapping]\n%s = %s\n", conf.Share(server), b.snapshots[server])
		for _, other := range servers {
			if other != server {
				text += fmt.Sprintf("%s = %s\n", conf.Share(other), filepath.Join(b.mirrors[server], credentials.HostName(other)))
			}
		}
		e.Arguments = peers
		e.Configure(t, text)
	}
	for _, server := range servers {
		e := b.engines[server]
		sa, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
		g.Expect(err).NotTo(HaveOccurred())
		execute := func(s tsql.Statement) { g.Expect(sa.Exec(t.Context(), s)).To(Succeed(), s.Redacted()) }
		for _, role := range []credentials.Role{credentials.RoleOperator, credentials.RoleAgent} {
			execute(tsql.CreateLogin(tsql.Login{Name: role.Login(), SID: credentials.SID(namespace, role.Login()), Password: e.Access.Passwords.Of(role)}))
			execute(tsql.AddServerRoleMember("sysadmin", role.Login()))
		}
		link := func(name, address string) {
			_, port, err := net.SplitHostPort(address)
			g.Expect(err).NotTo(HaveOccurred())
			execute(tsql.Statement{Text: fmt.Sprintf(
				"EXEC sp_addlinkedserver @server = N'%s', @srvproduct = N'', @provider = N'MSOLEDBSQL', @datasrc = N'127.0.0.1,%s'", name, port)})
		}
		link(listener, b.engines["tukpub"].Address)
		for _, other := range servers {
			if other != server {
				link(credentials.HostName(other), b.engines[other].Address)
			}
		}
	}
}

// freePort is a port that nobody listens on now.
func freePort(t *testing.T) string {
	for range 1000 {
		port := fmt.Sprint(15000 + rand.IntN(17000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return ""
}

// startSidecar runs a server's sidecar with its parts for elections and snapshots, which read their orders from the API
// server.
func (b *bed) startSidecar(t *testing.T, server v1alpha1.ServerName) {
	t.Helper()
	g := NewWithT(t)
	e := b.engines[server]
	b.sidecars[server] = "127.0.0.1:" + freePort(t)
	password := filepath.Join(t.TempDir(), "agent-password")
	g.Expect(os.WriteFile(password, e.Access.Passwords[credentials.KeyAgent], 0o600)).To(Succeed())
	o := agent.DefaultOptions()
	o.ServerName, o.Namespace, o.Listen, o.Engine = credentials.HostName(server), namespace, b.sidecars[server], e.Address
	o.TLSDir, o.PasswordFile, o.StateDir = e.TLSDir, password, t.TempDir()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	a, err := agent.New(o, quiet)
	g.Expect(err).NotTo(HaveOccurred())
	kube, err := kubernetes.NewForConfig(b.hub.Config)
	g.Expect(err).NotTo(HaveOccurred())
	a.Admit(holder.SecretSource{Client: kube, Namespace: namespace, Name: credentials.ReaderName})
	source := holder.SecretSource{Client: kube, Namespace: namespace, Name: credentials.OrdersName(server)}
	part := files.NewPart(source, b.snapshots[server], b.mirrors[server], quiet)
	a.Handle(files.Pattern, part.Server())
	a.Add(part)
	votes, err := holder.New(holder.Options{
		Target: mssql.Target{Namespace: namespace, Server: server, Role: credentials.RoleAgent}, PodUID: b.pods[server],
		Connector: a.NewConnector("geosql-agent election"), Process: process{t}, Source: source, StateDir: t.TempDir(), Log: quiet, Registerer: a.Registerer(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	// Without its Drain: the test's end is not a pod's, which hands its group over first.
	a.Add(struct{ agent.Part }{votes})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		g.Eventually(done, patient).Should(Receive())
	})
}

// process is an engine's, which nobody has a reason to end here.
type process struct{ t *testing.T }

// Run is the only one there is.
func (process) Run() (string, error) { return "first", nil }

// Kill must not be called: the votes are never lost.
func (p process) Kill() error {
	p.t.Errorf("a sidecar gave its votes up and ended the engine")
	return nil
}

// start starts a manager's process and returns what waits for its end and tells whether SIGKILL ended it.
func (b *bed) start(t *testing.T, k killing, seed string) (cmd *exec.Cmd, ended chan bool) {
	t.Helper()
	g := NewWithT(t)
	engines := map[v1alpha1.ServerName]string{}
	for server, e := range b.engines {
		engines[server] = e.Address
	}
	content, err := json.Marshal(managerConfig{Kubeconfig: apiserver.Kubeconfig(b.hub.ManagerConfig(t)), Engines: engines, Sidecars: b.sidecars, Killing: k, Seed: seed, Ledger: b.ledger()})
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(b.dir, "manager.json")
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	output, err := os.OpenFile(b.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	g.Expect(err).NotTo(HaveOccurred())
	binary, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	cmd = exec.Command(binary)
	cmd.Env = append(os.Environ(), managerVariable+"="+file)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	g.Expect(cmd.Start()).To(Succeed())
	ended = make(chan bool, 1)
	go func() {
		_ = cmd.Wait()
		_ = output.Close()
		status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		ended <- ok && status.Signal() == syscall.SIGKILL
	}()
	return cmd, ended
}

func (b *bed) ledger() string { return filepath.Join(b.dir, "ledger") }
func (b *bed) log() string    { return filepath.Join(b.dir, "manager.log") }

// logged is what the managers and the engines said last, and what replicas know of each other, for failures.
func (b *bed) logged(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(b.log())
	if err != nil {
		return err.Error()
	}
	all := []string{"the managers:", end(string(content), 4000)}
	for _, server := range servers {
		all = append(all, fmt.Sprintf("%s:", server), end(b.engines[server].Output(), 1500))
		all = append(all, b.query(t, server, "master", "SELECT replica_id, is_local, role_desc, connected_state_desc, last_connect_error_description FROM sys.dm_hadr_availability_replica_states", 5)...)
	}
	return strings.Join(all, "\n")
}

// end is the last part of a text.
func end(text string, bytes int) string { return text[max(0, len(text)-bytes):] }

// lines of the ledger that begin with a moment, without it.
func (b *bed) lines(t *testing.T, m moment) []string {
	t.Helper()
	content, err := os.ReadFile(b.ledger())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, l := range strings.Split(string(content), "\n") {
		if write, ok := strings.CutPrefix(l, string(m)+" "); ok {
			found = append(found, write)
		}
	}
	return found
}

// query returns the rows of a query as sa, a line each.
func (b *bed) query(t *testing.T, server v1alpha1.ServerName, database, text string, columns int) []string {
	t.Helper()
	db, err := b.connector.Open(t.Context(), mssql.Target{Namespace: namespace, Server: server, Database: database, Role: credentials.RoleSA})
	if err != nil {
		return []string{err.Error()}
	}
	var rows []string
	err = db.Query(t.Context(), tsql.Statement{Text: text}, func(r mssql.Row) error {
		values, into := make([]any, columns), make([]any, columns)
		for i := range values {
			into[i] = &values[i]
		}
		if err := r.Scan(into...); err != nil {
			return err
		}
		rows = append(rows, fmt.Sprint(values...))
		return nil
	})
	if err != nil {
		return []string{err.Error()}
	}
	return rows
}

func (b *bed) sql(t *testing.T, server v1alpha1.ServerName, database, text string) {
	t.Helper()
	g := NewWithT(t)
	db, err := b.connector.Open(t.Context(), mssql.Target{Namespace: namespace, Server: server, Database: database, Role: credentials.RoleSA})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(db.Exec(t.Context(), tsql.Statement{Text: text})).To(Succeed())
}

// ready is empty when all objects are, and says otherwise what is not.
func (b *bed) ready(t *testing.T) string {
	var waiting []string
	for name, list := range declaredLists() {
		if err := b.hub.Client.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			return err.Error()
		}
		items, err := meta.ExtractList(list)
		if err != nil || len(items) != 1 {
			return fmt.Sprintf("%d objects of kind %s: %v", len(items), name, err)
		}
		c := meta.FindStatusCondition(statusOf(items[0]).Conditions, v1alpha1.ConditionReady)
		if c == nil {
			waiting = append(waiting, name+" is new")
		} else if c.Status != metav1.ConditionTrue {
			waiting = append(waiting, fmt.Sprintf("%s: %s (%s)", name, c.Reason, c.Message))
		}
	}
	slices.Sort(waiting)
	return strings.Join(waiting, "\n")
}
