// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/workload/history"
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
	m.Unstopped, m.Unread = a.Bounds.Unstopped, a.Bounds.Unread
	for _, replica := range a.Replicas {
		m.Read = append(m.Read, replica.Server)
	}
	m.Send, m.Redo = queues(a.Samples.Replicas)
	m.SendGap = gap(a.Samples.Replicas, s, w.target.data, toSend)
	m.RedoGap = gap(a.Samples.Replicas, s, w.target.data, toRedo)
	return m
}

// unread are the servers that should have been read, by what they said when that was tried, and were not.
func (w *Observed) unread(read []history.Replica) (list []string) {
	for _, name := range w.target.data {
		if w.canBeRead(name) &&
			!slices.ContainsFunc(read, func(r history.Replica) bool { return sameServer(name, r.Server) }) {
			list = append(list, string(name))
		}
	}
	return list
}

// queues are the greatest ones.
func queues(samples []archive.ReplicaSample) (send, redo *verdict.Queue) {
	for _, one := range samples {
		send, redo = larger(send, one.SendQueueKB, one), larger(redo, one.RedoQueueKB, one)
	}
	return send, redo
}

// toSend is what has yet to be sent to a server, nil where that is not known. Only its primary can tell, whoever else
// answers; nothing is sent to a primary.
func toSend(s archive.ReplicaSample) *int64 {
	if s.Role == "PRIMARY" {
		return ptr.To[int64](0)
	}
	return s.SendQueueKB
}

// toRedo is what a server has yet to redo, nil where that is not known. What its primary says of one that is silent may
// be old; a primary redoes nothing.
func toRedo(s archive.ReplicaSample) *int64 {
	switch s.Role {
	case "PRIMARY":
		return ptr.To[int64](0)
	case "":
		return nil
	}
	return s.RedoQueueKB
}

// gap is the longest time in which a queue of one of the servers was not known: it may have been the longest one then.
func gap(
	samples []archive.ReplicaSample,
	s v1alpha1.DrillStatus,
	servers []v1alpha1.ServerName,
	queue func(archive.ReplicaSample) *int64,
) (longest time.Duration) {
	began := s.Accepted.Time
	if s.Baseline != nil {
		began = s.Baseline.Time
	}
	last := map[string]time.Time{}
	for _, name := range servers {
		last[string(name)] = began
	}
	for _, one := range samples {
		if since, asked := last[one.Server]; asked && queue(one) != nil && one.At.After(since) {
			longest, last[one.Server] = max(longest, one.At.Sub(since)), one.At
		}
	}
	for _, since := range last {
		if s.Ended != nil && s.Ended.After(since) {
			longest = max(longest, s.Ended.Sub(since))
		}
	}
	return longest
}

func larger(q *verdict.Queue, kb *int64, s archive.ReplicaSample) *verdict.Queue {
	if kb == nil || q != nil && q.KB >= *kb {
		return q
	}
	return &verdict.Queue{KB: *kb, Server: s.Server, At: s.At}
}
