// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// takes tells that a policy has a database of its target: what it says of the log holds for it.
func takes(p *v1alpha1.BackupPolicy, database string) bool {
	return len(p.Spec.Databases) == 0 || slices.ContainsFunc(p.Spec.Databases, func(name v1alpha1.DatabaseName) bool {
		return strings.EqualFold(string(name), database)
	})
}

// tellLog has the conditions say whether the log is kept, and nothing of it where the database came in another way.
func tellLog(d Desired, o Observed, status *v1alpha1.SubscriptionStatus) (changes []conditions.Change) {
	if !replication.BackupBrought(d.Subscription) {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionLogTruncated)
	}
	if c := logKept(d, o); c != nil {
		if change := conditions.SetOne(&status.StatusBase, d.Subscription.Generation, *c); change != nil {
			changes = append(changes, *change)
		}
	}
	return changes
}

// logKept says whether the log of a database that began with a backup grows without end; nil where that is not known,
// or the database began in another way. The operator changes no recovery model: a person may be about to have backups.
func logKept(d Desired, o Observed) *metav1.Condition {
	at := o.Servers[d.Subscriber].State
	if at == nil || !replication.BackupBrought(d.Subscription) {
		return nil
	}
	database := at.Database(d.database())
	if database == nil || database.State != "ONLINE" {
		return nil
	}
	c := metav1.Condition{Type: v1alpha1.ConditionLogTruncated, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonLogTruncated}
	switch {
	case database.RecoveryModel == "SIMPLE":
		c.Message = fmt.Sprintf("database %s on %s is in the SIMPLE recovery model", d.database(), d.host())
	case d.LogPolicy != "":
		c.Message = fmt.Sprintf("BackupPolicy %s says how the log of %s on %s is backed up", d.LogPolicy, d.database(),
			d.host())
	case !database.LogChain:
		c.Message = fmt.Sprintf("database %s on %s has no full backup yet, before which its log is truncated",
			d.database(), d.host())
	default:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonLogGrows
		c.Message = fmt.Sprintf("database %[1]s on %[2]s came from a backup in the %[3]s recovery model, and no BackupPolicy"+
			" has it: its log grows until the volume is full, and then nothing is delivered any more. Declare a BackupPolicy "+
			"for SQLServer %[4]s (log.mode None where something else backs the log up), or, where nobody needs backups of "+
			"it, ALTER DATABASE %[5]s SET RECOVERY SIMPLE there", d.database(), d.host(), database.RecoveryModel,
			d.Subscriber, tsql.Identifier(d.database()))
	}
	return &c
}
