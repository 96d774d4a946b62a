// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// hears is what tukpub is told of its first group by quisec beside it, which asks for nothing else.
func hears(t *testing.T, e *environ, primary v1alpha1.ServerName, other *v1alpha1.SQLServer,
	groups ...v1alpha1.AvailabilityGroup) Turn {
	t.Helper()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(other).Build()
	r := &Reconciler{hub: hub, secrets: hub}
	e.d.groups = groups
	turn := Turn{Group: groups[0].Name, Declared: true, Primary: primary}
	g.Expect(r.observeBehind(t.Context(), e.d, &e.o, &groups[0], &turn)).To(Succeed())
	g.Expect(r.observeSuccession(t.Context(), e.d, &e.o, &groups[0], &turn)).To(Succeed())
	return turn
}

// quisec is a server that serves, and that has an older image than it declares.
func quisec() *v1alpha1.SQLServer {
	s := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "quisec"}}
	s.Spec.Image, s.Status.Image = "mssql:2022b", "mssql:2022"
	conditions.Set(&s.Status.StatusBase, 0, conditions.Ready(v1alpha1.ReasonRunning, "it answers"))
	return s
}

// copies has tukpub with one mode and quisec with another.
func copies(name string, tukpub, quisec v1alpha1.AvailabilityMode) v1alpha1.AvailabilityGroup {
	g := v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}}
	g.Spec.Replicas = []v1alpha1.Replica{{Server: "tukpub", AvailabilityMode: tukpub},
		{Server: "quisec", AvailabilityMode: quisec}}
	return g
}

// Who has an asynchronous copy is updated before who has a synchronous one, but nobody waits for one that will not be
// updated, nor two for each other.
func TestWhoIsUpdatedFirst(t *testing.T) {
	const synchronous, asynchronous = v1alpha1.SynchronousCommit, v1alpha1.AsynchronousCommit
	image := func(reason string) func(*environ, *v1alpha1.SQLServer) {
		return func(_ *environ, s *v1alpha1.SQLServer) {
			conditions.SetOne(&s.Status.StatusBase, 0, metav1.Condition{Type: v1alpha1.ConditionImageCurrent,
				Status: metav1.ConditionFalse, Reason: reason})
		}
	}
	turned := copies("search", asynchronous, synchronous)
	led := copies("search", synchronous, asynchronous)
	led.Status.Primary = "QUISEC-0"
	for name, c := range map[string]struct {
		change func(*environ, *v1alpha1.SQLServer)
		beside []v1alpha1.AvailabilityGroup
		waits  bool
	}{
		"the asynchronous one": {waits: true},
		"while it has its turn": {waits: true,
			change: image(v1alpha1.ReasonUpdating)},
		"not for what is no update": {change: func(e *environ, s *v1alpha1.SQLServer) {
			e.startPod()
			awaitsRestart(s, v1alpha1.ReasonRestartNeeded)
		}},
		"not one that is suspended": {change: func(_ *environ, s *v1alpha1.SQLServer) {
			s.Spec.Suspend = true
		}},
		"not one that is synchronous where this one is not": {beside: []v1alpha1.AvailabilityGroup{turned}},
		"not one that is a primary":                         {beside: []v1alpha1.AvailabilityGroup{led}},
		"not one whose image is refused":                    {change: image(v1alpha1.ReasonVersionLower)},
		"not one that nobody asks for":                      {change: image(v1alpha1.ReasonUpdateAwaitsRequest)},
		"one that was asked for along with it": {waits: true, change: func(e *environ, s *v1alpha1.SQLServer) {
			image(v1alpha1.ReasonUpdateAwaitsRequest)(e, s)
			e.requests("once")
			s.Annotations = e.d.Server.Annotations
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := queued(t, "docker.io/library/mssql@"+digest1, false)
			other := quisec()
			if c.change != nil {
				c.change(e, other)
			}
			turn := hears(t, e, "dubsec", other, append([]v1alpha1.AvailabilityGroup{
				copies("content", synchronous, asynchronous)}, c.beside...)...)
			NewWithT(t).Expect(len(turn.Asynchronous) > 0).To(Equal(c.waits))
		})
	}
}

// A primary that makes room for another cause than its own update makes none primary from which nobody fails back.
func TestNoSwitchoverToALaterVersion(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		updates string
		to      v1alpha1.ServerName
	}{
		"of the same version":           {version: "16.0.4195.2", to: "quisec"},
		"of a later one":                {version: "17.0.1000.7"},
		"of a later one, at its update": {version: "17.0.1000.7", updates: "mssql:2022b", to: "quisec"},
		"at an update of this version":  {version: "17.0.1000.7", updates: "mssql:2022-CU2"},
		"of one that nobody knows":      {to: "quisec"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := queued(t, "docker.io/library/mssql@"+digest1, false)
			if c.updates == "" {
				e.startPod()
			} else {
				e.declares(c.updates)
				e.settle(t, 100)
			}
			e.o.Pod.UID = "0123456789"
			other := quisec()
			other.Spec.Image, other.Status.Version = other.Status.Image, c.version
			declared := copies("content", v1alpha1.SynchronousCommit, v1alpha1.SynchronousCommit)
			declared.Spec.FailoverPolicy = v1alpha1.FailoverAutomatic
			declared.Status.Replicas = []v1alpha1.ReplicaStatus{{Server: "quisec-0",
				Promotable: &v1alpha1.Promotability{Status: metav1.ConditionTrue}}}
			turn := hears(t, e, "tukpub", other, declared)
			step, why := switchover(turn)
			if c.to != "" {
				g.Expect(step).To(HaveField("To", c.to))
				return
			}
			g.Expect(step).To(BeNil())
			g.Expect(why).To(And(ContainSubstring("of a later major version (quisec)"),
				ContainSubstring("kubectl geosql switchover content --to SERVER")))
		})
	}
}
