// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

func TestTheFirstBackupPolicyOfATarget(t *testing.T) {
	g := NewWithT(t)
	group := v1alpha1.ServerOrGroup{AvailabilityGroup: "content"}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	policy := func(name string, after time.Duration, of v1alpha1.ServerOrGroup) v1alpha1.BackupPolicy {
		return v1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Name: name,
			CreationTimestamp: metav1.Time{Time: noon.Add(after)}}, Spec: v1alpha1.BackupPolicySpec{Target: of}}
	}
	all := []v1alpha1.BackupPolicy{policy("c", time.Hour, group), policy("b", 0, group), policy("a", time.Minute, group),
		policy("other", -time.Hour, v1alpha1.ServerOrGroup{Server: "content"})}
	g.Expect(v1alpha1.FirstBackupPolicy(all, group).Name).To(Equal("b"))
	all[1].DeletionTimestamp = &metav1.Time{Time: noon}
	g.Expect(v1alpha1.FirstBackupPolicy(all, group).Name).To(Equal("b"), "its servers may be at it still")
	g.Expect(v1alpha1.FirstBackupPolicy(all[:1], group).Name).To(Equal("c"))
	g.Expect(v1alpha1.FirstBackupPolicy(nil, group)).To(BeNil())
}
