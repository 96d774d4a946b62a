// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// Families of the manager that speak of the last Failover of a group that is completed: a switchover or failover that
// somebody asked for, or one that the agents carried out by themselves.
var (
	FailoverOutcome = gauge(
		"geosql_failover_last_outcome",
		"1 for how the last switchover or failover of a group ended (Succeeded, Refused, Failed, Superseded, Expired, "+
			"Unknown) and its cause (Switchover, Failover, Automatic, Restart; empty when it never began).",
		"namespace",
		"group",
		"outcome",
		"cause",
	)
	FailoverCompleted = gauge("geosql_failover_last_completion_timestamp_seconds",
		"When the outcome of the last switchover or failover of a group was seen.", "namespace", "group")
	FailoverSeconds = gauge(
		"geosql_failover_last_seconds",
		"From suspicion (of a switchover: from its beginning) until a moment of the last switchover or failover of a "+
			"group: Claimed, Fenced, Promoted, FirstWrite or AllSynchronized.",
		"namespace",
		"group",
		"until",
	)
	FailoverDataLoss = gauge(
		"geosql_failover_last_lost_databases",
		"In how many databases the last switchover or failover of a group may have lost acknowledged writes.",
		"namespace",
		"group",
	)
)

var failoverFamilies = []*Family{FailoverOutcome, FailoverCompleted, FailoverSeconds, FailoverDataLoss}

func (o *Objects) failovers(ctx context.Context, s Sink) error {
	var list v1alpha1.FailoverList
	if err := o.hub.List(ctx, &list); err != nil {
		return err
	}
	type key struct{ namespace, group string }
	last := map[key]*v1alpha1.Failover{}
	for i := range list.Items {
		f := &list.Items[i]
		if f.Status.Completed == nil ||
			f.Spec.Kind != v1alpha1.FailoverSwitchover && f.Spec.Kind != v1alpha1.FailoverFailover {
			continue
		}
		k := key{f.Namespace, string(f.Spec.Group)}
		if before := last[k]; before == nil || before.Status.Completed.Before(f.Status.Completed) {
			last[k] = f
		}
	}
	for k, f := range last {
		s.Set(FailoverOutcome, 1, k.namespace, k.group, string(f.Status.Outcome), f.Status.Cause)
		s.Set(FailoverCompleted, float64(f.Status.Completed.Unix()), k.namespace, k.group)
		lost := 0
		if f.Status.Lost != nil {
			lost = len(f.Status.Lost.Databases)
		}
		s.Set(FailoverDataLoss, float64(lost), k.namespace, k.group)
		s.timeline(k.namespace, k.group, f.Status.Timeline)
	}
	return nil
}

func (s Sink) timeline(namespace, group string, t *v1alpha1.FailoverTimeline) {
	if t == nil || t.Suspected == nil {
		return
	}
	for until, at := range map[string]*metav1.MicroTime{
		"Claimed": t.Claimed, "Fenced": t.Fenced, "Promoted": t.Promoted, "FirstWrite": t.FirstWrite,
		"AllSynchronized": t.AllSynchronized,
	} {
		if at != nil {
			s.Set(FailoverSeconds, max(0, at.Sub(t.Suspected.Time).Seconds()), namespace, group, until)
		}
	}
}
