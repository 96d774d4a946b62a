// SPDX-License-Identifier: Apache-2.0

package control

import (
	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/workload/history"
)

// Archived is a run as its Drill and its archive have it, as far as controls need it.
func Archived(d *v1alpha1.Drill, a archive.Archive) (Run, error) {
	e, err := a.Evidence()
	if err != nil {
		return Run{}, err
	}
	m := verdict.Measured{History: history.Check(e), Faults: d.Status.Faults, Unstopped: a.Bounds.Unstopped}
	for _, replica := range a.Replicas {
		m.Read = append(m.Read, replica.Server)
	}
	for _, c := range d.Status.Clients {
		if _, kept := a.Histories[c.Site]; !kept {
			m.Missing = append(m.Missing, c.Site)
		}
	}
	if len(a.Payloads) == 2 {
		delivery := history.CheckDelivery(e.Runs, a.Payloads[0], a.Payloads[1])
		m.Places = []verdict.Place{{Server: v1alpha1.ServerName(a.Payloads[1].Server), Kind: verdict.PlaceSubscriber,
			Delivery: &delivery}}
	}
	return Run{Spec: d.Spec, Evidence: e, Measured: m}, nil
}
