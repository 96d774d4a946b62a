// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// awaitedDatabase is a declared database that comes from a Restore: nothing is made in its place, and what is there of
// it is not taken into the group yet.
type awaitedDatabase struct {
	name    string
	outcome conditions.Outcome
}

type awaitedList []awaitedDatabase

// of finds a database, nil when it is not awaited.
func (a awaitedList) of(name string) *awaitedDatabase {
	for i := range a {
		if strings.EqualFold(a[i].name, name) {
			return &a[i]
		}
	}
	return nil
}

// outcome is what a person has to know: of one that waits for a person, if there is one.
func (a awaitedList) outcome() conditions.Outcome {
	for _, w := range a {
		if w.outcome.Progress == conditions.Stuck {
			return w.outcome
		}
	}
	return a[0].outcome
}

// awaitedDatabases are those that the group does not have and that come from Restores, by what the server says on which
// they are, or would be, made.
func awaitedDatabases(d Desired, o Observed) (all awaitedList) {
	server := o.primary(d)
	if !o.exists(d) {
		server = d.Group.Spec.InitialPrimary
	}
	i, asked := o.Instances[server]
	if server == "" || !asked || i.Err != nil {
		return nil
	}
	for _, declared := range d.Group.Spec.Databases {
		name := string(declared.Name)
		have, exists := database(i.Mirroring, name)
		if have.InGroup || i.Group != nil && contains(i.Group.Databases, name) {
			continue
		}
		var state string
		if exists {
			state = have.State
		}
		if outcome, waits := awaits(d, declared, server, state); waits {
			all = append(all, awaitedDatabase{name, outcome})
		}
	}
	return all
}

// awaits says what a database waits for that is in this state at the server, empty where it is not there; false when it
// does not wait.
func awaits(d Desired, declared v1alpha1.Database, server v1alpha1.ServerName,
	state string) (conditions.Outcome, bool) {
	var left *v1alpha1.Restore
	for i := range d.Restores {
		r := &d.Restores[i]
		switch {
		case !r.Spec.ToGroup(d.name(), declared.Name):
		case r.UnderWay() || r.DeletionTimestamp != nil:
			return conditions.InProgress(v1alpha1.ReasonRestoreAwaited, fmt.Sprintf("database %s comes from Restore %s (%s)",
				declared.Name, r.Name, progressOf(r))), true
		case state == "RESTORING" && r.Status.Server == server && r.Status.Outcome == v1alpha1.RestoreFailed:
			left = r
		}
	}
	if left != nil {
		return conditions.Stalled(v1alpha1.ReasonRestoreFailed, fmt.Sprintf("database %s on %s is RESTORING, as Restore %s "+
			"left it (%s): drop it there, and restore it by another Restore", declared.Name, host(server), left.Name,
			left.Status.Message)), true
	}
	return conditions.Outcome{}, false
}

// progressOf is how far a Restore is, in its own words.
func progressOf(r *v1alpha1.Restore) string {
	for _, c := range r.Status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			return c.Message
		}
	}
	return "new"
}

// without is what is declared but for the databases that are awaited: what the group has says nothing of those.
func (a awaitedList) without(d Desired) Desired {
	if len(a) == 0 {
		return d
	}
	group := d.Group.DeepCopy()
	group.Spec.Databases = nil
	for _, declared := range d.Group.Spec.Databases {
		if a.of(string(declared.Name)) == nil {
			group.Spec.Databases = append(group.Spec.Databases, declared)
		}
	}
	d.Group = group
	return d
}
