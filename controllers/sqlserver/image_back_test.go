// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// nightly is a window between three and four.
var nightly = []v1alpha1.MaintenanceWindow{{Schedule: "0 3 * * *", Duration: metav1.Duration{Duration: time.Hour}}}

// at moves the clock to a time of the day after the start.
func (e *environ) at(hour, minute int) {
	e.o.Now = time.Date(2026, 11, 21, hour, minute, 0, 0, time.UTC)
}

// ends says that the engine's container ends again and again.
func (e *environ) ends() {
	e.o.Engine = Engine{}
	e.o.Pod = e.o.Pod.DeepCopy()
	engine := &e.o.Pod.Status.ContainerStatuses[0]
	engine.State, engine.RestartCount =
		corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: crashLoop}}, 3
	e.o.Pod.Status.Conditions[0].Status = corev1.ConditionFalse
}

// queued is a server that runs mssql:2022, and whose update is in its pod's template and waits for another's turn.
func queued(t *testing.T, imageID string, request bool) *environ {
	t.Helper()
	e := settledAlone(t)
	e.runs(imageID)
	e.hosts(Turn{Group: "content", Declared: true, Primary: "quisec"})
	e.settle(t, 100)
	e.o.Turns[0].Holder = "quisec"
	e.declares("mssql:2022b")
	if request {
		e.d.Server.Spec.UpdatePolicy = v1alpha1.UpdateOnRequest
		e.requests("once")
	}
	_, done := e.settle(t, 100)
	g := NewWithT(t)
	g.Expect(restarted(done)).To(BeZero(), "it is the turn of quisec")
	g.Expect(e.image()).To(Equal("mssql:2022b"))
	return e
}

// What was declared and asked for, and is declared no more, does not come; nor does the request count for the former
// image, of which nobody asked for anything.
func TestAnUpdateIsTakenBack(t *testing.T) {
	const pulled = "docker.io/library/mssql@"
	for name, c := range map[string]struct {
		imageID  string
		request  bool
		declared string
		image    string
	}{
		"that was asked for":               {pulled + digest1, true, "mssql:2022", "mssql@" + digest1},
		"of an image that nobody pulled":   {digest1, true, "mssql:2022", "mssql:2022"},
		"that came by itself":              {pulled + digest1, false, "mssql:2022", "mssql@" + digest1},
		"for a third one that is to wait":  {pulled + digest1, true, "mssql:2022c", "mssql@" + digest1},
		"for one of a version that is low": {pulled + digest1, true, "mssql:2019-CU32", "mssql@" + digest1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := queued(t, c.imageID, c.request)
			e.declares(c.declared)
			_, done := e.settle(t, 100)
			g.Expect(restarted(done)).To(BeZero())
			g.Expect(e.image()).To(Equal(c.image))
			e.o.Turns[0].Holder = ""
			_, done = e.settle(t, 100)
			g.Expect(done).To(BeEmpty())
			g.Expect(updates(e.o)).To(BeFalse())
			e.requests("again")
			_, done = e.settle(t, 100)
			if c.declared == "mssql:2019-CU32" {
				g.Expect(restarted(done)).To(BeZero())
				return
			}
			g.Expect(restarted(done)).To(Equal(1))
			g.Expect(e.image()).To(Equal(c.declared), "a request that is new is another matter")
		})
	}
}

// A digest names one image for ever: a request for it is done with, and brings no other image later.
func TestARequestForADigestIsSpent(t *testing.T) {
	g := NewWithT(t)
	e := settledAlone(t)
	e.declares("mssql@" + digest1)
	e.settle(t, 100)
	e.requests("once")
	_, done := e.settle(t, 100)
	g.Expect(restarted(done)).To(BeZero())
	e.hosts(Turn{Group: "content", Declared: true, Primary: "quisec", Holder: "quisec"})
	e.declares("mssql:2022b")
	e.d.Server.Spec.MaintenanceWindows = nightly
	e.at(3, 10)
	e.settle(t, 100)
	g.Expect(e.image()).To(Equal("mssql:2022b"))
	e.at(12, 0)
	_, done = e.settle(t, 100)
	g.Expect(restarted(done)).To(BeZero())
	g.Expect(e.image()).To(Equal("mssql@"+digest1), "nobody asked for it, and no window is open")
}

// A window may close before a server's turn has come, and consent may be taken back: the template has what runs again
// then, so that what else restarts the pod, or loses it, brings no update.
func TestAWindowClosesBeforeTheTurn(t *testing.T) {
	windows := func(e *environ) { e.d.Server.Spec.MaintenanceWindows = nightly }
	for name, c := range map[string]struct {
		change func(*environ)
		reason string
	}{
		"it closes": {windows, v1alpha1.ReasonUpdateAwaitsWindow},
		"the policy is another one by now": {func(e *environ) {
			windows(e)
			e.d.Server.Spec.UpdatePolicy = v1alpha1.UpdateOnRequest
		}, v1alpha1.ReasonUpdateAwaitsRequest},
		"while the engine ends, whose image it is": {func(e *environ) {
			windows(e)
			e.d.Server.Status.Image = "mssql:2022"
			e.ends()
		}, v1alpha1.ReasonUpdateAwaitsWindow},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := queued(t, "docker.io/library/mssql@"+digest1, false)
			e.o.Turns[0].Holder = ""
			c.change(e)
			e.at(12, 0)
			p, done := e.settle(t, 100)
			g.Expect(restarted(done)).To(BeZero())
			g.Expect(e.image()).To(Equal("mssql@" + digest1))
			g.Expect(waits(p).Why).To(BeEmpty(), "it keeps nobody waiting")
			condition := imageCondition(e.d, e.o)
			g.Expect(condition.Reason).To(Equal(c.reason))
			if c.reason == v1alpha1.ReasonUpdateAwaitsWindow {
				g.Expect(condition.Message).To(ContainSubstring("2026-11-22T03:00:00Z"))
			}
			if !e.o.Engine.Asked {
				return
			}
			e.d.Server.Spec.Startup.TraceFlags = nil
			_, done = e.settle(t, 100)
			g.Expect(restarted(done)).To(Equal(1), "what else asks for a restart has it")
			g.Expect(e.o.Pod.Spec.Containers[0].Image).To(Equal("mssql@" + digest1))
			e.d.Server.Spec.UpdatePolicy = ""
			e.at(3, 10)
			_, done = e.settle(t, 100)
			g.Expect(restarted(done)).To(Equal(1))
			g.Expect(e.o.Pod.Spec.Containers[0].Image).To(Equal("mssql:2022b"))
		})
	}
}

// What a person asked for, and what has begun, is finished though no window is open.
func TestWhatAWindowDoesNotEnd(t *testing.T) {
	for name, c := range map[string]struct {
		request bool
		change  func(*environ)
	}{
		"what was asked for": {request: true, change: func(*environ) {}},
		"a pod that is ending": {change: func(e *environ) {
			e.o.Pod = e.o.Pod.DeepCopy()
			e.o.Pod.DeletionTimestamp = &metav1.Time{Time: e.o.Now}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := queued(t, "docker.io/library/mssql@"+digest1, c.request)
			e.d.Server.Spec.MaintenanceWindows = nightly
			e.at(12, 0)
			c.change(e)
			e.settle(t, 100)
			NewWithT(t).Expect(e.image()).To(Equal("mssql:2022b"))
		})
	}
}

// An engine that ends again and again gives no consent: only where another image than the one that wrote the data fails
// is what is declared taken at once, and never what may be of a later major version.
func TestACrashLoopIsNoConsent(t *testing.T) {
	for name, c := range map[string]struct {
		wrote, runs, declared string
		taken                 bool
	}{
		"the image that wrote the data ends": {"m:2022-CU1", "m:2022-CU1", "m:2022-CU2", false},
		"another one ends":                   {"m:2022-CU1", "m:2022-CU2", "m:2022-CU3", true},
		"the former one, declared again":     {"m:2022-CU1", "m:2022-CU2", "m:2022-CU1", true},
		"the former one, of any name":        {"own:1", "own:2", "own:1", true},
		"of a later major version":           {"m:2022-CU1", "m:2022-CU2", "m:2025-CU1", false},
		"of nobody knows what":               {"m:2022-CU1", "m:2022-CU2", "own:3", false},
		"nobody knows which one wrote them":  {"", "m:2022-CU2", "m:2022-CU3", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := settledAlone(t)
			e.declares(c.runs)
			e.settle(t, 100)
			e.d.Server.Status.Image = c.wrote
			e.d.Server.Spec.UpdatePolicy = v1alpha1.UpdateOnRequest
			e.declares(c.declared)
			e.ends()
			for _, step := range plan(e.d, e.o).Steps {
				e.do(t, step)
			}
			if c.taken {
				g.Expect(e.image()).To(Equal(c.declared))
				return
			}
			g.Expect(e.image()).To(Equal(c.runs))
			g.Expect(imageCondition(e.d, e.o).Reason).To(Equal(v1alpha1.ReasonUpdateAwaitsRequest))
		})
	}
}

// Nor is a crash the turn for an image that may be of a later major version: after it there is no going back, so it
// waits for its turn, or for a person.
func TestAMajorVersionComesInItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		declared string
		request  bool
		unpulled bool
		comes    bool
	}{
		"of the same major version":   {declared: "m:2022-CU2", comes: true},
		"of a later one":              {declared: "m:2025-CU1"},
		"whose image can't be had":    {declared: "m:2025-CU1", unpulled: true},
		"of nobody knows what":        {declared: "m@" + digest2},
		"of a later one, asked for":   {declared: "m:2025-CU1", request: true, comes: true},
		"by its digest, asked for":    {declared: "m@" + digest2, request: true, comes: true},
		"nothing but another restart": {declared: "m:2022-CU1", comes: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := settledAlone(t)
			e.declares("m:2022-CU1")
			e.settle(t, 100)
			e.d.Server.Status.Image = "m:2022-CU1"
			e.hosts(Turn{Group: "content", Declared: true, Err: errors.New("no server is known to be its primary")})
			e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
			e.declares(c.declared)
			e.d.Server.Spec.Startup.TraceFlags = nil
			if c.request {
				e.requests("once")
			}
			e.ends()
			if c.unpulled {
				engine := &e.o.Pod.Status.ContainerStatuses[0]
				engine.State.Waiting.Reason, engine.RestartCount = "ImagePullBackOff", 0
			}
			for _, step := range plan(e.d, e.o).Steps {
				e.do(t, step)
			}
			p := plan(e.d, e.o)
			if c.comes {
				g.Expect(restarts(p)).To(Equal(1), waits(p).Why)
				return
			}
			g.Expect(restarts(p)).To(BeZero())
			g.Expect(waits(p).Why).To(ContainSubstring("kubectl geosql update tukpub"))
		})
	}
}
