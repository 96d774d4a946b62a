// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/workload/history"
)

// subscribedStage is a stage whose target has a subscriber of these articles, and asks for arrival.
func subscribedStage(t *testing.T, articles ...v1alpha1.Article) *stage {
	s := newStage(t, kill())
	s.d.Spec.Objectives.ArrivalP99 = &metav1.Duration{Duration: time.Minute}
	tg := s.w.target
	tg.servers = append(tg.servers, server("dubsub", "dublin"))
	tg.subscription = &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Name: "copy"},
		Spec:       v1alpha1.SubscriptionSpec{Database: "Copy"},
	}
	tg.subscriber, tg.subscribed, tg.articles, tg.address = "dubsub", "Content", articles, "content:1433"
	s.w.members["dublin"] = s.w.members["quincy"]
	s.w.clients["dublin"] = &corev1.Pod{}
	s.w.followed = followed{readers: map[v1alpha1.ServerName]*corev1.Pod{}, looked: map[v1alpha1.ServerName]bool{}}
	return s
}

// Readers work before the clients do: what comes before the first look is not seen to come.
func TestReadersBeforeClients(t *testing.T) {
	g := NewWithT(t)
	s := subscribedStage(t, v1alpha1.Article{Table: "dbo.Article"})
	started := map[v1alpha1.SiteName]*corev1.Pod{}
	s.w.clients = started
	s.until(v1alpha1.DrillPreparing)
	s.look(time.Second) // the tables
	g.Expect(s.look(time.Second)).To(ConsistOf(StartReader{"quisec"}, MakeReadersLogin{}))
	s.w.readersLogin = &v1alpha1.Login{
		Status: v1alpha1.LoginStatus{
			StatusBase: v1alpha1.StatusBase{Conditions: []metav1.Condition{{Type: "Ready", Status: "True"}}},
		},
	}
	s.w.readers["quisec"] = &corev1.Pod{}
	g.Expect(s.look(time.Second)).To(ConsistOf(StartReader{"dubsub"}))
	s.w.readers["dubsub"], s.w.looked["quisec"] = &corev1.Pod{}, true
	g.Expect(s.look(time.Second)).To(BeEmpty())
	g.Expect(s.d.Status.Message).To(ContainSubstring("dubsub has not looked"))
	s.w.looked["dubsub"] = true
	g.Expect(s.look(time.Second)).To(ConsistOf(StartClients{"tukwila"}, StartClients{"quincy"}, StartClients{"dublin"}))
}

// Rows arrive where an article carries them, whole; where none does nobody is told to look.
func TestPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		articles []v1alpha1.Article
		row      *v1alpha1.DrillRow
		table    string
		missing  bool
	}{
		"an article":        {articles: []v1alpha1.Article{{Table: "dbo.article"}}, table: "dbo.Article"},
		"attachments alone": {articles: []v1alpha1.Article{{Table: "dbo.Attachment"}}, table: "dbo.Attachment"},
		"large rows": {articles: []v1alpha1.Article{{Table: "dbo.Article"}, {Table: "dbo.Attachment"}},
			row: &v1alpha1.DrillRow{Type: v1alpha1.RowVarBinary, Bytes: 1 << 20}, table: "dbo.Attachment"},
		"rows that stay": {articles: []v1alpha1.Article{{Table: "dbo.Article"}},
			row: &v1alpha1.DrillRow{Type: v1alpha1.RowVarBinary, Bytes: 100}, table: "dbo.Attachment", missing: true},
		"a part of an article": {articles: []v1alpha1.Article{{Table: "dbo.Article", Filter: "Id > 0"}}, missing: true},
		"other tables":         {articles: []v1alpha1.Article{{Table: "dbo.Orders"}}, missing: true},
		"columns of the article": {articles: []v1alpha1.Article{{Table: "dbo.Article", Columns: []string{"Id"}}},
			missing: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := subscribedStage(t, c.articles...)
			s.d.Spec.Workload.Row = c.row
			g.Expect(string(s.w.target.payload(s.d.Spec.Workload).Table)).To(Equal(c.table))
			places := s.w.target.places(s.d.Spec.Workload)
			g.Expect(places).To(HaveLen(2))
			g.Expect(places[0]).To(Equal(place{server: "quisec", kind: verdict.PlaceSecondary, database: "Content"}))
			g.Expect(places[1].missing != "").To(Equal(c.missing), places[1].missing)
			g.Expect(places[1].database).To(Equal("Copy"))
			g.Expect(slices.ContainsFunc(s.w.target.readAt(s.d), func(p place) bool { return p.server == "dubsub" })).
				To(Equal(!c.missing))
			s.d.Spec.Objectives = v1alpha1.DrillObjectives{}
			g.Expect(s.w.target.readAt(s.d)).To(BeEmpty(), "nobody has asked for it")
		})
	}
}

// What the pods are told follows from the drill, and no password is among it.
func TestWhatPodsAreTold(t *testing.T) {
	g := NewWithT(t)
	s := subscribedStage(t, v1alpha1.Article{Table: "dbo.Article"})
	s.d.Spec.Workload = v1alpha1.DrillWorkload{
		Profile: v1alpha1.ProfileBookstore,
		Stages: []v1alpha1.DrillStage{
			{Users: 10, Duration: metav1.Duration{Duration: 30 * time.Second}},
			{Users: 20, Duration: metav1.Duration{Duration: time.Minute}},
		},
	}
	s.until(v1alpha1.DrillPreparing)
	told := func(p *corev1.Pod) string { return strings.Join(p.Spec.Containers[0].Args, " ") }
	clients := told(clientPod(s.d, &s.d.Status, s.w.target, "quincy", "image"))
	g.Expect(clients).
		To(And(ContainSubstring("--profile bookstore --stages 10:30s,20:1m0s --rate 0 --think-time 500ms --payload-table "+
			"dbo.Article --payload-bytes 64"), Not(ContainSubstring("--workers"))))
	places := s.w.target.places(s.d.Spec.Workload)
	secondary, subscriber := readerPod(s.d, &s.d.Status, s.w.target, places[0], "image"),
		readerPod(s.d, &s.d.Status, s.w.target, places[1], "image")
	g.Expect(told(secondary)).
		To(ContainSubstring("arrive --server quisec --address quisec-0:1433 --database Content --table  --since"))
	g.Expect(told(subscriber)).
		To(And(ContainSubstring("--address dubsub-0:1433 --database Copy --table dbo.Article"),
			ContainSubstring("--writer-server tukpub --writer-address content:1433 --writer-database Content"),
			ContainSubstring("--writer-listener-certificate")))
	g.Expect(subscriber.Labels[v1alpha1.LabelSite]).To(Equal("dublin"))
	g.Expect(subscriber.Spec.Volumes[2].Secret.SecretName).To(Equal("d-readers-connection"))
	g.Expect(secondary.Spec.Volumes[2].Secret.SecretName).To(Equal("d-clients-connection"))
	g.Expect(readersLogin(s.d, &s.d.Status, places[1]).Spec.Target.Server).To(Equal(v1alpha1.ServerName("dubsub")))
	s.d.Spec.Workload = v1alpha1.DrillWorkload{RowsPerSecond: 7}
	g.Expect(told(clientPod(s.d, &s.d.Status, s.w.target, "quincy", "image"))).
		To(And(ContainSubstring("--workers 2 --rate 7"), Not(ContainSubstring("--fits"))))
	s.d.Spec.Workload = v1alpha1.DrillWorkload{}
	g.Expect(told(clientPod(s.d, &s.d.Status, s.w.target, "quincy", "image"))).To(ContainSubstring("--rate 10 --fits"))
}

// A reader whose record is lost gives no figures, and says so; a comparison at the end stands without readers.
func TestArrivedFromWhatIsKept(t *testing.T) {
	g := NewWithT(t)
	s := subscribedStage(t, v1alpha1.Article{Table: "dbo.Article"})
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(`{"k":"begin","format":"geosql-arrivals/1","server":"quisec-0","w":1}` + "\n"))
	g.Expect(w.Close()).To(Succeed())
	kept := archive.Archive{
		Arrivals: map[string][]byte{"quisec": packed.Bytes()},
		Payloads: []history.Replica{{Server: "tukpub-0"}, {Server: "dubsub-0", Rows: []history.RowID{{Run: 1, Number: 1}}}},
	}
	places, err := s.w.arrived(kept)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(places).To(HaveLen(2))
	g.Expect(places[0]).To(And(HaveField("Server", v1alpha1.ServerName("quisec")), HaveField("Figures", Not(BeNil()))))
	g.Expect(places[1]).
		To(And(HaveField("Figures", BeNil()), HaveField("Missing", ContainSubstring("lost")),
			HaveField("Delivery.Phantom", 1)))
	s.d.Spec.Objectives = v1alpha1.DrillObjectives{}
	places, err = s.w.arrived(kept)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(places).To(HaveLen(1))

	kept.Payloads = nil
	places, err = s.w.arrived(kept)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(places).
		To(HaveExactElements(And(HaveField("Server", v1alpha1.ServerName("dubsub")),
			HaveField("NotCompared", ContainSubstring("could not be read")))))
}

// Of a subscriber whose rows cannot be followed nobody can say what was delivered, and a drill of it says that.
func TestASubscriberThatCannotBeFollowed(t *testing.T) {
	for name, change := range map[string]func(*target){
		"no article carries rows": func(*target) {},
		"it is a group": func(on *target) {
			on.subscriber, on.subscription.Spec.Subscriber.AvailabilityGroup = "", "copies"
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := subscribedStage(t)
			s.d.Spec.Objectives = v1alpha1.DrillObjectives{}
			change(s.w.target)
			places, err := s.w.arrived(archive.Archive{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(places).To(ConsistOf(HaveField("NotCompared", Not(BeEmpty()))))
			j := verdict.Judge(s.d.Spec, nil, verdict.Measured{Places: places, Read: []string{"tukpub-0"},
				History: history.Verdict{Counts: history.Counts{Attempted: 1000, Acknowledged: 1000}}})
			g.Expect(j.Verdict).To(Equal(v1alpha1.VerdictInconclusive), j.Message)
			g.Expect(j.Message).To(ContainSubstring("delivery"))
		})
	}
}

// Clients run where no fault takes them away, and the faults wait for no stage, but the end does.
func TestClientsStayAndStagesAreWaitedFor(t *testing.T) {
	g := NewWithT(t)
	f := cut()
	f.Where = &v1alpha1.FaultPlace{Site: "tukwila"}
	s := newStage(t, f)
	s.w.resolved.Sites["tukwila"] = fault.Site{APIServers: []string{"10.9.0.1:6443"}}
	s.until(v1alpha1.DrillPreparing)
	g.Expect(s.d.Status.Clients).To(ConsistOf(HaveField("Site", "quincy")))

	s = newStage(t)
	s.d.Spec.Workload.Stages = []v1alpha1.DrillStage{
		{Users: 1, Duration: metav1.Duration{Duration: 20 * time.Second}},
		{Users: 2, Duration: metav1.Duration{Duration: 20 * time.Second}},
	}
	s.until(v1alpha1.DrillRecovering)
	g.Expect(s.d.Status.Ended.Sub(s.d.Status.Baseline.Time)).
		To(And(BeNumerically(">=", 40*time.Second), BeNumerically("<", 45*time.Second)))
}
