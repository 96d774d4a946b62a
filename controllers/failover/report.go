// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"reflect"
	"regexp"

	"k8s.io/apimachinery/pkg/runtime"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// reasonForm is what the API server takes as a condition's reason.
var reasonForm = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]{0,200}[A-Za-z0-9_])?$`)

// condition sets Ready, Reconciling and Stalled by phase and outcome, as kstatus reads them: a Failover that succeeded
// is Ready, one that ended otherwise is Stalled, since it changes no more.
func condition(f *v1alpha1.Failover, s *v1alpha1.FailoverStatus) []conditions.Change {
	message := s.Message
	if message == "" {
		message = string(s.Phase)
	}
	reason := s.Reason
	if !reasonForm.MatchString(reason) {
		// It came from an annotation.
		reason = v1alpha1.ReasonRequested
	}
	outcome := conditions.InProgress(reason, message)
	switch {
	case s.Phase != v1alpha1.FailoverCompleted:
	case s.Outcome == v1alpha1.FailoverSucceeded:
		outcome = conditions.Ready(reason, message)
	default:
		outcome = conditions.Stalled(reason, message)
	}
	return conditions.Set(&s.StatusBase, f.Generation, outcome)
}

// same compares statuses as the API server keeps them, where times have microseconds and no zone.
func same(a, b v1alpha1.FailoverStatus) bool { return reflect.DeepEqual(plain(a), plain(b)) }

func plain(s v1alpha1.FailoverStatus) map[string]any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
	if err != nil {
		// The type is of JSON's making.
		panic("convert a status: " + err.Error())
	}
	return content
}
