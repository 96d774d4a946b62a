// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
)

// one is a server's sidecar: what it is told, and what it says, empty when it cannot be asked.
type one struct {
	Sidecars
	told []byte
	says string
}

func (s *one) Orders(context.Context, string, v1alpha1.ServerName) (map[string][]byte, error) {
	return map[string][]byte{orders.RestoreKey("back"): s.told}, nil
}

func (s *one) Part(_ context.Context, _ string, _ v1alpha1.ServerName, _ string, into any) error {
	if s.says == "" {
		return errors.New("nobody answers")
	}
	return json.Unmarshal([]byte(s.says), into)
}

// The mark goes once a sidecar of an earlier release has answered for a while and said nothing. When the Restore ended
// is no part of that: its sidecar may have been silent since, and may not have read its orders in the life it has now.
func TestAMarkGoesOnceASidecarWasSeenToSayNothing(t *testing.T) {
	const nothing, silent, told = "null", "", "told"
	type look struct {
		after time.Duration
		says  string
		takes bool
	}
	for name, looks := range map[string][]look{
		"it answers after a day of silence": {{0, silent, false}, {time.Minute, nothing, false},
			{time.Minute, nothing, false},
			{time.Minute - time.Second, nothing, false}, {time.Second, nothing, true}},
		"it was silent in between": {{0, nothing, false}, {time.Minute, silent, false}, {time.Minute, nothing, false},
			{time.Minute, nothing, false}, {time.Minute, nothing, true}},
		"it said something in between": {{0, nothing, false}, {time.Minute, `[{"uid": "u1"}]`, false},
			{time.Minute, nothing, false}, {time.Minute, nothing, false}, {time.Minute, nothing, true}},
		"nobody has looked in between": {{0, nothing, false}, {untoldFor, nothing, false}, {time.Minute, nothing, false},
			{time.Minute, nothing, true}},
		"the mark was not told yet": {{0, told, false}, {time.Minute, told, false}, {time.Minute, nothing, false},
			{time.Minute, nothing, false}, {time.Minute, nothing, true}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := noon
			sidecar := &one{}
			r := &Reconciler{sidecars: sidecar, now: func() time.Time { return now }}
			d := desired()
			d.Restore.Spec.DryRun = true // no engine is asked
			d.Restore.DeletionTimestamp = ptr.To(metav1.NewTime(noon.Add(-24 * time.Hour)))
			mark, err := orders.Restore{Name: "back", UID: "u1", Withdrawn: true}.Encode()
			g.Expect(err).NotTo(HaveOccurred())
			order, err := d.Order.Encode()
			g.Expect(err).NotTo(HaveOccurred())
			for i, l := range looks {
				now = now.Add(l.after)
				sidecar.told, sidecar.says = mark, l.says
				if l.says == told {
					sidecar.told, sidecar.says = order, nothing
				}
				d.Now = now
				o, err := r.observe(t.Context(), d)
				g.Expect(err).NotTo(HaveOccurred())
				p := planDelete(d, o)
				if l.takes {
					g.Expect(p.Steps).To(HaveExactElements(Tell{Server: "quisec"}), "look %d", i)
				} else {
					g.Expect(p.Steps).NotTo(ContainElement(Tell{Server: "quisec"}), "look %d", i)
				}
			}
			another := d
			another.Restore = d.Restore.DeepCopy()
			another.Restore.UID = "u2"
			now = now.Add(untoldFor)
			_, err = r.observe(t.Context(), another)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.untold.all).To(BeEmpty(), "nobody looks at it any more")
		})
	}
}
