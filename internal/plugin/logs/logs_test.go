// SPDX-License-Identifier: Apache-2.0

//go:build integration

package logs

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/kubelet"
)

const (
	patient = 2 * time.Minute
	often   = 20 * time.Millisecond
)

// world is a hub with the manager, and a site with two servers and a process of its own.
type world struct {
	hub, member *apiserver.Server
	at          *kubelet.Kubelet
	kubeconfig  string
	began       time.Time
}

func inWeb(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "web", Name: name} }

func newWorld(t *testing.T) *world {
	t.Helper()
	g := NewWithT(t)
	w := &world{hub: apiserver.StartHub(t), member: apiserver.StartMember(t),
		began: time.Now().Add(-100 * time.Hour).Truncate(time.Second)}
	w.hub.Namespace(t, "web")
	w.member.Join(t, w.hub, sites.OperatorNamespace, "tukwila", "web")
	w.member.Namespace(t, sites.OperatorNamespace)
	w.at = kubelet.Start(t, w.member)
	size := &v1alpha1.Volume{Size: resource.MustParse("1Gi")}
	for _, server := range []string{"tukpub", "tuksec"} {
		g.Expect(w.hub.Client.Create(t.Context(), &v1alpha1.SQLServer{ObjectMeta: inWeb(server),
			Spec: v1alpha1.SQLServerSpec{Site: "tukwila", AcceptEULA: true, Edition: "Developer", Image: "mssql:1",
				Storage: &v1alpha1.ServerStorage{Data: size, Log: size, TempDB: size, Backup: size}}})).To(Succeed())
		w.at.Runs(t, "web", server+"-0", map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
			v1alpha1.LabelServer: server}, "mssql", "agent")
	}
	w.at.Runs(t, sites.OperatorNamespace, "geosql-site-1", map[string]string{labelName: processPods}, "site")
	manager := kubelet.Start(t, w.hub)
	manager.Runs(t, sites.OperatorNamespace, "geosql-operator-1", map[string]string{labelName: managerPods}, "manager")
	manager.Log(sites.OperatorNamespace, "geosql-operator-1", "manager", w.line(0, "the manager"))
	w.at.Log("web", "tukpub-0", "mssql", w.line(1, "engine one"), w.line(4, "engine \x1b[2Jtwo"))
	w.at.Log("web", "tukpub-0", "agent", w.line(2, "agent one"), w.line(3, "agent two"))
	w.at.Log("web", "tuksec-0", "agent", w.line(2, "another agent"))
	w.at.Log(sites.OperatorNamespace, "geosql-site-1", "site", w.line(5, "the process"))
	w.kubeconfig = apiserver.Contexts(t, "hub",
		map[string]*rest.Config{"hub": w.hub.Config, "tukwila-admin": w.member.Config})
	return w
}

// line is the n-th that was written, ten hours after the one before: a test on a busy machine takes less.
func (w *world) line(n int, text string) kubelet.Line {
	return kubelet.Line{At: w.began.Add(time.Duration(n) * 10 * time.Hour), Text: text}
}

// screen is what two writers have written.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (w *world) start(ctx context.Context, out, notes *screen, arguments ...string) int {
	command := NewCommand()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetOut(out)
	command.SetErr(notes)
	command.SetArgs(append([]string{"--kubeconfig", w.kubeconfig, "-n", "web"}, arguments...))
	return cli.Exit(notes, command.ExecuteContext(ctx))
}

// run returns the lines that a command shows, without the blanks that line them up.
func (w *world) run(t *testing.T, arguments ...string) (lines []string, notes string, status int) {
	t.Helper()
	var out, said screen
	status = w.start(t.Context(), &out, &said, arguments...)
	for line := range strings.Lines(out.String()) {
		label, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		lines = append(lines, label+" "+strings.TrimLeft(text, " "))
	}
	return lines, said.String(), status
}

// Logs are found by the names of what writes them, in whichever cluster that is, and come in the order of time.
func TestLogs(t *testing.T) {
	w := newWorld(t)
	const (
		engine1, engine2 = "tukwila/tukpub-0/mssql engine one", `tukwila/tukpub-0/mssql engine \x1b[2Jtwo`
		agent1, agent2   = "tukwila/tukpub-0/agent agent one", "tukwila/tukpub-0/agent agent two"
		another          = "tukwila/tuksec-0/agent another agent"
		process          = "tukwila/geosql-site-1/site the process"
	)
	for _, c := range []struct {
		arguments string
		want      []string
	}{
		{"tukpub", []string{engine1, agent1, agent2, engine2}},
		{"tukpub-0 --engine", []string{engine1, engine2}},
		{"gsql/tukpub --agent", []string{agent1, agent2}},
		{"tukpub --agent --tail 1", []string{agent2}},
		{"tukpub --since 75h", []string{agent2, engine2}},
		{"tukwila", []string{agent1, another, agent2, process}},
		{"gsite/tukwila --manager", []string{process}},
		{"operator", []string{"hub/geosql-operator-1/manager the manager"}},
		{"operator --manager", []string{"hub/geosql-operator-1/manager the manager"}},
	} {
		t.Run(c.arguments, func(t *testing.T) {
			g := NewWithT(t)
			lines, notes, status := w.run(t, strings.Fields(c.arguments)...)
			g.Expect(notes).To(BeEmpty())
			g.Expect(status).To(Equal(0))
			g.Expect(lines).To(Equal(c.want))
		})
	}
	t.Run("what cannot be read is said", func(t *testing.T) {
		g := NewWithT(t)
		lines, notes, status := w.run(t, "tukwila", "--engine")
		g.Expect(lines).To(Equal([]string{engine1, engine2}))
		g.Expect(notes).To(HavePrefix("error: tukwila/tuksec-0/mssql: "))
		g.Expect(status).To(Equal(1))
	})
	t.Run("with their time", func(t *testing.T) {
		g := NewWithT(t)
		lines, _, _ := w.run(t, "tukpub", "--engine", "--timestamps", "--tail", "1")
		g.Expect(lines).To(Equal([]string{"tukwila/tukpub-0/mssql " +
			w.line(4, "").At.UTC().Format(time.RFC3339) + ` engine \x1b[2Jtwo`}))
	})
	t.Run("what is not understood", func(t *testing.T) {
		g := NewWithT(t)
		for _, arguments := range []string{"", "tukpub --since x", "operator --agent", "tukpub --manager", "Bad_Name",
			"tukpub --follow --previous", "tukpub --tail -2", "tukpub --since -1m"} {
			lines, notes, status := w.run(t, strings.Fields(arguments)...)
			g.Expect(status).To(Equal(2), "%s: %s", arguments, notes)
			g.Expect(lines).To(BeEmpty())
		}
		_, notes, status := w.run(t, "nobody")
		g.Expect(status).To(Equal(1))
		g.Expect(notes).To(ContainSubstring("no SQLServer nobody in namespace web; there are: tukpub, tuksec; no Site " +
			"nobody; there are: tukwila"))
	})
	t.Run("when the hub is away", func(t *testing.T) {
		g := NewWithT(t)
		presence := &coordinationv1.Lease{ObjectMeta: inWeb(orders.PresenceLease)}
		presence.Labels = map[string]string{v1alpha1.LabelSite: "tukwila"}
		g.Expect(w.member.Client.Create(t.Context(), presence)).To(Succeed())
		w.hub.Wire.Cut()
		defer w.hub.Wire.Mend()
		lines, notes, status := w.run(t, "tukpub", "--context", "tukwila-admin", "--agent")
		g.Expect(status).To(Equal(0), notes)
		g.Expect(lines).To(Equal([]string{agent1, agent2}))
		lines, notes, status = w.run(t, "tukwila", "--context", "tukwila-admin")
		g.Expect(status).To(Equal(0), notes)
		g.Expect(lines).To(Equal([]string{agent1, another, agent2, process}))
		_, notes, status = w.run(t, "dubsec", "--context", "tukwila-admin")
		g.Expect(status).To(Equal(1))
		g.Expect(notes).To(ContainSubstring("there are: tukpub, tuksec, gsite/tukwila"))
	})
	t.Run("as they come", func(t *testing.T) {
		g := NewWithT(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var out, notes screen
		ended := make(chan int, 1)
		go func() { ended <- w.start(ctx, &out, &notes, "tukpub", "--agent", "--follow", "--tail", "1") }()
		g.Eventually(out.String, patient, often).Should(ContainSubstring("agent two"))
		w.at.Log("web", "tukpub-0", "agent", w.line(6, "agent three"))
		g.Eventually(out.String, patient, often).Should(ContainSubstring("agent three"))
		w.at.EndLog("web", "tukpub-0", "agent")
		w.at.Log("web", "tukpub-0", "agent", w.line(7, "agent four"))
		g.Eventually(out.String, patient, often).Should(ContainSubstring("agent four"))
		cancel()
		g.Eventually(ended, patient).Should(Receive(Equal(0)))
		for _, once := range []string{"two", "three", "four"} {
			g.Expect(strings.Count(out.String(), once)).To(Equal(1), out.String())
		}
		g.Expect(notes.String()).To(BeEmpty())
	})
}
