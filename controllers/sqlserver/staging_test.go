// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/reconcile"
)

// Each alarm of the staging quota has a condition of its own, which says what to do; without a quota there is none, and
// while the sidecar does not answer they stay.
func TestStagingInTheConditions(t *testing.T) {
	quota := func(used int64) *files.Staging {
		return &files.Staging{QuotaBytes: 100 * gigabyte, HighBytes: 90 * gigabyte, LowBytes: 60 * gigabyte,
			UsedBytes: used * gigabyte}
	}
	waits := quota(95)
	waits.WaitingBytes = 7 * gigabyte
	cleaned := quota(60)
	cleaned.Cleaned = &files.Cleaned{At: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), Bytes: 35 * gigabyte}
	blocked := quota(60)
	for _, name := range []string{"dublin", "quincy", "tukwila", "cork", "galway", "kerry"} {
		blocked.Blocked = append(blocked.Blocked, files.Blocked{Subscription: name, Snapshot: "20261120100000",
			Bytes: 50 * gigabyte, QuotaBytes: 100 * gigabyte, NeededBytes: 110*gigabyte + 1, WaitingBytes: 5})
	}
	all := []string{v1alpha1.ConditionStagingFilling, v1alpha1.ConditionStagingCleaned, v1alpha1.ConditionStagingBlocked}
	for name, c := range map[string]struct {
		staging *files.Staging
		was     string
		is      string
		says    []string
	}{
		"room":             {staging: quota(60)},
		"at the watermark": {staging: quota(90)},
		"above it": {staging: quota(95), is: v1alpha1.ConditionStagingFilling, says: []string{
			"mirrors take 95 % of the staging quota of 100.0 GiB", "Raise spec.transfers.stagingQuota of Site tukwila"}},
		"with what goes soon": {staging: waits, is: v1alpha1.ConditionStagingFilling, says: []string{
			"but for 7.0 GiB that no order names any more, which may go within an hour"}},
		"still near it":  {staging: quota(88), was: v1alpha1.ConditionStagingFilling, is: v1alpha1.ConditionStagingFilling},
		"below it again": {staging: quota(85), was: v1alpha1.ConditionStagingFilling},
		"cleaned": {staging: cleaned, is: v1alpha1.ConditionStagingCleaned, says: []string{
			"35.0 GiB that no order had named for an hour was removed at 2026-11-20T10:00:00Z"}},
		"blocked": {staging: blocked, is: v1alpha1.ConditionStagingBlocked, says: []string{
			"Subscription dublin: snapshot 20261120100000 of 53687091200 bytes does not fit into the staging quota",
			"to 111Gi at least", "; 2 more. They go on by themselves"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := Desired{Server: &v1alpha1.SQLServer{Spec: v1alpha1.SQLServerSpec{Site: "tukwila"}}}
			status := &v1alpha1.SQLServerStatus{}
			if c.was != "" {
				status.Conditions = []metav1.Condition{{Type: c.was, Status: metav1.ConditionTrue,
					Reason: v1alpha1.ReasonAboveHighWatermark}}
			}
			o := Observed{State: reconcile.Read(&agent.StateStatus{}), Staging: c.staging}
			tellStaging(d, o, status)
			for _, kind := range all {
				found := apimeta.FindStatusCondition(status.Conditions, kind)
				g.Expect(found).NotTo(BeNil(), kind)
				g.Expect(found.Status == metav1.ConditionTrue).To(Equal(kind == c.is), kind)
				for _, text := range c.says {
					if kind == c.is {
						g.Expect(found.Message).To(ContainSubstring(text))
					}
				}
			}
			g.Expect(tellStaging(d, o, status)).To(BeEmpty(), "what is so already is no event")

			kept := *status.DeepCopy()
			o.State, o.Staging = reconcile.NotRead[*agent.StateStatus](errors.New("no route")), nil
			g.Expect(tellStaging(d, o, status)).To(BeEmpty())
			g.Expect(*status).To(Equal(kept))
			o.State = reconcile.Read(&agent.StateStatus{})
			g.Expect(tellStaging(d, o, status)).To(BeEmpty())
			g.Expect(status.Conditions).To(BeEmpty())
		})
	}
}
