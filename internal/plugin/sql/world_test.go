// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sql

import (
	"bytes"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/engine"
	"geosql.dev/operator/test/support/kubelet"
)

const (
	patient = 2 * time.Minute
	often   = 20 * time.Millisecond
)

// A busy machine takes longer than a person would wait.
func init() { rolesWithin, settledWithin = patient, patient }

// world is a hub that is the site dublin, too, and the site tukwila. Group content has its primary tukpub there, and a
// secondary, dubsec, in Dublin.
type world struct {
	hub, member    *apiserver.Server
	kubelets       map[v1alpha1.ServerName]*kubelet.Kubelet
	tukpub, dubsec *engine.Engine
	// kubeconfig has contexts of both clusters, the hub's the current one.
	kubeconfig string
	// printed is all that commands have printed.
	printed bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	g := NewWithT(t)
	w := &world{hub: apiserver.StartHub(t), member: apiserver.StartMember(t)}
	w.hub.JoinHub(t, "dublin", "web")
	site := w.member.Join(t, w.hub, "geosql-system", "tukwila", "web")
	var system corev1.Namespace
	g.Expect(w.member.Client.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, &system)).To(Succeed())
	site.Spec.ClusterUID = string(system.UID)
	g.Expect(w.hub.Client.Update(t.Context(), site)).To(Succeed())
	w.tukpub, w.dubsec = engine.Start(t, "web", "tukpub"), engine.Start(t, "web", "dubsec")
	w.kubelets = map[v1alpha1.ServerName]*kubelet.Kubelet{
		"tukpub": kubelet.Start(t, w.member), "dubsec": kubelet.Start(t, w.hub)}
	w.server(t, w.tukpub, w.member, "tukwila")
	w.server(t, w.dubsec, w.hub, "dublin")
	w.kubeconfig = apiserver.Contexts(t, "hub",
		map[string]*rest.Config{"hub": w.hub.Config, "tukwila-admin": w.member.Config})
	t.Cleanup(func() {
		for _, e := range []*engine.Engine{w.tukpub, w.dubsec} {
			for key, password := range e.Access.Passwords {
				g.Expect(w.printed.String()).NotTo(ContainSubstring(string(password)), key)
			}
		}
	})
	return w
}

// server declares a server, with what the operator makes of it in the hub and at its site.
func (w *world) server(t *testing.T, e *engine.Engine, at *apiserver.Server, site v1alpha1.SiteName) {
	t.Helper()
	g := NewWithT(t)
	size := &v1alpha1.Volume{Size: resource.MustParse("1Gi")}
	g.Expect(w.hub.Client.Create(t.Context(), &v1alpha1.SQLServer{ObjectMeta: inWeb(string(e.Server)),
		Spec: v1alpha1.SQLServerSpec{Site: site, AcceptEULA: true, Edition: "Developer", Image: "mssql:1",
			Storage: &v1alpha1.ServerStorage{Data: size, Log: size, TempDB: size, Backup: size}}})).To(Succeed())
	for _, cluster := range []*apiserver.Server{w.hub, at} {
		for _, secret := range []*corev1.Secret{
			{ObjectMeta: inWeb(credentials.PasswordsName(e.Server)), Data: e.Access.Passwords},
			{ObjectMeta: inWeb(credentials.CertificateName(e.Server)),
				Data: map[string][]byte{credentials.KeyCA: e.Access.CA}},
		} {
			g.Expect(client.IgnoreAlreadyExists(cluster.Client.Create(t.Context(), secret))).To(Succeed())
		}
	}
	pod := credentials.HostName(e.Server)
	w.kubelets[e.Server].Runs(t, "web", pod, map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
		v1alpha1.LabelServer: string(e.Server)}, "mssql", "agent")
	w.kubelets[e.Server].Forward("web", pod, mssql.Port, e.Address)
}

// group makes the group on the engines and in the hub.
func (w *world) group(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	urls := engine.Partners(t, w.tukpub, w.dubsec)
	options := ", AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL, SEEDING_MODE = AUTOMATIC, " +
		"SECONDARY_ROLE (ALLOW_CONNECTIONS = READ_ONLY))"
	w.tukpub.Execute(t, "CREATE DATABASE Content", "ALTER DATABASE Content SET RECOVERY FULL",
		"CREATE TABLE Content.dbo.Article (id int PRIMARY KEY)", "INSERT INTO Content.dbo.Article VALUES (1), (2), (3)",
		"BACKUP DATABASE Content TO DISK = N'"+t.TempDir()+"/first.bak'",
		"CREATE AVAILABILITY GROUP content WITH (CLUSTER_TYPE = NONE) FOR DATABASE Content REPLICA ON "+
			"N'tukpub-0' WITH (ENDPOINT_URL = N'"+urls[0]+"'"+options+", "+
			"N'dubsec-0' WITH (ENDPOINT_URL = N'"+urls[1]+"'"+options)
	w.dubsec.Execute(t, "ALTER AVAILABILITY GROUP content JOIN WITH (CLUSTER_TYPE = NONE)",
		"ALTER AVAILABILITY GROUP content GRANT CREATE ANY DATABASE")
	replica := func(server v1alpha1.ServerName) v1alpha1.Replica {
		return v1alpha1.Replica{Server: server, AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true}
	}
	group := &v1alpha1.AvailabilityGroup{ObjectMeta: inWeb("content"),
		Spec: v1alpha1.AvailabilityGroupSpec{ClusterType: v1alpha1.ClusterNone, FailoverPolicy: v1alpha1.FailoverManual,
			InitialPrimary: "tukpub", Replicas: []v1alpha1.Replica{replica("tukpub"), replica("dubsec")}}}
	g.Expect(w.hub.Client.Create(t.Context(), group)).To(Succeed())
	w.seen(t, "tukpub")
	// The copy can be read once it is there.
	g.Eventually(func() error {
		_, err := w.run(t, "", "content", "--secondary", "-d", "Content", "-Q", "SELECT id FROM dbo.Article")
		return err
	}, patient, often).Should(Succeed())
}

// seen has the hub say who is primary.
func (w *world) seen(t *testing.T, primary string) {
	t.Helper()
	g := NewWithT(t)
	var group v1alpha1.AvailabilityGroup
	g.Expect(w.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "content"}, &group)).To(Succeed())
	group.Status.Primary, group.Status.Replicas = primary, nil
	for _, server := range []string{"dubsec", "tukpub"} {
		role := "SECONDARY"
		if server == primary {
			role = "PRIMARY"
		}
		group.Status.Replicas = append(group.Status.Replicas, v1alpha1.ReplicaStatus{Server: server, Role: role})
	}
	g.Expect(w.hub.Client.Status().Update(t.Context(), &group)).To(Succeed())
}

// outcome of a command.
type outcome struct {
	out, notes string
	status     int
}

// run runs the command as a script does, and returns what it wrote to standard output.
func (w *world) run(t *testing.T, input string, arguments ...string) (outcome, error) {
	t.Helper()
	return w.runWith(t, w.kubeconfig, input, arguments...)
}

func (w *world) runWith(t *testing.T, kubeconfig, input string, arguments ...string) (outcome, error) {
	t.Helper()
	var out, notes bytes.Buffer
	command := NewCommand()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetIn(strings.NewReader(input))
	command.SetOut(&out)
	command.SetErr(&notes)
	command.SetArgs(append([]string{"--kubeconfig", kubeconfig, "-n", "web"}, arguments...))
	err := command.ExecuteContext(t.Context())
	status := cli.Exit(&notes, err)
	w.printed.WriteString(out.String() + notes.String())
	return outcome{out: out.String(), notes: notes.String(), status: status}, err
}
