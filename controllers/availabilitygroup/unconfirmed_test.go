// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// unconfirmed has nothing confirmed before.
type unconfirmed struct{}

func (unconfirmed) Recall(context.Context, string) {}

func (unconfirmed) Confirm(client.Object, time.Time, ...string) {}

func (unconfirmed) Answered(group *v1alpha1.AvailabilityGroup) *v1alpha1.AvailabilityGroup {
	return group
}

// When servers last answered changes with each look; a status says something new when more than that has changed.
func TestTheTimesOfAnswersAloneAreNothingNew(t *testing.T) {
	g := NewWithT(t)
	at := func(s int) *metav1.Time { return ptr.To(metav1.NewTime(time.Date(2026, 3, 1, 12, 0, s, 0, time.UTC))) }
	status := func(first, second *metav1.Time) v1alpha1.AvailabilityGroupStatus {
		return v1alpha1.AvailabilityGroupStatus{Replicas: []v1alpha1.ReplicaStatus{
			{Server: "tukpub-0", Role: "PRIMARY", ObservedAt: first},
			{Server: "quisec-0", Role: "SECONDARY", ObservedAt: second},
		}}
	}
	before, after := status(at(0), at(0)), status(at(5), at(5))
	g.Expect(*seenAsBefore(before, &after)).To(Equal(before))
	g.Expect(after.Replicas[0].ObservedAt).To(Equal(at(5)), "what is written with a change has its time")
	after.Replicas[1].Role = "RESOLVING"
	g.Expect(*seenAsBefore(before, &after)).NotTo(Equal(before))
	before = status(at(0), nil)
	after = status(at(5), at(5))
	g.Expect(*seenAsBefore(before, &after)).NotTo(Equal(before), "it answers for the first time")
}
