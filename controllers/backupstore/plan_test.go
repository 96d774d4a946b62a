// SPDX-License-Identifier: Apache-2.0

package backupstore

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

func TestPlan(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tried := func(before time.Duration, err error) *Attempt { return &Attempt{At: noon.Add(-before), Err: err} }
	away := errors.New("connection refused")
	for _, row := range []struct {
		why     string
		missing string
		tried   *Attempt
		tries   bool
		reason  string
		status  metav1.ConditionStatus
	}{
		{why: "at first", tries: true, reason: v1alpha1.ReasonStoreTesting, status: metav1.ConditionFalse},
		{why: "it answered", tried: tried(time.Minute, nil), reason: v1alpha1.ReasonStoreReady, status: metav1.ConditionTrue},
		{why: "it answered long ago", tried: tried(tryEvery, nil), tries: true, reason: v1alpha1.ReasonStoreReady,
			status: metav1.ConditionTrue},
		{why: "it did not", tried: tried(time.Second, away), reason: v1alpha1.ReasonStoreUnreachable,
			status: metav1.ConditionUnknown},
		{why: "it did not, a while ago", tried: tried(tryAgain, away), tries: true, reason: v1alpha1.ReasonStoreUnreachable,
			status: metav1.ConditionUnknown},
		{why: "a Secret is missing", missing: "Secret keys is not there", reason: v1alpha1.ReasonReferenceMissing,
			status: metav1.ConditionFalse},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			d := Desired{Store: &v1alpha1.BackupStore{}, Missing: row.missing}
			p := plan(d, Observed{Now: noon, Tried: row.tried})
			g.Expect(p.Outcome.Reason).To(Equal(row.reason))
			g.Expect(p.Outcome.Ready).To(Equal(row.status))
			g.Expect(len(p.Steps) > 0).To(Equal(row.tries))
		})
	}
	g := NewWithT(t)
	p := planDelete(Desired{Store: &v1alpha1.BackupStore{}, Policies: []string{"nightly"}}, Observed{})
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(ContainSubstring("nightly"))
	g.Expect(planDelete(Desired{Store: &v1alpha1.BackupStore{}}, Observed{}).Done).To(BeTrue())
}
