// SPDX-License-Identifier: Apache-2.0

//go:build integration

package overview_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/overview"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/checkout"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		NewWithT(t).Expect(os.WriteFile(path, []byte(got), 0o644)).To(Succeed())
	}
	want, err := os.ReadFile(path)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(got).To(Equal(string(want)), "run go test ./internal/plugin/overview -update if it is meant")
}

func decode(t *testing.T, files ...string) *overview.Snapshot {
	t.Helper()
	var text strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(checkout.Root(), "examples", f))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		text.WriteString("---\n" + string(data) + "\n")
	}
	s, err := overview.Decode(strings.NewReader(text.String()))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return s
}

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }

func is(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// running is the example as it is seen when most of it is well.
func running(t *testing.T) *overview.Snapshot {
	t.Helper()
	s := decode(t, "sites.yaml", "msdn.yaml")
	for i := range s.Sites {
		x := &s.Sites[i]
		x.Status.Conditions = []metav1.Condition{is("Ready", "True", "Answering", "it answers")}
		x.Status.RoundTrip, x.Status.LastHeartbeat, x.Status.KubernetesVersion = &metav1.Duration{
			Duration: 151234567,
		}, ago(
			3*time.Second,
		), "v1.36.3"
	}
	for i := range s.Servers {
		x := &s.Servers[i]
		x.Status.Conditions = []metav1.Condition{
			is("Ready", "True", "Running", "it runs"),
			is("RestartPending", "False", "UpToDate", ""),
		}
		x.Status.Version = "16.0.4000.0"
		x.Status.Placement = &v1alpha1.PlacementStatus{Node: string(x.Spec.Site) + "-worker",
			Reason: "class fast (data, log, tempdb) allows only " + string(
				x.Spec.Site,
			) + "-worker; class capacity (backup) allows it too; " +
				string(
					x.Spec.Site,
				) + "-worker2 is left out by class fast"}
	}
	s.Servers[0].Status.Conditions[1] = is(
		"RestartPending",
		"True",
		"RestartNeeded",
		"traceFlags changed: delete the pod when it suits you",
	)
	g := &s.Groups[0]
	g.Status = v1alpha1.AvailabilityGroupStatus{
		StatusBase: v1alpha1.StatusBase{
			Conditions: []metav1.Condition{is("Ready", "True", "Synchronized", "fine"), is("Degraded", "False", "Complete", "")},
		},
		Primary: "tukpub-0", Term: 3, Listener: "content:1433", RequiredSynchronizedSecondaries: ptr.To(int32(0)),
		Replicas: []v1alpha1.ReplicaStatus{
			{
				Server:                "tukpub-0",
				Role:                  "PRIMARY",
				AvailabilityMode:      "SYNCHRONOUS_COMMIT",
				ConnectedState:        "CONNECTED",
				SynchronizationHealth: "HEALTHY",
				ObservedAt:            ago(2 * time.Second),
				Promotable:            &v1alpha1.Promotability{Status: "False", Reason: "AlreadyPrimary"},
				Databases:             []v1alpha1.ReplicaDatabaseStatus{{Name: "Content", SynchronizationState: "SYNCHRONIZED"}},
			},
			{
				Server:                "quisec-0",
				Role:                  "SECONDARY",
				AvailabilityMode:      "SYNCHRONOUS_COMMIT",
				ConnectedState:        "CONNECTED",
				SynchronizationHealth: "PARTIALLY_HEALTHY",
				ObservedAt:            ago(5 * time.Minute),
				Promotable: &v1alpha1.Promotability{
					Status:  "False",
					Reason:  "NotSynchronized",
					Message: "not ready for failover: Content (synchronizing)",
				},
				Databases: []v1alpha1.ReplicaDatabaseStatus{
					{
						Name:                 "Content",
						SynchronizationState: "SYNCHRONIZING",
						LogSendQueueKB:       ptr.To(int64(812)),
						RedoQueueKB:          ptr.To(int64(90)),
						RedoRateKBps:         ptr.To(int64(45)),
						EstimatedDataLoss: &metav1.Duration{
							Duration: 1500 * time.Millisecond,
						},
						EstimatedRecoveryTime: &metav1.Duration{Duration: 2 * time.Second},
					},
				},
			},
			{Server: "dubcfg-0", Role: "Unknown"},
		},
		Voters: []v1alpha1.VoterStatus{
			{Site: "tukwila", State: "Held", Holder: "tukpub-0", Term: 3},
			{Site: "quincy", State: "Held", Holder: "tukpub-0", Term: 3},
			{Site: "dublin", State: "Unknown"},
		},
	}
	at := func(d time.Duration) *metav1.MicroTime { return &metav1.MicroTime{Time: now.Add(-d)} }
	s.Failovers = []v1alpha1.Failover{
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content-2", CreationTimestamp: *ago(time.Hour)},
			Spec:       v1alpha1.FailoverSpec{Group: "content", Kind: "Failover"},
			Status: v1alpha1.FailoverStatus{
				Phase:   "Completed",
				Outcome: "Succeeded",
				Cause:   "Automatic",
				From:    "tukpub-0",
				To:      "quisec-0",
				Term:    2,
				Timeline: &v1alpha1.FailoverTimeline{
					Suspected:       at(time.Hour),
					Promoted:        at(time.Hour - 3*time.Second),
					FirstWrite:      at(time.Hour - 3400*time.Millisecond),
					AllSynchronized: at(time.Hour - 33*time.Second),
				},
			},
		},
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content-switchover-x", CreationTimestamp: *ago(time.Minute)},
			Spec:       v1alpha1.FailoverSpec{Group: "content", Kind: "Switchover", To: "quisec"},
			Status:     v1alpha1.FailoverStatus{Phase: "Completed", Outcome: "Refused", Reason: "NotSynchronized"},
		},
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "other-2"},
			Spec:       v1alpha1.FailoverSpec{Group: "other", Kind: "Failover"},
		},
	}
	s.Logins = []v1alpha1.Login{
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop"},
			Status: v1alpha1.LoginStatus{StatusBase: v1alpha1.StatusBase{Conditions: []metav1.Condition{
				is(
					"Ready",
					"False",
					"LoginConflict",
					"login shop of quisec-0 has another SID: drop it there, or name this one otherwise",
				), is("Stalled", "True", "LoginConflict", "")}}},
		},
	}
	s.PublisherMoves = []v1alpha1.PublisherMove{
		{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "over"},
			Status: v1alpha1.PublisherMoveStatus{StatusBase: v1alpha1.StatusBase{Conditions: []metav1.Condition{
				is("Ready", "True", "Moved", "dubsub-0 publishes articles")}}},
		},
	}
	s.Servers[1].Status.Conditions = []metav1.Condition{
		is("Ready", "Unknown", "SiteUnreachable", "site dublin has not answered for 40s: what is there is not known"),
	}
	s.Distributors[0].Status.Conditions = []metav1.Condition{is("Ready", "True", "Configured", "fine")}
	p := &s.Publications[0]
	p.Status.Conditions = []metav1.Condition{
		is("Ready", "False", "WaitingForTable", "dbo.Attachment does not exist yet in Content on tukpub-0; create it"),
		is("Stalled", "True", "WaitingForTable", ""),
	}
	p.Status.LogReader = &v1alpha1.AgentStatus{State: "InProgress", Time: ago(time.Second)}
	x := &s.Subscriptions[0]
	x.Status = v1alpha1.SubscriptionStatus{
		StatusBase:      v1alpha1.StatusBase{Conditions: []metav1.Condition{is("Ready", "True", "Delivering", "fine")}},
		Phase:           "Active",
		Agent:           &v1alpha1.AgentStatus{State: "InProgress", Time: ago(4 * time.Second)},
		PendingCommands: ptr.To(int64(17)),
		Latency: &v1alpha1.LatencyStatus{
			OverallSeconds:                 ptr.To(int64(3)),
			PublisherToDistributorSeconds:  ptr.To(int64(1)),
			DistributorToSubscriberSeconds: ptr.To(int64(2)),
		},
	}
	s.Topologies[0].Status.Summary = "7 of 9 ready"
	s.Topologies[0].Status.Conditions = []metav1.Condition{is("Ready", "False", "MemberStalled", "see below")}
	return s
}

func status(s *overview.Snapshot) string {
	var out bytes.Buffer
	s.WriteStatus(&out, now)
	return out.String()
}

func TestStatus(t *testing.T) {
	text := status(running(t))
	golden(t, "status.txt", text)
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 110 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// Who is primary and whether copies follow is read first, and what is wrong last.
func TestStatusBeginsWithTheGroups(t *testing.T) {
	var titles []string
	for line := range strings.Lines(status(running(t))) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, " ") {
			titles = append(titles, strings.TrimSpace(line))
		}
	}
	NewWithT(
		t,
	).Expect(titles).
		To(HaveExactElements(HavePrefix("Topology web/msdn"), HavePrefix("Availability group content"), Equal("Replication"),
			Equal("Servers"), Equal("Sites"), Equal("Placement"), Equal("Not as it should be")))
}

// What was never observed is unknown, not well.
func TestStatusOfNothingObserved(t *testing.T) {
	golden(t, "status-new.txt", status(decode(t, "sites.yaml", "msdn.yaml")))
}

// A condition of an older spec says nothing of the present one.
func TestStatusOfAnOlderSpec(t *testing.T) {
	s := running(t)
	s.Subscriptions[0].Generation = 2
	NewWithT(t).Expect(status(s)).To(MatchRegexp(`subscription dublin .* Unknown +SpecNotObserved`))
}

// What a configuration-only replica is says why it cannot be primary, and nothing is said to be wrong.
func TestAReplicaWithoutDataIsSaidToHaveNone(t *testing.T) {
	s := running(t)
	s.Groups[0].Status.Replicas[2].Promotable = &v1alpha1.Promotability{
		Status:  "False",
		Reason:  "NotAReplica",
		Message: "a ConfigurationOnly replica holds no databases",
	}
	NewWithT(
		t,
	).Expect(status(s)).
		To(And(MatchRegexp(`dubcfg-0 .* no: it votes, and holds no data`),
			Not(ContainSubstring("dubcfg-0 is not promotable"))))
}

func TestGraph(t *testing.T) {
	g := running(t).Graph()
	golden(t, "graph.mmd", g.Mermaid())
	golden(t, "graph.dot", g.Dot())
	golden(t, "graph-new.mmd", decode(t, "sites.yaml", "msdn.yaml").Graph().Mermaid())
}

// The graph follows the roles.
func TestGraphAfterAFailover(t *testing.T) {
	s := running(t)
	g := &s.Groups[0].Status
	g.Primary = "quisec-0"
	g.Replicas[0].Role, g.Replicas[1].Role = "SECONDARY", "PRIMARY"
	text := s.Graph().Mermaid()
	NewWithT(t).Expect(text).To(And(ContainSubstring("quisec_0 =="), ContainSubstring("==> tukpub_0"),
		ContainSubstring(`quisec_0 -- "publication articles, log reader InProgress" --> dist_0`)))
}

func TestRead(t *testing.T) {
	g := NewWithT(t)
	s := decode(t, "sites.yaml", "msdn.yaml")
	builder := fake.NewClientBuilder().WithScheme(apiserver.Scheme)
	var objects []client.Object
	for i := range s.Sites {
		objects = append(objects, &s.Sites[i])
	}
	for i := range s.Servers {
		objects = append(objects, &s.Servers[i])
	}
	for _, group := range []v1alpha1.ObjectName{"content", "other"} {
		named := metav1.ObjectMeta{Namespace: "web", Name: "of-" + string(group)}
		objects = append(
			objects,
			&v1alpha1.Failover{ObjectMeta: named, Spec: v1alpha1.FailoverSpec{Group: group}},
			&v1alpha1.Login{
				ObjectMeta: named,
				Spec:       v1alpha1.LoginSpec{Target: v1alpha1.ServerOrGroup{AvailabilityGroup: group}},
			},
		)
	}
	for server, publication := range map[string]string{"tukpub": s.Publications[0].Name, "alone": "elsewhere"} {
		named := metav1.ObjectMeta{Namespace: "web", Name: "at-" + server}
		objects = append(
			objects,
			&v1alpha1.Login{
				ObjectMeta: named,
				Spec:       v1alpha1.LoginSpec{Target: v1alpha1.ServerOrGroup{Server: v1alpha1.ServerName(server)}},
			},
			&v1alpha1.PublisherMove{
				ObjectMeta: named,
				Spec:       v1alpha1.PublisherMoveSpec{Publication: v1alpha1.ObjectName(publication)},
			},
		)
	}
	objects = append(
		objects,
		&s.Topologies[0],
		&s.Groups[0],
		&s.Distributors[0],
		&s.Publications[0],
		&s.Subscriptions[0],
		&v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}},
		&v1alpha1.SQLServer{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "alone"},
			Spec:       v1alpha1.SQLServerSpec{Site: "elsewhere"},
		},
		&v1alpha1.SQLServer{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop",
				Name:      "other",
				Labels:    map[string]string{v1alpha1.LabelTopology: "msdn"},
			},
		},
	)
	hub := builder.WithObjects(objects...).Build()

	read, err := overview.Read(t.Context(), hub, overview.Scope{Namespace: "web", Topology: "msdn"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Servers).To(HaveLen(5))
	g.Expect(read.Failovers).To(ConsistOf(HaveField("Name", "of-content")))
	g.Expect(read.Logins).To(ConsistOf(HaveField("Name", "of-content"), HaveField("Name", "at-tukpub")))
	g.Expect(read.PublisherMoves).To(ConsistOf(HaveField("Name", "at-tukpub")))
	g.Expect(read.Sites).To(HaveLen(3))
	g.Expect(read.Graph().Mermaid()).To(Equal(s.Graph().Mermaid()))

	read, err = overview.Read(t.Context(), hub, overview.Scope{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Servers).To(HaveLen(7))
	g.Expect(read.Logins).To(HaveLen(4))
	g.Expect(read.PublisherMoves).To(HaveLen(2))
	g.Expect(read.Sites).To(HaveLen(4))
	g.Expect(status(read)).To(ContainSubstring("shop/other-0"))

	_, err = overview.Read(t.Context(), hub, overview.Scope{Namespace: "web", Topology: "mdsn"})
	g.Expect(err).To(MatchError(ContainSubstring("there is no Topology mdsn in namespace web; there are: msdn")))
}

// A manifest may hold whatever kind the API has.
func TestDecodeTakesEveryKind(t *testing.T) {
	g := NewWithT(t)
	taken := 0
	for kind := range apiserver.Scheme.KnownTypes(v1alpha1.GroupVersion) {
		object, err := apiserver.Scheme.New(v1alpha1.GroupVersion.WithKind(kind))
		g.Expect(err).NotTo(HaveOccurred())
		if _, ok := object.(client.Object); !ok {
			continue
		}
		s, err := overview.Decode(
			strings.NewReader("apiVersion: geosql.dev/v1alpha1\nkind: " + kind + "\nmetadata: {name: x, namespace: web}"),
		)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(s.Declared).To(Equal([]overview.Declared{{Kind: kind, Namespace: "web", Name: "x"}}))
		taken++
	}
	g.Expect(taken).To(BeNumerically(">=", 13))
}

func TestDecodeRefuses(t *testing.T) {
	for manifest, want := range map[string]string{
		"apiVersion: geosql.dev/v1\nkind: Login\nmetadata: {name: x}":                              `Login x: apiVersion "geosql.dev/v1" is not supported here; geosql.dev/v1alpha1 is`,
		"apiVersion: geosq.dev/v1alpha1\nkind: Topology\nmetadata: {name: x}":                      `Topology x: apiVersion "geosq.dev/v1alpha1" is not supported here`,
		"kind: Secret\nmetadata: {name: x}":                                                        `Secret x: a manifest needs a kind and an apiVersion`,
		"apiVersion: v1\nmetadata: {name: x}":                                                      `x: a manifest needs a kind and an apiVersion`,
		"apiVersion: geosql.dev/v1alpha1\nkind: Dril\nmetadata: {name: x}":                         `geosql.dev/v1alpha1 has no kind "Dril"`,
		"apiVersion: geosql.dev/v1alpha1\nkind: LoginList\nitems: []":                              `geosql.dev/v1alpha1 has no kind "LoginList"`,
		"apiVersion: geosql.dev/v1alpha1\nkind: Login\nmetadata: {name: x}\nspec: {targt: {}}":     `Login x: `,
		"apiVersion: geosql.dev/v1alpha1\nkind: Topology\nmetadata: {name: x}\nspec: {server: []}": `Topology x: `,
		"a: [": "read a manifest",
	} {
		_, err := overview.Decode(strings.NewReader(manifest))
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)))
	}
	s, err := overview.Decode(strings.NewReader("# nothing\n---\n# but comments\n"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(s.Servers).To(BeEmpty())
}

// What a Topology is committed together with does not keep it from being planned and drawn.
func TestDecodeTakesObjectsOfOtherAPIs(t *testing.T) {
	g := NewWithT(t)
	s, err := overview.Decode(
		strings.NewReader(
			"apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: web}\nstringData: {password: y}\n---\n" +
				"apiVersion: geosql.dev/v1alpha1\nkind: Login\nmetadata: {name: z}\n",
		),
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Declared).
		To(Equal([]overview.Declared{{Kind: "Secret", Namespace: "web", Name: "x", Other: "v1"}, {Kind: "Login", Name: "z"}}))
	g.Expect(s.Logins).To(HaveLen(1))
}

// A group that is there says itself who is primary. The server on which it began may be gone: nothing flows from it,
// and of a group that has no primary nothing flows at all.
func TestGraphWithoutTheInitialPrimary(t *testing.T) {
	g := NewWithT(t)
	s := running(t)
	group := &s.Groups[0]
	group.Status.GroupID, group.Status.Primary = "1", ""
	group.Spec.InitialPrimary = "gone"
	text := s.Graph().Mermaid()
	g.Expect(text).To(And(Not(ContainSubstring("gone")), Not(ContainSubstring("content, synchronous"))))
	group.Status.Primary = "quisec-0"
	g.Expect(s.Graph().Mermaid()).To(And(Not(ContainSubstring("gone")), ContainSubstring("quisec_0 ==")))
	group.Spec.InitialPrimary, group.Status.Replicas = "quisec", nil
	g.Expect(s.Graph().Mermaid()).To(And(ContainSubstring("content: replica"), Not(ContainSubstring("initial primary"))))
}
