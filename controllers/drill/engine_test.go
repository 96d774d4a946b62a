// SPDX-License-Identifier: Apache-2.0

//go:build integration

package drill_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/drill"
	"geosql.dev/operator/controllers/login"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/engine"
)

const (
	system  = "geosql-system"
	patient = 3 * time.Minute
	often   = 100 * time.Millisecond
)

// bed is a hub that is the only site, an engine that publishes, and the controllers of drills and logins. The test is
// the kubelet of the clients' pod and, where it is asked to, Chaos Mesh.
type bed struct {
	*testing.T
	hub       *apiserver.Server
	engine    *engine.Engine
	connector *mssql.Connector
	folder    string
	// kill says whether a PodChaos does what it should.
	kill bool
	// change is done to the database when the clients have stopped.
	change []string

	mu      sync.Mutex
	clients sync.WaitGroup
}

func newBed(t *testing.T, kill bool) *bed {
	t.Helper()
	g := NewWithT(t)
	log.SetLogger(logr.Discard())
	b := &bed{T: t, hub: apiserver.StartHub(t), engine: engine.Start(t, "web", "tukpub"), folder: t.TempDir(), kill: kill}
	b.hub.Namespace(t, system)
	b.hub.JoinHub(t, "dublin", "web")
	b.installChaos()
	b.secret(credentials.PasswordsName("tukpub"), b.engine.Access.Passwords)
	b.secret(credentials.CertificateName("tukpub"), map[string][]byte{credentials.KeyCA: b.engine.Access.CA})
	b.connector = mssql.NewConnector(
		mssql.Options{
			Access:  mssql.SecretAccess{Reader: b.hub.Client},
			Address: func(mssql.Target) string { return b.engine.Address },
		},
	)
	t.Cleanup(func() { _ = b.connector.Close() })
	db, err := b.connector.Open(t.Context(), mssql.Target{Namespace: "web", Server: "tukpub", Role: credentials.RoleSA})
	g.Expect(err).NotTo(HaveOccurred())
	operator := tsql.Login{
		Name:     credentials.RoleOperator.Login(),
		SID:      credentials.SID("web", credentials.RoleOperator.Login()),
		Password: b.engine.Access.Passwords.Of(credentials.RoleOperator),
	}
	for _, s := range []tsql.Statement{tsql.CreateDatabase("Content"), tsql.CreateLogin(operator),
		tsql.GrantServerPermission(tsql.ViewServerState, operator.Name),
		tsql.GrantServerPermission(tsql.ViewAnyDefinition, operator.Name)} {
		g.Expect(db.Exec(t.Context(), s)).To(Succeed())
	}
	b.declareTarget()

	provider := sites.NewProvider(sites.Options{Namespace: system, Heartbeat: 300 * time.Millisecond})
	mgr := apiserver.NewManager(t, b.hub.ManagerConfig(t), provider, apiserver.HubOptions())
	g.Expect(login.SetupWithManager(mgr, login.Options{Sites: provider, Connector: b.connector})).To(Succeed())
	g.Expect(drill.SetupWithManager(mgr,
		drill.Options{Sites: provider, Connector: b.connector, Image: "operator:1", Pods: b})).
		To(Succeed())
	apiserver.Run(t, mgr)
	ctx, cancel := context.WithCancel(context.Background())
	go b.live(ctx)
	t.Cleanup(func() {
		cancel()
		for _, pod := range []string{"lose-clients", "lose-arrivals-tukpub"} {
			_ = os.WriteFile(filepath.Join(b.histories(pod), "stop"), nil, 0o600)
		}
		b.clients.Wait()
	})
	return b
}

// installChaos makes a kind PodChaos that takes anything.
func (b *bed) installChaos() {
	b.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "podchaos.chaos-mesh.org"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "chaos-mesh.org", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "podchaos", Singular: "podchaos", Kind: "PodChaos",
				ListKind: "PodChaosList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)},
				}}},
		},
	}
	_, err := envtest.InstallCRDs(
		b.hub.Config,
		envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}},
	)
	NewWithT(b.T).Expect(err).NotTo(HaveOccurred())
}

func (b *bed) create(obj client.Object) {
	b.Helper()
	NewWithT(b.T).Expect(b.hub.Client.Create(b.Context(), obj)).To(Succeed())
}

func (b *bed) secret(name string, data map[string][]byte) {
	b.Helper()
	b.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}, Data: data})
}

// declareTarget declares a subscription that may be drilled, and the server's pod.
func (b *bed) declareTarget() {
	b.Helper()
	m := func(name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "web", Name: name, Labels: labels}
	}
	volume := &v1alpha1.Volume{Size: resource.MustParse("1Gi")}
	b.create(
		&v1alpha1.SQLServer{
			ObjectMeta: m("tukpub", nil),
			Spec: v1alpha1.SQLServerSpec{Site: "dublin", AcceptEULA: true, Edition: "Developer", Image: "engine",
				Storage: &v1alpha1.ServerStorage{Data: volume, Log: volume, TempDB: volume, Backup: volume}},
		},
	)
	b.create(&v1alpha1.Distributor{ObjectMeta: m("main", nil), Spec: v1alpha1.DistributorSpec{Server: "tukpub"}})
	b.create(
		&v1alpha1.Publication{
			ObjectMeta: m("content", nil),
			Spec: v1alpha1.PublicationSpec{
				Publisher:   v1alpha1.ServerOrGroup{Server: "tukpub"},
				Database:    "Content",
				Distributor: "main",
				Articles:    []v1alpha1.Article{{Table: "dbo.Article"}},
			},
		},
	)
	s := &v1alpha1.Subscription{
		ObjectMeta: m("copy", map[string]string{v1alpha1.DrillsLabel: v1alpha1.DrillsAllowed}),
		Spec: v1alpha1.SubscriptionSpec{Publication: "content",
			Subscriber: v1alpha1.ServerOrGroup{
				Server: "tukpub",
			}, Database: "Content"},
	} // the copy is the original: all that is written arrives
	b.create(s)
	meta.SetStatusCondition(
		&s.Status.Conditions,
		metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Active"},
	)
	NewWithT(b.T).Expect(b.hub.Client.Status().Update(b.Context(), s)).To(Succeed())
	b.serverPod(b.Context(), "engine-1")
}

// serverPod makes the server's pod anew.
func (b *bed) serverPod(ctx context.Context, container string) {
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub-0"}}
	_ = b.hub.Client.Delete(ctx, old, client.GracePeriodSeconds(0))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "web",
			Name:      "tukpub-0",
			Labels:    map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "mssql", Image: "engine"}}},
	}
	if err := b.hub.Client.Create(ctx, pod); err != nil {
		b.Errorf("make the server's pod: %v", err)
		return
	}
	pod.Status.PodIP = "10.1.0.1"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mssql", ContainerID: container, Ready: true}}
	if err := b.hub.Client.Status().Update(ctx, pod); err != nil {
		b.Errorf("let the server's pod run: %v", err)
	}
}

// live is the kubelet of the clients' pod, and Chaos Mesh.
func (b *bed) live(ctx context.Context) {
	tick := time.NewTicker(often)
	defer tick.Stop()
	started, killed := map[string]bool{}, map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var pods corev1.PodList
		_ = b.hub.Client.List(ctx, &pods, client.InNamespace("web"), client.HasLabels{v1alpha1.LabelDrill})
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == corev1.PodRunning {
				continue
			}
			pods.Items[i].Status.Phase = corev1.PodRunning
			if name := pods.Items[i].Name; b.hub.Client.Status().Update(ctx, &pods.Items[i]) == nil && !started[name] {
				started[name] = true
				b.start(ctx, &pods.Items[i])
			}
		}
		faults := &unstructured.UnstructuredList{}
		faults.SetAPIVersion("chaos-mesh.org/v1alpha1")
		faults.SetKind("PodChaosList")
		_ = b.hub.Client.List(ctx, faults, client.InNamespace("web"))
		for _, f := range faults.Items {
			if b.kill && !killed[f.GetName()] {
				killed[f.GetName()] = true
				b.engine.Kill(b.T)
				b.serverPod(ctx, "engine-2")
				b.engine.Launch(b.T)
			}
		}
	}
}

// mount writes a Secret of a pod into a folder.
func (b *bed) mount(ctx context.Context, name string) string {
	var secret corev1.Secret
	if err := b.hub.Client.Get(ctx, client.ObjectKey{Namespace: "web", Name: name}, &secret); err != nil {
		b.Errorf("the Secret of a pod: %v", err)
	}
	folder := filepath.Join(b.folder, name)
	_ = os.MkdirAll(folder, 0o700)
	for name, data := range secret.Data {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			b.Errorf("mount the Secret of a pod: %v", err)
		}
	}
	return folder
}

// histories is the folder of a pod's histories.
func (b *bed) histories(pod string) string {
	folder := filepath.Join(b.folder, pod)
	_ = os.MkdirAll(folder, 0o700)
	return folder
}

// start runs what the pod would, with the Secrets that it would mount.
func (b *bed) start(ctx context.Context, pod *corev1.Pod) {
	arguments := pod.Spec.Containers[0].Args
	argument := func(name string) string {
		for i, a := range arguments {
			if a == name {
				return arguments[i+1]
			}
		}
		return ""
	}
	options := workload.Options{Server: argument("--server"), Address: b.engine.Address, Database: argument("--database")}
	folder := b.histories(pod.Name)
	writer := b.mount(ctx, pod.Spec.Volumes[0].Secret.SecretName)
	if arguments[1] == "arrive" {
		options.Credentials = b.mount(ctx, pod.Spec.Volumes[2].Secret.SecretName)
		since, err := time.Parse(time.RFC3339Nano, argument("--since"))
		if err != nil {
			b.Errorf("--since: %v", err)
		}
		o := workload.ArrivalOptions{
			Options: options,
			Folder:  folder,
			Table:   tsql.PayloadTable(argument("--table")),
			Since:   since,
			Late:    2 * time.Second,
			Writer: workload.Options{
				Server:      argument("--writer-server"),
				Address:     b.engine.Address,
				Database:    argument("--writer-database"),
				Credentials: writer,
			},
		}
		b.clients.Go(func() {
			if err := workload.RecordArrivals(context.Background(), o); err != nil {
				b.Errorf("the reader: %v", err)
			}
		})
		return
	}
	options.Credentials = writer
	size, err := strconv.Atoi(argument("--payload-bytes"))
	if err != nil {
		b.Errorf("--payload-bytes: %v", err)
	}
	o := workload.RecordOptions{
		Options:   options,
		Payload:   workload.Payload{Table: tsql.PayloadTable(argument("--payload-table")), Bytes: size},
		Client:    argument("--client"),
		Folder:    folder,
		Workers:   2,
		Rate:      40,
		Registers: 4,
		Timeout:   2 * time.Second,
	}
	b.clients.Go(func() {
		if err := workload.Record(context.Background(), o); err != nil {
			b.Errorf("the clients: %v", err)
		}
	})
}

// Run implements drill.Pods with the program's own functions.
func (b *bed) Run(ctx context.Context, _ *rest.Config, _, pod, _ string, command ...string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !strings.HasSuffix(pod, "-clients") && !strings.Contains(pod, "-arrivals-") {
		return nil, errors.New("there is no agent in this pod")
	}
	folder := b.histories(pod)
	switch strings.Join(command[:3], " ") {
	case "/geosql history latest":
		newest, err := history.Latest(folder)
		if err != nil {
			return nil, err
		}
		return json.Marshal(newest)
	case "/geosql history looked":
		first, err := history.FirstLook(folder)
		if err != nil {
			return nil, err
		}
		return json.Marshal(first)
	case "/geosql history arrivals":
		if err := workload.Stop(ctx, folder); err != nil {
			return nil, err
		}
		var out bytes.Buffer
		err := history.ExportArrivals(folder, &out)
		return out.Bytes(), err
	case "/geosql history fetch":
		if err := workload.Stop(ctx, folder); err != nil {
			return nil, err
		}
		if err := b.alter(ctx); err != nil {
			return nil, err
		}
		var out bytes.Buffer
		err := history.Export(folder, &out)
		return out.Bytes(), err
	}
	return nil, fmt.Errorf("%v is not known here", command)
}

// alter changes the database by hand, once.
func (b *bed) alter(ctx context.Context) error {
	db, err := b.connector.Open(ctx, mssql.Target{Namespace: "web", Server: "tukpub", Database: "Content",
		Role: credentials.RoleSA})
	// The pool may have connections of an engine that was ended since: whoever uses one finds out.
	if err == nil && len(b.change) > 0 {
		err = wait.PollUntilContextCancel(ctx, often, true, func(ctx context.Context) (bool, error) {
			return db.Handle().PingContext(ctx) == nil, nil
		})
	}
	for err == nil && len(b.change) > 0 {
		if _, err = db.Handle().ExecContext(ctx, b.change[0]); err != nil {
			b.Errorf("%s: %v", b.change[0], err)
		}
		b.change = b.change[1:]
	}
	return err
}

func (b *bed) drill() *v1alpha1.Drill {
	b.Helper()
	d := &v1alpha1.Drill{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "lose"}, Spec: v1alpha1.DrillSpec{
		RunID: "1", Target: v1alpha1.DrillTarget{Subscription: "copy"}, Baseline: &metav1.Duration{Duration: 3 * time.Second},
		Objectives: v1alpha1.DrillObjectives{
			AcknowledgedAtLeast: ptr.To[int64](20),
			ArrivalP99:          &metav1.Duration{Duration: time.Minute},
		},
		Faults: []v1alpha1.DrillFault{
			{Name: "kill", Kind: v1alpha1.FaultPodKill, Where: &v1alpha1.FaultPlace{Role: v1alpha1.RolePublisher}},
		},
	}}
	b.create(d)
	return d
}

// verdict waits until the drill is over.
func (b *bed) verdict(d *v1alpha1.Drill) v1alpha1.DrillStatus {
	b.Helper()
	NewWithT(b.T).Eventually(func() string {
		if err := b.hub.Client.Get(b.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err.Error()
		}
		return string(d.Status.Phase) + ": " + d.Status.Message
	}, 3*patient, often).Should(HavePrefix("Completed"))
	return d.Status
}

// left are the objects that a drill has made and that are still there.
func (b *bed) left() ([]string, error) {
	var names []string
	faults := &unstructured.UnstructuredList{}
	faults.SetAPIVersion("chaos-mesh.org/v1alpha1")
	faults.SetKind("PodChaosList")
	labels := client.HasLabels{v1alpha1.LabelDrill}
	for _, list := range []client.ObjectList{faults, &corev1.PodList{}, &v1alpha1.LoginList{}, &corev1.SecretList{}} {
		if err := b.hub.Client.List(b.Context(), list, client.InNamespace("web"), labels); err != nil {
			return nil, err
		}
		objects, err := meta.ExtractList(list)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			names = append(names, fmt.Sprintf("%T %s", o, o.(client.Object).GetName()))
		}
	}
	return names, nil
}

// A real engine is killed by a fault while clients write: nothing acknowledged is lost, the fault was seen, the
// evidence is kept, and nothing is left behind but it.
func TestDrillOfAnEngine(t *testing.T) {
	t.Parallel()
	b := newBed(t, true)
	g := NewWithT(t)
	d := b.drill()
	s := b.verdict(d)
	g.Expect(s.Verdict).To(Equal(v1alpha1.VerdictPassed), s.Message)
	g.Expect(s.Counts.Acknowledged).To(BeNumerically(">=", 10))
	g.Expect(s.Counts.Lost).To(BeZero())
	g.Expect(s.Faults).To(HaveLen(1))
	g.Expect(s.Faults[0].Effect.Seen).To(ContainSubstring("is gone"))
	g.Expect(s.Figures).To(ConsistOf(And(HaveField("Client", "dublin"), HaveField("RTO", Not(BeNil())))))
	g.Expect(s.Undisturbed).To(ConsistOf(And(HaveField("Client", "dublin"),
		HaveField("Longest.Duration", BeNumerically("<", s.Figures[0].RTO.Duration)))))
	kept, err := archive.Read(
		t.Context(),
		b.hub.Client,
		archive.Run{Namespace: "web", Drill: "lose", UID: string(d.UID), ID: "1"},
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept.Histories).To(HaveKey("dublin"))
	g.Expect(s.Arrivals).To(HaveLen(1))
	a := s.Arrivals[0]
	g.Expect(a).
		To(And(HaveField("Server", "tukpub"), HaveField("Kind", "Subscriber"), HaveField("P99", Not(BeNil())),
			HaveField("Uncertainty", Not(BeNil())), HaveField("Lost", BeZero()), HaveField("Phantom", BeZero())))
	g.Expect(a.Delivered).To(Equal(s.Counts.Acknowledged))
	g.Expect(a.Seen).To(Equal(a.Acknowledged), "every row that was due was seen to come")
	g.Expect(kept.Arrivals).To(HaveKey("tukpub"))
	g.Expect(kept.Payloads).To(HaveLen(2))
	g.Expect(kept.Replicas).To(HaveLen(1))
	g.Expect(kept.Replicas[0].Tables).To(HaveLen(3), "dbo.Recorded, dbo.Article, dbo.Register")
	g.Expect(kept.Payloads[1].Tables).To(HaveLen(1))
	planted := map[string]v1alpha1.ControlResult{}
	for _, c := range s.Controls {
		t.Logf("%s: %s: %s", c.Planted, c.Result, c.Evidence)
		planted[c.Planted] = c.Result
	}
	g.Expect(planted).NotTo(ContainElement(v1alpha1.ControlNotFound))
	for _, name := range []string{"an acknowledged row that is gone from one copy", "a row that is there twice",
		"a client that is never served again", "a fault that strikes nothing",
		"a transaction of which one copy has a part", "a row that the subscriber lacks though it has later ones"} {
		g.Expect(planted).To(HaveKeyWithValue(name, v1alpha1.ControlFound))
	}
	g.Expect(s.Archive.Name).NotTo(BeEmpty())
	g.Eventually(b.left, patient, often).Should(BeEmpty())
	g.Expect(b.hub.Client.Delete(t.Context(), d)).To(Succeed())
	g.Eventually(func() error { return b.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(d), d) }, patient, often).
		ShouldNot(Succeed())
}

// A fault that nobody carries out is noticed, though every row is there.
func TestDrillWhoseFaultDoesNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t, false)
	g := NewWithT(t)
	d := b.drill()
	s := b.verdict(d)
	g.Expect(s.Verdict).To(Equal(v1alpha1.VerdictInconclusive), s.Message)
	g.Expect(s.Message).To(ContainSubstring("runs on as before"))
	g.Expect(s.Counts.Lost).To(BeZero())
	g.Eventually(b.left, patient, often).Should(BeEmpty())
}

// What is not what clients wrote fails whatever else is right, and the row is named: one that was deleted by hand, one
// that is there twice, a byte of a payload, half a transaction, a row of nobody.
func TestDrillAfterWhichRowsAreNotWhatWasWritten(t *testing.T) {
	b := newBed(t, true)
	g := NewWithT(t)
	b.change = []string{
		"DELETE FROM dbo.Recorded WHERE Id = (SELECT MAX(Id) FROM dbo.Recorded)",
		"INSERT INTO dbo.Recorded (Run, Op, Server, Configuration, WrittenAt) SELECT TOP (1) Run, Op, Server, " +
			"Configuration, WrittenAt FROM dbo.Recorded ORDER BY Id DESC",
		"UPDATE dbo.Article SET Body = STUFF(Body, 60, 1, '~') WHERE Id = (SELECT MAX(Id) FROM dbo.Article WHERE Id < 0)",
		"DELETE FROM dbo.Article WHERE Id = (SELECT MIN(Id) FROM dbo.Article WHERE Id < 0)",
		"INSERT INTO dbo.Article (Id, WrittenAt, Body) VALUES (-5, SYSUTCDATETIME(), '5.1 x')",
	}
	s := b.verdict(b.drill())
	g.Expect(s.Verdict).To(Equal(v1alpha1.VerdictFailed), s.Message)
	g.Expect(s.Counts).To(HaveValue(And(HaveField("Lost", BeEquivalentTo(1)), HaveField("Duplicated", BeEquivalentTo(1)))))
	g.Expect(s.Objectives).To(ContainElement(And(HaveField("Name", "lostRows"),
		HaveField("Verdict", v1alpha1.VerdictFailed),
		HaveField("Evidence", MatchRegexp(`run \d+ operation \d+ is missing`)))))
	g.Expect(s.Objectives).To(ContainElement(And(HaveField("Name", "consistency"),
		HaveField("Verdict", v1alpha1.VerdictFailed), HaveField("Evidence", And(
			ContainSubstring("1 rows are there more than once"),
			MatchRegexp(`payloads are not what was written: dbo.Article of tukpub-0: run \d+ operation \d+ \(Id -\d+\)`),
			ContainSubstring("2 transactions are there in part: "),
			MatchRegexp(`tukpub-0: run \d+ operation \d+ is in dbo.Recorded with 0 of 1 rows in dbo.Article`),
			MatchRegexp(`tukpub-0: run \d+ operation \d+ is in dbo.Article and not in dbo.Recorded`),
			ContainSubstring("run 5 operation 1 is of nobody"))))))
}
