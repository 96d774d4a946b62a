// SPDX-License-Identifier: Apache-2.0

package site

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
)

const ms = time.Millisecond

// server of namespace web, whose agent reads buffers with this maximum.
func server(name, site, most string) v1alpha1.SQLServer {
	s := v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
		Spec: v1alpha1.SQLServerSpec{Site: v1alpha1.SiteName(site)}}
	s.Status.Tuning = &v1alpha1.TuningStatus{Kernel: &v1alpha1.TCPKernel{Receive: "4096 131072 " + most,
		Send: "4096 16384 " + most, CongestionControl: "cubic"}}
	return s
}

// declares is a Site with a link.
func declares(name, to string, roundTrip time.Duration, bandwidth string) v1alpha1.Site {
	return v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SiteSpec{Links: []v1alpha1.SiteLink{
		{To: v1alpha1.SiteName(to), RoundTrip: &metav1.Duration{Duration: roundTrip}, Bandwidth: bandwidth}}}}
}

// linked is Quincy, from which Dublin is 146 ms away as Dublin declares it, with a server at either.
func linked() *Observed {
	o := healthy()
	o.sites = []v1alpha1.Site{*o.site, declares("dublin", "quincy", 146*ms, "1Gbit")}
	o.servers = []v1alpha1.SQLServer{server("quisec", "quincy", "37748736"), server("dubsub", "dublin", "37748736")}
	return o
}

// hear has the agent of quisec say what it has measured to dubsub, or nothing.
func (o *Observed) hear(roundTrip, age time.Duration) {
	o.answers = []answer{{server: types.NamespacedName{Namespace: "web", Name: "quisec"}, heard: true}}
	if roundTrip > 0 {
		o.answers[0].measured = []link.Measured{{To: "dublin", Peer: "dubsub", RoundTrip: roundTrip, At: o.now.Add(-age)}}
	}
}

// says are status and reason of a condition.
func (o *Observed) says(condition string) string {
	c := meta.FindStatusCondition(o.site.Status.Conditions, condition)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

func TestALinkAsItIsMeasured(t *testing.T) {
	g := NewWithT(t)
	o := linked()
	o.answers = answers("quincy", o.servers, &link.Heard{})
	fill(o)
	declared := &v1alpha1.DeclaredLink{RoundTrip: &metav1.Duration{Duration: 146 * ms}, Bandwidth: "1Gbit"}
	g.Expect(o.site.Status.Links).To(Equal([]v1alpha1.SiteLinkStatus{{To: "dublin", Declared: declared}}))
	g.Expect(o.says(v1alpha1.ConditionLinkSlowerThanDeclared)).To(BeEmpty(), "nothing was ever measured")

	o.hear(146234*time.Microsecond, 5*time.Second)
	fill(o)
	g.Expect(o.site.Status.Links).To(Equal([]v1alpha1.SiteLinkStatus{{To: "dublin", Declared: declared,
		RoundTrip: &metav1.Duration{Duration: 146200 * time.Microsecond},
		Measured:  &metav1.Time{Time: now.Add(-5 * time.Second)}, Server: "web/quisec", Peer: "dubsub",
		Window: ptr.To[int64](18 << 20), CongestionControl: "cubic",
		Stream: &v1alpha1.LinkStream{BoundBy: v1alpha1.BoundByBandwidth, BitsPerSecond: ptr.To[int64](1e9)}}}))
	g.Expect(o.says(v1alpha1.ConditionLinkSlowerThanDeclared)).To(Equal("False LinksAsDeclared"))
	g.Expect(o.says(v1alpha1.ConditionWindowTooSmall)).To(Equal("False WindowsWide"))
}

// A status is not written for what has hardly changed; the time of a measurement is, well before it counts no more.
func TestAMeasurementThatHardlyChangesIsSeldomWritten(t *testing.T) {
	g := NewWithT(t)
	o := linked()
	o.hear(146*ms, 0)
	fill(o)
	written := o.site.Status.DeepCopy()
	for _, took := range []time.Duration{147 * ms, 150 * ms, 141 * ms} {
		o.now = o.now.Add(time.Minute)
		o.hear(took, time.Second)
		fill(o)
		g.Expect(o.site.Status.Links).To(Equal(written.Links))
		g.Expect(o.site.Status.LastHeartbeat).To(Equal(written.LastHeartbeat))
	}
	// 182.5 ms is not slower than 146 ms, and 182.52 ms is: what is written is what counts.
	o = linked()
	for range 2 {
		written = o.site.Status.DeepCopy()
		o.now = o.now.Add(time.Minute)
		o.hear(182520*time.Microsecond, time.Second)
		fill(o)
	}
	g.Expect(o.site.Status.Links).To(Equal(written.Links))
	o = linked()
	o.hear(146*ms, 0)
	fill(o)
	o.now = now.Add(6 * time.Minute)
	o.hear(150*ms, time.Second)
	fill(o)
	g.Expect(o.site.Status.Links[0]).To(And(HaveField("Measured.Time", o.now.Add(-time.Second)),
		HaveField("RoundTrip.Duration", 150*ms)))
}

// A link becomes slower, faster, and slower again. It is so until it clearly is not.
func TestALinkThatIsSlowerIsTold(t *testing.T) {
	g := NewWithT(t)
	o := linked()
	for _, c := range []struct {
		took time.Duration
		says string
	}{
		{146 * ms, "False LinksAsDeclared"}, {180 * ms, "False LinksAsDeclared"}, {300 * ms, "True LinkSlower"},
		{175 * ms, "True LinkSlower"}, {146 * ms, "False LinksAsDeclared"}, {175 * ms, "False LinksAsDeclared"},
	} {
		o.now = o.now.Add(15 * time.Second)
		o.hear(c.took, time.Second)
		fill(o)
		g.Expect(o.says(v1alpha1.ConditionLinkSlowerThanDeclared)).To(Equal(c.says), "%s", c.took)
	}
	o.hear(300*ms, 0)
	changes := fill(o)
	g.Expect(changes).To(ContainElement(HaveField("New.Message",
		ContainSubstring("to dublin it is 300ms, and 146ms is declared"))))
	g.Expect(o.site.Status.Links[0].Stream).To(HaveValue(And(HaveField("BoundBy", v1alpha1.BoundByWindow),
		HaveField("BitsPerSecond", HaveValue(BeEquivalentTo(500_000_000))))), "18 MiB in 300 ms")
	g.Expect(o.says(v1alpha1.ConditionWindowTooSmall)).To(Equal("True BuffersTooSmall"),
		"what was enough for the declared link is too small for the one that is there")
}

// What cannot be reached is not known. It is not slow, nor as declared.
func TestAMeasurementEnds(t *testing.T) {
	measured := func() *Observed {
		o := linked()
		o.hear(300*ms, 0)
		fill(o)
		return o
	}
	unheard := func(o *Observed) { o.answers = answers("quincy", o.servers, &link.Heard{}) }
	for _, c := range []struct {
		name   string
		change func(*Observed)
		says   string
		known  bool
	}{
		{"the agent reaches nobody", func(o *Observed) { o.hear(0, 0) }, "Unknown LinksNotMeasured", false},
		{"the agent is not reached", func(o *Observed) { o.now = now.Add(9 * time.Minute); o.hear(300*ms, 9*time.Minute) },
			"True LinkSlower", true},
		{"for long", func(o *Observed) { o.now = now.Add(10 * time.Minute); o.hear(300*ms, 10*time.Minute) },
			"Unknown LinksNotMeasured", false},
		{"another manager begins", unheard, "True LinkSlower", true},
		{"and hears nothing", func(o *Observed) { unheard(o); o.now = now.Add(11 * time.Minute) },
			"Unknown LinksNotMeasured", false},
		{"the server is no more", func(o *Observed) { o.servers, o.answers = nil, nil }, "Unknown LinksNotMeasured", false},
		{"the link is declared no more", func(o *Observed) { o.sites = nil }, "", true},
		{"nor measured", func(o *Observed) { o.sites = nil; o.hear(0, 0) }, "", false},
		{"the other site is lost", func(o *Observed) { o.sites[1].Spec.Lifecycle = v1alpha1.SiteLost; o.hear(0, 0) }, "",
			false},
		{"the other site is no more", func(o *Observed) {
			o.sites = []v1alpha1.Site{declares("quincy", "dublin", 146*ms, "1Gbit")}
			o.hear(0, 0)
		}, "", false},
		{"it is declared as it is", func(o *Observed) { o.sites[1].Spec.Links[0].RoundTrip.Duration = 300 * ms },
			"False LinksAsDeclared", true},
		{"another server measures it", func(o *Observed) {
			o.servers = append(o.servers, server("quiother", "quincy", "37748736"))
			o.hear(0, 0)
			other := o.answers[0]
			other.server.Name, other.measured = "quiother", []link.Measured{{To: "dublin", Peer: "dubsub",
				RoundTrip: 146 * ms, At: now}}
			o.answers = append(o.answers, other)
		}, "False LinksAsDeclared", true},
		{"its server goes, and another one measures it", func(o *Observed) {
			o.servers[0].DeletionTimestamp = &metav1.Time{Time: now}
			o.servers = append(o.servers, server("quother", "quincy", "37748736"))
			var heard link.Heard
			for i, took := range map[int]time.Duration{0: 300 * ms, 2: 146 * ms} {
				s := o.servers[i]
				heard.Note(types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, []link.Measured{{To: "dublin",
					Peer: "dubsub", RoundTrip: took, At: now}})
			}
			o.answers = answers("quincy", o.servers, &heard)
		}, "False LinksAsDeclared", true},
		{"its server goes, and nobody has measured it since", func(o *Observed) {
			o.servers[0].DeletionTimestamp = &metav1.Time{Time: now}
			var heard link.Heard
			heard.Note(types.NamespacedName{Namespace: "web", Name: "quisec"}, []link.Measured{{To: "dublin",
				Peer: "dubsub", RoundTrip: 300 * ms, At: now}})
			o.answers = answers("quincy", o.servers, &heard)
		}, "True LinkSlower", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			o := measured()
			g.Expect(o.says(v1alpha1.ConditionLinkSlowerThanDeclared)).To(Equal("True LinkSlower"))
			c.change(o)
			fill(o)
			g.Expect(o.says(v1alpha1.ConditionLinkSlowerThanDeclared)).To(Equal(c.says))
			g.Expect(o.says(v1alpha1.ConditionWindowTooSmall) != "").To(Equal(c.says != ""))
			l := findLink(o.site.Status.Links, "dublin")
			g.Expect(l.RoundTrip != nil).To(Equal(c.known), "%+v", l)
			g.Expect(l.Server != "").To(Equal(c.known), "%+v", l)
		})
	}
}

func TestAWindowThatIsTooSmallIsTold(t *testing.T) {
	g := NewWithT(t)
	o := linked()
	o.servers[1] = server("dubsub", "dublin", "6291456")
	o.hear(146*ms, 0)
	fill(o)
	g.Expect(o.says(v1alpha1.ConditionWindowTooSmall)).To(Equal("True BuffersTooSmall"))
	// 3,145,728 x 8 / 0.146.
	c := meta.FindStatusCondition(o.site.Status.Conditions, v1alpha1.ConditionWindowTooSmall)
	g.Expect(c.Message).To(ContainSubstring("from web/quisec to dubsub at site dublin 3145728 bytes may be on their " +
		"way, which carry 170 Mbit/s at most"))
	g.Expect(o.says(v1alpha1.ConditionLinkSlowerThanDeclared)).To(Equal("False LinksAsDeclared"))
	o.servers[1] = server("dubsub", "dublin", "37748736")
	fill(o)
	g.Expect(o.says(v1alpha1.ConditionWindowTooSmall)).To(Equal("False WindowsWide"))
}

// A pod that is made anew has no agent that reads its buffers yet. Nothing is concluded from what is declared then: a
// node that does not take it gives the next pod as little.
func TestAWindowIsKeptWhileAPodIsMadeAnew(t *testing.T) {
	for _, again := range []int{0, 1} {
		g := NewWithT(t)
		o := linked()
		o.servers[again] = server(o.servers[again].Name, string(o.servers[again].Spec.Site), "6291456")
		o.hear(146*ms, 0)
		fill(o)
		written := o.site.Status.DeepCopy()
		g.Expect(o.says(v1alpha1.ConditionWindowTooSmall)).To(Equal("True BuffersTooSmall"))
		s := &o.servers[again]
		for _, tuning := range []*v1alpha1.TuningStatus{nil, {}} {
			s.Status.Tuning = tuning
			fill(o)
			g.Expect(o.site.Status.Links).To(Equal(written.Links))
			g.Expect(o.says(v1alpha1.ConditionWindowTooSmall)).To(Equal("True BuffersTooSmall"))
		}

		// It runs, and its kernel shows no buffers: what is declared is all that is known.
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		fill(o)
		g.Expect(o.says(v1alpha1.ConditionWindowTooSmall)).To(Equal("False WindowsWide"))
	}
}

// Of another pair of servers nothing was known.
func TestAWindowIsOfItsTwoServers(t *testing.T) {
	g := NewWithT(t)
	o := linked()
	o.servers[1] = server("dubsub", "dublin", "6291456")
	o.hear(146*ms, 0)
	fill(o)
	o.servers = append(o.servers, server("dubother", "dublin", "37748736"))
	o.servers[2].Status.Tuning = nil
	o.answers[0].measured[0].Peer = "dubother"
	fill(o)
	g.Expect(o.says(v1alpha1.ConditionWindowTooSmall)).To(Equal("False WindowsWide"))
}

// The heartbeat measures the link to the hub's site where no agents do, and nothing is concluded from it: an API server
// takes time of its own.
func TestAgentsMeasureRatherThanTheHeartbeat(t *testing.T) {
	g := NewWithT(t)
	o := linked()
	o.hub = "dublin"
	o.health.RoundTrip = 400 * ms
	fill(o)
	g.Expect(o.site.Status.Links).To(HaveLen(1))
	g.Expect(o.site.Status.Links[0]).To(And(HaveField("RoundTrip.Duration", 400*ms), HaveField("Server", ""),
		HaveField("Slower", false)))
	g.Expect(o.says(v1alpha1.ConditionLinkSlowerThanDeclared)).To(BeEmpty())
	o.hear(146*ms, 0)
	fill(o)
	g.Expect(o.site.Status.Links[0]).To(And(HaveField("RoundTrip.Duration", 146*ms), HaveField("Server", "web/quisec")))
}
