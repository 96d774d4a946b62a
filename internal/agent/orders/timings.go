// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
)

// Timings are those that a group declares, with defaults for what it leaves out; nil for a group that declares none.
func Timings(declared *v1alpha1.GroupTimings) *ballot.Timings {
	if declared == nil {
		return nil
	}
	t := ballot.DefaultTimings()
	for into, from := range map[*time.Duration]*metav1.Duration{
		&t.Expiry: declared.VoteExpiry, &t.Renew: declared.RenewInterval, &t.APITimeout: declared.APITimeout,
		&t.Acknowledge: declared.Acknowledge, &t.AgentRestart: declared.AgentRestart, &t.WriteLease: declared.WriteLease,
		&t.Overrun: declared.Overrun, &t.Failover: declared.Failover, &t.Offline: declared.Offline,
	} {
		if from != nil {
			*into = from.Duration
		}
	}
	return &t
}
