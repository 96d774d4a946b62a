// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/ballot"
)

// Timings are those that a group declares, and base for what it leaves out.
func Timings(declared *v1alpha1.GroupTimings, base ballot.Timings) ballot.Timings {
	if declared == nil {
		return base
	}
	for into, from := range fields(&base, declared) {
		if *from != nil {
			*into = (*from).Duration
		}
	}
	return base
}

// Declares says whether a group declares any of the timings by which agents that count differently could be primary at
// a time. What it leaves out of those is ballot.DefaultTimings then, whenever it was made.
func Declares(declared *v1alpha1.GroupTimings) bool {
	return declared != nil && (declared.VoteExpiry != nil || declared.RenewInterval != nil || declared.APITimeout != nil ||
		declared.Acknowledge != nil || declared.AgentRestart != nil || declared.WriteLease != nil ||
		declared.Overrun != nil)
}

// Recorded are timings as status has them: those by which agents that count differently could be primary at a time.
func Recorded(t ballot.Timings) *v1alpha1.GroupTimings {
	var r v1alpha1.GroupTimings
	for from, into := range fields(&t, &r) {
		*into = &metav1.Duration{Duration: *from}
	}
	r.Failover, r.Offline = nil, nil
	return &r
}

func fields(t *ballot.Timings, d *v1alpha1.GroupTimings) map[*time.Duration]**metav1.Duration {
	return map[*time.Duration]**metav1.Duration{
		&t.Expiry: &d.VoteExpiry, &t.Renew: &d.RenewInterval, &t.APITimeout: &d.APITimeout,
		&t.Acknowledge: &d.Acknowledge, &t.AgentRestart: &d.AgentRestart, &t.WriteLease: &d.WriteLease,
		&t.Overrun: &d.Overrun, &t.Failover: &d.Failover, &t.Offline: &d.Offline,
	}
}

// Safety are the timings by which a group's votes count at an agent with these orders.
func (g Group) Safety() ballot.Timings {
	if g.Timings == nil {
		return ballot.DefaultTimings()
	}
	return g.Timings.Safety()
}
