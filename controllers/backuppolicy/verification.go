// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/reconcile"
)

// verification is what a person has asked to have read back, until it is: nil for nothing. A request for another object
// of the name, as of before a restore, is none.
func (d Desired) verification() *orders.BackupVerification {
	request := d.Policy.Annotations[v1alpha1.VerifyBackupsAnnotation]
	text, own := strings.CutPrefix(request, string(d.Policy.UID)+"/")
	since, err := time.Parse(time.RFC3339Nano, text)
	was := d.Policy.Status.Verification
	if !own || err != nil || was != nil && was.Request == request && was.Completed != nil {
		return nil
	}
	return &orders.BackupVerification{Request: request, Since: since}
}

// verified is how far the request is. It is done once of each store a server says so that has the request: the one that
// reads back, or one that has seen what that has marked.
func verified(d Desired, o Observed) *v1alpha1.BackupVerificationStatus {
	asked := d.Order.Verification
	if asked == nil {
		return d.Policy.Status.Verification
	}
	status := &v1alpha1.BackupVerificationStatus{Request: asked.Request}
	var left int
	for _, name := range d.Policy.Spec.Stores {
		least := leastLeft(d, o, string(name), asked.Request)
		if least == nil {
			return status
		}
		left += least.Left
		status.LeftBytes += least.LeftBytes
		status.Damaged += reconcile.Count(least.Damaged)
	}
	count := reconcile.Count(left)
	status.Left = &count
	if left == 0 {
		status.Completed = &metav1.Time{Time: o.Now.Truncate(time.Second)}
	}
	return status
}

// leastLeft is what the server says that knows of the least that is left of a store; nil where none says anything.
func leastLeft(d Desired, o Observed, store, request string) (least *backups.VerificationStatus) {
	for _, name := range d.Servers {
		says, err := o.Servers[name].Says.Get()
		if err != nil || says == nil {
			continue
		}
		for _, s := range says.Stores {
			v := s.Verification
			if s.Name == store && v != nil && v.Request == request && (least == nil || v.Left < least.Left) {
				least = v
			}
		}
	}
	return least
}
