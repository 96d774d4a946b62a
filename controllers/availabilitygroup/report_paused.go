// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// electionsPaused says whether nobody becomes primary by itself: a group that was paused and forgotten serves until its
// primary is lost. It is not known while no voter answers, and there is nothing to say of a group that nobody votes
// for.
func electionsPaused(d Desired, o Observed) (metav1.Condition, bool) {
	c := metav1.Condition{
		Type:    v1alpha1.ConditionElectionsPaused,
		Status:  metav1.ConditionFalse,
		Reason:  v1alpha1.ReasonNotPaused,
		Message: fmt.Sprintf("failoverPolicy %s holds", d.Group.Spec.FailoverPolicy),
	}
	known, paused := false, false
	for _, v := range o.Voters {
		known = known || v.Err == nil
		paused = paused || v.Err == nil && v.Paused
	}
	switch {
	case !d.fenced():
		return c, false
	case d.Group.Spec.FailoverPolicy == v1alpha1.FailoverPaused:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonPausedByPolicy
		c.Message = "failoverPolicy is Paused: when the primary is lost nobody becomes primary by itself"
	case paused:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonPausedByRequest
		c.Message = fmt.Sprintf(
			"somebody has paused the group: when the primary is lost nobody becomes primary by itself. kubectl geosql resume "+
				"%s -n %s ends that",
			d.name(),
			d.Group.Namespace,
		)
	case !known:
		return c, false
	}
	return c, true
}
