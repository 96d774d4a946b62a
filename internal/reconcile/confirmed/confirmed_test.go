// SPDX-License-Identifier: Apache-2.0

package confirmed_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/confirmed"
)

var written = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func group(version string) *v1alpha1.AvailabilityGroup {
	at := metav1.NewTime(written)
	g := &v1alpha1.AvailabilityGroup{}
	g.Namespace, g.Name, g.ResourceVersion = "web", "content", version
	g.Status.Replicas = []v1alpha1.ReplicaStatus{
		{Server: "tukpub-0", ObservedAt: &at}, {Server: "quisec-0", ObservedAt: &at}, {Server: "dubcfg-0"},
	}
	return g
}

func TestAGroupIsAsLateAsItIsConfirmed(t *testing.T) {
	g := NewWithT(t)
	var log confirmed.Log
	g.Expect(log.Of(group("7"))).To(Equal(group("7")), "nothing is confirmed yet")
	later := written.Add(time.Hour)
	log.Confirm(group("7"), later, "QUISEC-0")

	stored := group("7")
	seen := log.Of(stored)
	g.Expect(seen.Status.Replicas[0].ObservedAt.Time).To(Equal(later))
	g.Expect(seen.Status.Replicas[1].ObservedAt.Time).To(Equal(written), "it did not answer")
	g.Expect(seen.Status.Replicas[2].ObservedAt).To(BeNil(), "it has never answered")
	g.Expect(stored).To(Equal(group("7")), "what a cache holds is not changed")

	g.Expect(log.Of(group("8"))).To(Equal(group("8")), "another status than the one that was looked at")
	g.Expect(log.Answered(group("8")).Status.Replicas[0].ObservedAt.Time).To(Equal(later), "it answered all the same")
	g.Expect(log.Answered(group("8")).Status.Replicas[1].ObservedAt.Time).To(Equal(written))
	log.Confirm(group("7"), written.Add(-time.Hour))
	g.Expect(log.Of(group("7")).Status.Replicas[0].ObservedAt.Time).To(Equal(written), "it was written later than that")
	log.Confirm(group("7"), later)
	log.Forget(types.NamespacedName{Namespace: "web", Name: "content"})
	g.Expect(log.Of(group("7"))).To(Equal(group("7")))
}

func TestASiteIsAsLateAsItIsConfirmed(t *testing.T) {
	g := NewWithT(t)
	var log confirmed.Log
	at := metav1.NewTime(written)
	site := &v1alpha1.Site{}
	site.Name, site.ResourceVersion, site.Status.LastHeartbeat = "dublin", "3", &at
	log.Confirm(site, written.Add(time.Minute))
	g.Expect(log.Site(site).Status.LastHeartbeat.Time).To(Equal(written.Add(time.Minute)))
	g.Expect(site.Status.LastHeartbeat.Time).To(Equal(written))
	site.ResourceVersion = "4"
	g.Expect(log.Site(site)).To(Equal(site))
}
