// SPDX-License-Identifier: Apache-2.0

package replication_test

import (
	"errors"
	"testing"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// A server that says that its database is a replica's has answered. A person who named it in place of the group is
// told; where the group was named it is a former primary, and another one is asked.
func TestWhatWasNotAnswered(t *testing.T) {
	g := NewWithT(t)
	for _, number := range []int32{976, 983} {
		err := &mssql.Error{Server: "n3x-0", Class: mssql.Refused, Err: driver.Error{Number: number}}
		for instead, progress := range map[string]conditions.Progress{
			replication.NameTheGroup: conditions.Stuck, replication.NoSubscriber: conditions.Stuck, "": conditions.Working,
		} {
			o := replication.Unanswered(err, instead)
			g.Expect(o.Reason).To(Equal(v1alpha1.ReasonSecondary))
			g.Expect(o.Ready).To(Equal(metav1.ConditionFalse))
			g.Expect(o.Progress).To(Equal(progress), instead)
			g.Expect(o.Message).To(And(ContainSubstring(instead), ContainSubstring("n3x-0")))
		}
	}
	for _, err := range []error{&mssql.Error{Class: mssql.Refused, Err: driver.Error{Number: 229}},
		&mssql.Error{Class: mssql.Unreachable, Err: errors.New("no route to host")}} {
		o := replication.Unanswered(err, replication.NameTheGroup)
		g.Expect(o.Reason).To(Equal(v1alpha1.ReasonEngineNotAnswering))
		g.Expect(o.Ready).To(Equal(metav1.ConditionUnknown))
	}
}
