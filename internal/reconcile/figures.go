// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Count is a number of things as a status has it, 2^30 at most.
func Count(n int) int32 { return int32(min(n, 1<<30)) } //nolint:gosec // it is bounded

// Moment is a time as a status has it; nil for none.
func Moment(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	at := metav1.NewTime(t)
	return &at
}
