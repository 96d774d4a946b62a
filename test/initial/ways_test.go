// SPDX-License-Identifier: Apache-2.0

//go:build integration

package initial_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/support/figures"
)

// way is a way of a first copy.
type way struct {
	name   string
	method v1alpha1.InitializationMethod
	// keeps tells that the subscriber has the tables of the way before it, to the last row, and nobody writes until they
	// are registered.
	keeps bool
}

// allWays are those that are measured, in their order. Another one is a row here.
var allWays = []way{
	{name: "Snapshot", method: v1alpha1.InitializeSnapshot},
	{name: "Compare, equal tables", method: v1alpha1.InitializeCompare, keeps: true},
}

// sizes are how much is copied over which link, by so many of allWays.
var sizes = []struct {
	mb   int
	link figures.Link
	ways int
}{
	{30, figures.Link{Rate: 10e6, RoundTrip: 77 * time.Millisecond}, len(allWays)},
	{100, figures.Link{Rate: 10e6, RoundTrip: 77 * time.Millisecond}, 1},
	{300, figures.Link{Rate: 100e6, RoundTrip: 77 * time.Millisecond}, len(allWays)},
	{1000, figures.Link{Rate: 1e9, RoundTrip: 150 * time.Millisecond}, len(allWays)},
}

// ways measures each way in each size.
func ways(b *testing.B, r *figures.Report, percent int) {
	var all []figures.Copy
	// What was measured is told, whatever becomes of the rest.
	defer func() { r.Tables = append(r.Tables, figures.Copies("Ways of a first copy", all)) }()
	i := newInstallation(b)
	r.About = append(r.About, fmt.Sprintf("The link of first copies has %s for congestion control. Engines are the "+
		"stand-in's, and share the machine with all else: no time of theirs is SQL Server's.", i.net.Congestion))
	for _, size := range sizes {
		mb := max(1, size.mb*percent/100)
		progress("a table of", mb, "MB")
		p := i.publish(b, mb)
		for _, w := range allWays[:size.ways] {
			progress(w.name+",", size.link)
			all = append(all, i.measure(b, w, p, size.link))
		}
	}
}

// measure copies by a way, without a link and over it.
func (i *installation) measure(t testing.TB, w way, p *published, over figures.Link) figures.Copy {
	t.Helper()
	alone := i.copy(t, w, p, figures.Link{})
	c := i.copy(t, w, p, over)
	c.Alone = alone.Phases
	c.Differ = c.Differ || alone.Differ
	return c
}

// copy copies once. Its phases end where the sidecar and the Subscription say so.
func (i *installation) copy(t testing.TB, w way, p *published, over figures.Link) figures.Copy {
	t.Helper()
	if !w.keeps {
		i.forget(t, p)
	}
	i.net.Shape(t, over)
	i.runs++
	c := figures.Copy{Way: w.name, Link: over, Bytes: p.bytes()}
	s := &v1alpha1.Subscription{ObjectMeta: named(fmt.Sprintf("run%d", i.runs)), Spec: v1alpha1.SubscriptionSpec{
		Publication: v1alpha1.ObjectName(p.publication), Subscriber: v1alpha1.ServerOrGroup{Server: subscriber},
		Database: v1alpha1.DatabaseName(p.database), Type: v1alpha1.SubscriptionPull,
		Initialization: &v1alpha1.Initialization{Method: w.method}, ReclaimPolicy: v1alpha1.ReclaimDelete}}
	var writing *writer
	if !w.keeps {
		writing = i.write(t, p)
	}
	began := time.Now()
	i.declare(t, s)
	m := i.followed(t, s)
	c.Sent = m.status.MovedBytes
	c.Phases = m.phases(began)
	if w.keeps {
		NewWithT(t).Expect(s.Status.Initialization).To(HaveField("Compared", BeTrue()), "no snapshot has replaced the tables")
		writing = i.write(t, p)
		NewWithT(t).Eventually(writing.written.Load, patience, often).Should(BeNumerically(">=", 20))
	}
	c.Written = writing.ended(t, p)
	last := time.Now()
	NewWithT(t).Eventually(func() int64 { return i.last(t, p) }, patience, often).
		Should(BeNumerically(">=", p.rows-1), func() string { return i.Logged(t) })
	c.Phases.CaughtUp = time.Since(last)
	want, got := i.sums(t, publisher, p), i.sums(t, subscriber, p)
	c.Rows = got.rows
	c.Differ = got != want || got.rows != p.rows || got.keys != p.rows
	i.remove(t, s)
	return c
}

// moments of a copy.
type moments struct {
	copied
	// made: the sidecar knows which snapshot it is to bring. applied: the Subscription delivers.
	made, applied time.Time
}

// phases are the times between them. Where nothing was brought all is one.
func (m moments) phases(began time.Time) figures.Phases {
	if m.verified.IsZero() {
		return figures.Phases{Made: m.applied.Sub(began)}
	}
	p := figures.Phases{Made: m.made.Sub(began), Listed: m.listed.Sub(m.made), Sent: m.verified.Sub(m.listed),
		Applied: m.applied.Sub(m.verified)}
	if !m.last.IsZero() {
		p.Sent, p.Verified = m.last.Sub(m.listed), m.verified.Sub(m.last)
	}
	return p
}

// followed waits until a Subscription delivers.
func (i *installation) followed(t testing.TB, s *v1alpha1.Subscription) (m moments) {
	t.Helper()
	sidecar, object := time.NewTicker(lookEvery), time.NewTicker(often)
	defer sidecar.Stop()
	defer object.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for m.applied.IsZero() {
		select {
		case <-sidecar.C:
			mirrors, now := i.Mirrors(subscriber), time.Now()
			for _, mirror := range mirrors {
				if mirror.Subscription != s.Name {
					continue
				}
				if m.made.IsZero() && mirror.Generation != "" {
					m.made = now
				}
				m.note(now, mirror)
			}
		case <-object.C:
			NewWithT(t).Expect(i.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
			ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
			if ready != nil && ready.ObservedGeneration == s.Generation && ready.Status == metav1.ConditionTrue &&
				(s.Status.Copy == nil || s.Status.Copy.Phase == v1alpha1.CopyDone) {
				m.applied = time.Now()
			}
		case <-deadline.C:
			t.Fatalf("Subscription %s is not ready after %v:\n%s\n%s", s.Name, patience, i.Waiting(t), i.Logged(t))
		}
	}
	return m
}
