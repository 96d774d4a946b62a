// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"geosql.dev/operator/api/v1alpha1"
)

// setUpFor is how long a log reader keeps the right to set subscribers up without taking away what the distributor has
// for that. Nothing that is left then waits for it: it has passed over the log, or its tables are from before.
const setUpFor = time.Hour

// awaitsLogReader tells that a Subscription waits for the log reader before it is registered.
func awaitsLogReader(s *v1alpha1.Subscription) bool {
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	return s.DeletionTimestamp == nil && ready != nil && ready.Reason == v1alpha1.ReasonWaitingForLogReader
}

// setsUp tells that the database's log reader has to be able to set subscribers up: one is about to be registered
// without a snapshot, or to a new article so; or the log reader has not come to one that is. One that has the right
// keeps it until then. One that has not gets it when it fails meanwhile, which is how one fails that lacks it.
func setsUp(d Desired, o Observed) bool {
	switch {
	case foreignLogReader(d, o):
		return false
	case len(d.Awaiting) > 0 || subscribesKept(d, o):
		return true
	case o.At.Pending == 0:
		return false
	case d.System.SetsUp(o.LogReaderJob):
		return o.LogReaderJob.Started < setUpFor
	}
	return o.At.LogReader != nil && o.At.LogReader.Failure != 0
}

// subscribesKept tells that subscribers that were registered without a copy are about to be subscribed to articles that
// came after them (planSubscribers).
func subscribesKept(d Desired, o Observed) bool {
	if o.Database.Publication == nil {
		return false
	}
	all, held := subscribing(d, o)
	return slices.ContainsFunc(all, func(who lacking) bool {
		return !o.copiesTo(d, who.receiver) && (!held || !who.pull && !stands(d, o, who))
	})
}

// beingSetUp says what is done with the log reader.
func beingSetUp(d Desired, o Observed) string {
	const base = "the log reader of %s is being set up"
	now, then := d.System.SetsUp(o.LogReaderJob), setsUp(d, o)
	switch {
	case then && !now:
		return fmt.Sprintf(base+" with login %s, in sysadmin on %s, until it has set up who begins without a snapshot",
			d.database(), d.System.SetUpLogin, d.System.Host())
	case now && !then:
		return fmt.Sprintf(base+" without login %s, which is in sysadmin on %s: it has set up who began without a snapshot",
			d.database(), d.System.SetUpLogin, d.System.Host())
	}
	return fmt.Sprintf(base, d.database())
}

// raised says that the log reader has the right now, as the end of a sentence; empty when it has not.
func raised(d Desired, o Observed) string {
	if !d.System.SetsUp(o.LogReaderJob) {
		return ""
	}
	return fmt.Sprintf("; its log reader runs with login %s, in sysadmin on %s, until it has set up who begins without a "+
		"snapshot", d.System.SetUpLogin, d.System.Host())
}
