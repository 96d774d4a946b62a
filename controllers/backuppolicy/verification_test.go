// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/reconcile"
)

const asked = "u1/2026-03-01T11:50:00Z"

// What a person has asked to have read back is told to the agents until it is done, and not again.
func TestWhichVerificationIsTold(t *testing.T) {
	for _, row := range []struct {
		why, annotation string
		before          *v1alpha1.BackupVerificationStatus
		want            *orders.BackupVerification
	}{
		{why: "nothing was asked for"},
		{why: "it was", annotation: asked, want: &orders.BackupVerification{Request: asked,
			Since: noon.Add(-10 * time.Minute)}},
		{why: "of another object of the name", annotation: "u0/2026-03-01T11:50:00Z"},
		{why: "without a time", annotation: "u1/now"},
		{why: "it is under way", annotation: asked, before: &v1alpha1.BackupVerificationStatus{Request: asked},
			want: &orders.BackupVerification{Request: asked, Since: noon.Add(-10 * time.Minute)}},
		{why: "it is done", annotation: asked, before: &v1alpha1.BackupVerificationStatus{Request: asked,
			Completed: reconcile.Moment(noon)}},
		{why: "another is", annotation: asked, before: &v1alpha1.BackupVerificationStatus{Request: "u1/former",
			Completed: reconcile.Moment(noon)}, want: &orders.BackupVerification{Request: asked,
			Since: noon.Add(-10 * time.Minute)}},
	} {
		t.Run(row.why, func(t *testing.T) {
			d := desired()
			d.Policy.UID, d.Policy.Status.Verification = "u1", row.before
			d.Policy.Annotations = map[string]string{v1alpha1.VerifyBackupsAnnotation: row.annotation}
			NewWithT(t).Expect(d.verification()).To(Equal(row.want))
		})
	}
}

// A request is done once of each store a server says so that has it.
func TestHowFarAVerificationIs(t *testing.T) {
	type left = backups.VerificationStatus
	for _, row := range []struct {
		why            string
		tukpub, quisec map[string]*left
		want           v1alpha1.BackupVerificationStatus
	}{
		{why: "nobody tells"},
		{why: "of one store alone", tukpub: map[string]*left{"near": {Request: asked}}},
		{why: "of another request", tukpub: map[string]*left{"near": {Request: "u1/former"}, "far": {Request: asked}}},
		{why: "something is left", tukpub: map[string]*left{"near": {Request: asked, Left: 2, LeftBytes: 7},
			"far": {Request: asked, Left: 3, LeftBytes: 10, Damaged: 1}},
			want: v1alpha1.BackupVerificationStatus{Left: ptr.To[int32](5), LeftBytes: 17, Damaged: 1}},
		{why: "who has done more knows better", tukpub: map[string]*left{"near": {Request: asked, Left: 2, LeftBytes: 7},
			"far": {Request: asked}}, quisec: map[string]*left{"near": {Request: asked, Damaged: 1}},
			want: v1alpha1.BackupVerificationStatus{Left: ptr.To[int32](0), Damaged: 1,
				Completed: &metav1.Time{Time: noon}}},
	} {
		t.Run(row.why, func(t *testing.T) {
			d, o := desired(), observed(t, noon)
			d.Policy.Spec.Stores = []v1alpha1.ObjectName{"near", "far"}
			d.Order.Verification = &orders.BackupVerification{Request: asked}
			for name, all := range map[v1alpha1.ServerName]map[string]*left{"tukpub": row.tukpub, "quisec": row.quisec} {
				says, _ := o.Servers[name].Says.Get()
				for store, v := range all {
					says.Stores = append(says.Stores, backups.StoreStatus{Name: store, Verification: v})
				}
			}
			row.want.Request = asked
			NewWithT(t).Expect(reported(d, o).Verification).To(Equal(&row.want))
		})
	}
	g := NewWithT(t)
	d, o := desired(), observed(t, noon)
	d.Policy.Status.Verification = &v1alpha1.BackupVerificationStatus{Request: asked, Completed: reconcile.Moment(noon)}
	g.Expect(reported(d, o).Verification).To(Equal(d.Policy.Status.Verification), "one that is done is remembered")
}
