// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/internal/workload/history/listappend"
)

// Order is the verdict on the transactions of the profile append, which needs no clock.
type Order struct {
	Result Result `json:"result"`
	Reason string `json:"reason,omitempty"`
	listappend.Verdict
}

// Used says that there were transactions to judge.
func (o Order) Used() bool { return o.Transactions > 0 || len(o.Counts) > 0 }

// JudgeOrder judges transactions on lists; none is no objection.
func JudgeOrder(h listappend.History) Order {
	if len(h.Sessions) == 0 {
		return Order{Result: Passed, Reason: "no lists were used"}
	}
	o := Order{Result: Passed, Verdict: listappend.Check(h)}
	var wrong []string
	for _, k := range listappend.Kinds() {
		if n := o.Counts[k]; n > 0 {
			i := slices.IndexFunc(o.Anomalies, func(a listappend.Anomaly) bool { return a.Kind == k })
			wrong = append(wrong, fmt.Sprintf("%s, %d times: %s", k, n, o.Anomalies[i].Message))
		}
	}
	switch {
	case len(wrong) > 0:
		o.Result, o.Reason = Failed, strings.Join(wrong, "; ")
	case len(o.Open) > 0:
		o.Result, o.Reason = Inconclusive, strings.Join(o.Open[:min(len(o.Open), examples)], "; ")
	}
	return o
}

// Lists are what the evidence has of transactions on lists.
func (e Evidence) Lists() listappend.History {
	var h listappend.History
	for _, run := range e.Runs {
		s := listappend.Session{Run: run.Header.Run, Whole: run.Ended}
		for _, o := range run.Operations {
			if len(o.Steps) > 0 {
				s.Transactions = append(s.Transactions,
					listappend.Transaction{Number: o.Number, Outcome: o.Outcome.ofList(), Steps: o.Steps})
			}
		}
		if len(s.Transactions) > 0 {
			h.Sessions = append(h.Sessions, s)
		}
	}
	if len(h.Sessions) == 0 {
		return h
	}
	for _, r := range e.Replicas {
		h.Replicas = append(h.Replicas, listappend.Copy{Server: r.Server, Lists: r.Lists})
	}
	for _, r := range e.Subscribers {
		if r.Moved {
			h.Open = append(h.Open,
				fmt.Sprintf("rows kept arriving at %s while they were read: their order is not known", r.Server))
			continue
		}
		if r.Lists == nil && !r.tellsRows() {
			continue // nothing of it says which transactions it has
		}
		one := listappend.Copy{Server: r.Server, Lists: r.Lists, Rows: map[listappend.ID]bool{}}
		for _, id := range r.Rows {
			one.Rows[listappend.ID(id)] = true
		}
		h.Subscribers = append(h.Subscribers, one)
	}
	return h
}

func (o Outcome) ofList() listappend.Outcome {
	switch o {
	case OK:
		return listappend.Committed
	case Fail:
		return listappend.Aborted
	}
	return listappend.Unknown
}
