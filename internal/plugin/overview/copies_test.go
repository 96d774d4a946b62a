// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
)

// A copy that is under way has a line with its phase, and a bar while it is transferred; one that has come, what it
// took, for a while.
func TestCopiesOfSubscribers(t *testing.T) {
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	begun := metav1.NewTime(now.Add(-90 * time.Second))
	for name, c := range map[string]struct {
		copy  *v1alpha1.SubscriptionCopy
		since time.Duration
		says  string
	}{
		"none": {nil, 0, ""},
		"a snapshot": {&v1alpha1.SubscriptionCopy{Phase: v1alpha1.CopySnapshot, ExpectedSeconds: ptr.To[int64](61)}, 0,
			"copy of dublin: snapshot for 1m30s; at least 1m1s on the way were expected"},
		"not counted": {&v1alpha1.SubscriptionCopy{Phase: v1alpha1.CopyTransfer}, 0, "copy of dublin: transfer for 1m30s"},
		"a transfer": {&v1alpha1.SubscriptionCopy{Phase: v1alpha1.CopyTransfer, Snapshot: "20261120", Bytes: 2 << 20,
			PresentBytes: 1 << 20, BytesPerSecond: 2048, RemainingSeconds: ptr.To[int64](512),
			SnapshotSeconds: ptr.To[int64](3)},
			0, "copy of dublin: [##########..........] 50 %, transfer for 1m30s; snapshot 20261120: 1048576 of 2097152 bytes " +
				"are at the subscriber's site, 2.0 KiB a second, about 8m32s to go; snapshot 3s; 2.0 MiB"},
		"it is applied": {&v1alpha1.SubscriptionCopy{Phase: v1alpha1.CopyApply, Bytes: 2 << 20, ReusedBytes: 1 << 20,
			TransferSeconds: ptr.To[int64](40)}, 0,
			"copy of dublin: apply for 1m30s; transfer 40s; 2.0 MiB, of which 1.0 MiB were there"},
		"done": {&v1alpha1.SubscriptionCopy{Phase: v1alpha1.CopyDone, ApplySeconds: ptr.To[int64](5)}, 0,
			"copy of dublin: done 1m30s ago; apply 5s"},
		"long done": {&v1alpha1.SubscriptionCopy{Phase: v1alpha1.CopyDone}, time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "dublin"}}
			if x.Status.Copy = c.copy; c.copy != nil {
				c.copy.PhaseStarted = &begun
			}
			var out strings.Builder
			s := &Snapshot{Subscriptions: []v1alpha1.Subscription{x}}
			s.writeCopies(&out, now.Add(c.since))
			NewWithT(t).Expect(strings.Join(strings.Fields(out.String()), " ")).To(Equal(c.says))
		})
	}
}
