// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// A distribution database that msdb lists no more is not made over: that msdb was restored, and what agents have in the
// database is still there. One that was begun and never prepared is gone on with.
func TestADistributionDatabaseThatMsdbDoesNotList(t *testing.T) {
	for name, c := range map[string]struct {
		there bool
		owner replication.Owner
		err   error
		ready metav1.ConditionStatus
		says  string
		makes bool
	}{
		"no database": {makes: true},
		"begun":       {there: true, makes: true},
		"prepared": {there: true, owner: replication.Owner{User: "agents"},
			ready: metav1.ConditionFalse, says: "msdb"},
		"nobody could look": {there: true, err: errors.New("i/o timeout"),
			ready: metav1.ConditionUnknown, says: "i/o timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := declared()
			state := &mssql.ReplicationServer{HasDistributor: true, Databases: map[string]mssql.ReplicationDatabase{}}
			if c.there {
				state.Databases[d.System.Database] = mssql.ReplicationDatabase{Name: d.System.Database, State: "ONLINE"}
			}
			o := Observed{Servers: map[v1alpha1.ServerName]replication.Server{distributor: {State: state}}, Owner: c.owner,
				OwnerErr: c.err}
			var p replication.Plan
			g.Expect(planDatabase(d, o, &p)).To(BeFalse())
			if c.makes {
				g.Expect(p.Steps).To(HaveLen(1))
				return
			}
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Ready).To(Equal(c.ready))
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
			if c.ready == metav1.ConditionFalse {
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonDistributorConflict))
			}
		})
	}
}
