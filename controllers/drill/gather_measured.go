// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"slices"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/verdict"
)

// measured puts together what the verdict is made of.
func (r *Reconciler) measured(w *Observed, j *judged, a archive.Archive) verdict.Measured {
	s := w.drill.Status
	m := verdict.Measured{History: j.verdict, Faults: s.Faults, Aborted: s.AbortReason, NoGroup: s.Group == ""}
	for _, e := range s.Timeline {
		if e.Event == eventNotRecovered {
			// Nobody has looked at the replicas since.
			m.NotRecovered, m.Waited = e.Message, e.Time.Sub(s.Ended.Time)
		}
	}
	for _, c := range s.Clients {
		if err, ok := j.fetched[c.Site]; !ok || err != nil {
			m.Missing = append(m.Missing, c.Site)
		}
	}
	m.Unstopped = a.Bounds.Unstopped
	for _, replica := range a.Replicas {
		m.Read = append(m.Read, replica.Server)
	}
	for _, name := range w.target.data {
		if w.canBeRead(name) && !slices.ContainsFunc(m.Read, func(s string) bool { return sameServer(name, s) }) {
			m.Unread = append(m.Unread, string(name))
		}
	}
	m.Send, m.Redo, m.Gap = queues(a.Samples.Replicas, s, w.target.data)
	return m
}

// queues are the greatest ones, and the longest time in which one of the servers did not answer: whoever is silent may
// have the longest queue.
func queues(
	samples []archive.ReplicaSample,
	s v1alpha1.DrillStatus,
	servers []v1alpha1.ServerName,
) (send, redo *verdict.Queue, gap time.Duration) {
	began := s.Accepted.Time
	if s.Baseline != nil {
		began = s.Baseline.Time
	}
	last := map[string]time.Time{}
	for _, name := range servers {
		last[string(name)] = began
	}
	for _, one := range samples {
		send, redo = larger(send, one.SendQueueKB, one), larger(redo, one.RedoQueueKB, one)
		if since, known := last[one.Server]; known && one.Role != "" && one.At.After(since) {
			gap, last[one.Server] = max(gap, one.At.Sub(since)), one.At
		}
	}
	for _, since := range last {
		if s.Ended != nil && s.Ended.After(since) {
			gap = max(gap, s.Ended.Sub(since))
		}
	}
	return send, redo, gap
}

func larger(q *verdict.Queue, kb *int64, s archive.ReplicaSample) *verdict.Queue {
	if kb == nil || q != nil && q.KB >= *kb {
		return q
	}
	return &verdict.Queue{KB: *kb, Server: s.Server, At: s.At}
}
