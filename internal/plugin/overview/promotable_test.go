// SPDX-License-Identifier: Apache-2.0

//go:build integration

package overview

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
)

// Why a replica cannot be promoted by its nature is said in words, not by the name of a reason.
func TestPromotableInWords(t *testing.T) {
	g := NewWithT(t)
	group := &v1alpha1.AvailabilityGroup{
		Spec: v1alpha1.AvailabilityGroupSpec{
			Replicas: []v1alpha1.Replica{{Server: "a"}, {Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly}},
		},
	}
	say := func(mode, reason string) string {
		return promotable(
			group,
			v1alpha1.ReplicaStatus{
				Server:           "a-0",
				AvailabilityMode: mode,
				Promotable:       &v1alpha1.Promotability{Status: metav1.ConditionFalse, Reason: reason},
			},
		)
	}
	g.Expect(say("CONFIGURATION_ONLY", votes.ReasonNotAReplica)).To(Equal("no: it votes, and holds no data"))
	g.Expect(promotable(group, v1alpha1.ReplicaStatus{Server: "dubcfg-0"})).To(Equal("no: it votes, and holds no data"))
	g.Expect(say("ASYNCHRONOUS_COMMIT", votes.ReasonNotSynchronous)).To(Equal("no: asynchronous, it may lack writes"))
	g.Expect(say("SYNCHRONOUS_COMMIT", "Reverting")).To(Equal("no: Reverting"))
	g.Expect(promotable(group, v1alpha1.ReplicaStatus{Server: "a-0"})).To(Equal(unknown))
}
