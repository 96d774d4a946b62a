// SPDX-License-Identifier: Apache-2.0

//go:build integration

package drill

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

func slow() v1alpha1.DrillFault {
	return v1alpha1.DrillFault{
		Name:     "slow",
		Kind:     v1alpha1.FaultNetwork,
		Duration: lasting(time.Minute),
		Network:  &v1alpha1.NetworkFault{Latency: lasting(100 * time.Millisecond)},
		Where:    &v1alpha1.FaultPlace{Role: v1alpha1.RolePrimary},
		Peer:     &v1alpha1.FaultPlace{Role: v1alpha1.RoleSecondary},
	}
}

// eventsOf a fault, with what they say.
func (s *stage) eventsOf(fault string, wanted ...string) []string {
	var list []string
	for _, e := range s.d.Status.Timeline {
		for _, w := range wanted {
			if e.Fault == fault && e.Event == w {
				list = append(list, e.Event+" "+e.Message)
			}
		}
	}
	return list
}

// A daemon of Chaos Mesh that is started again while a fault lasts is noted once, and once that it is back. The verdict
// on the effect stays with what is measured.
func TestDaemonsThatAreStartedAgain(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, slow())
	connect := func(d time.Duration) {
		s.w.probes["slow"] = []v1alpha1.ProbeFigures{{From: "tukpub", To: "quisec-0:1433", Attempts: 5, Connect: lasting(d)}}
	}
	ready := func(n int32) {
		s.w.daemons = map[v1alpha1.SiteName]daemons{"tukwila": {2, n}, "quincy": {1, 1}}
	}
	connect(time.Millisecond)
	ready(2)
	s.at(v1alpha1.FaultActive)
	connect(201 * time.Millisecond)
	g.Expect(s.effect().Status).To(Equal(metav1.ConditionTrue))
	ready(1)
	s.look(time.Second)
	s.look(time.Second)
	s.w.daemons = nil // a site that does not answer says nothing of them
	s.look(time.Second)
	ready(2)
	s.look(time.Second)
	s.look(time.Second)
	g.Expect(s.eventsOf("slow", eventDaemonGone, eventDaemonBack)).To(Equal([]string{
		"DaemonGone tukwila: 1 of 2 daemons of Chaos Mesh are ready",
		"DaemonBack tukwila: 2 of 2 daemons of Chaos Mesh are ready"}))
	g.Expect(s.effect().Status).To(Equal(metav1.ConditionTrue), "it is in force still")

	ready(0)
	connect(time.Millisecond)
	e := s.effect()
	g.Expect(e.Status).To(Equal(metav1.ConditionFalse))
	g.Expect(e.Seen).To(HavePrefix(endedEarly))
	g.Expect(s.eventsOf("slow", eventDaemonGone, "EffectEnded")).To(HaveLen(3), "why it ended stands before that it did")
}

// The daemons of the sites of faults that last are looked at. Where there are none, nothing is known of them.
func TestDaemonsAreLookedAt(t *testing.T) {
	g := NewWithT(t)
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: sites.ChaosNamespace, Name: sites.ChaosDaemons},
		Status:     appsv1.DaemonSetStatus{DesiredNumberScheduled: 3, NumberReady: 2},
	}
	at := func(objects ...client.Object) *sites.Member {
		return &sites.Member{APIReader: fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithObjects(objects...).Build()}
	}
	fault := func(name, site string, state v1alpha1.FaultState) v1alpha1.FaultStatus {
		return v1alpha1.FaultStatus{
			Name:    name,
			State:   state,
			Objects: []v1alpha1.FaultObject{{Site: site, Kind: "NetworkChaos", Name: name}},
		}
	}
	w := &Observed{Desired: Desired{drill: &v1alpha1.Drill{Status: v1alpha1.DrillStatus{Faults: []v1alpha1.FaultStatus{
		fault(
			"a",
			"tukwila",
			v1alpha1.FaultActive,
		), fault("b", "quincy", v1alpha1.FaultActive), fault("c", "dublin", v1alpha1.FaultRemoved),
		fault("d", "", v1alpha1.FaultActive)}}}},
		members: map[v1alpha1.SiteName]*sites.Member{"tukwila": at(set), "quincy": at(), "dublin": at(set)}}
	(&Reconciler{}).observeDaemons(t.Context(), w)
	g.Expect(w.daemons).To(Equal(map[v1alpha1.SiteName]daemons{"tukwila": {wanted: 3, ready: 2}}))
}
