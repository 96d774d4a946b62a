// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// awaitedDatabase is a declared database that comes from a Restore: nothing is made in its place, and what is there of
// it is not taken into the group yet.
type awaitedDatabase struct {
	name    string
	outcome conditions.Outcome
	// made is the Restore that is to be made for it, nil where there is one.
	made *v1alpha1.Restore
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
		w := awaitedDatabase{name: name}
		var waits bool
		if w.outcome, waits = awaits(d, declared, server, state); !waits && !exists {
			w.outcome, w.made, waits = comes(d, o, declared, server)
		}
		if waits {
			all = append(all, w)
		}
	}
	return all
}

// comes says how a database comes from its source of which the server on which it would be made has none: by a Restore
// that the group makes, once every server has said that it has none of the name. The Restore of a database stays as its
// record: while there is one no other is made. False for a database that is made empty, and for one that another server
// has: that is for a person to tell.
func comes(d Desired, o Observed, declared v1alpha1.Database, server v1alpha1.ServerName) (conditions.Outcome,
	*v1alpha1.Restore, bool) {
	if declared.From == nil || declared.From.Restore == nil || len(o.copies(d, string(declared.Name))) > 0 {
		return conditions.Outcome{}, nil, false
	}
	wanted := d.restoreOf(declared)
	for i := range d.Restores {
		if r := &d.Restores[i]; r.Name == wanted.Name {
			return cameNot(r, declared.Name, server), nil, true
		}
	}
	var silent []v1alpha1.ServerName
	for _, s := range o.silent(d) {
		if mode, _ := modeOf(d, s); mode != v1alpha1.ConfigurationOnly && !errors.Is(o.Instances[s].Err, sites.ErrSiteLost) {
			silent = append(silent, s)
		}
	}
	if len(silent) > 0 {
		return conditions.Unknown(v1alpha1.ReasonReplicaNotAnswering, fmt.Sprintf("database %s is restored once every "+
			"replica has said that it has none of the name; no answer from %s", declared.Name, o.why(silent))), nil, true
	}
	return conditions.InProgress(v1alpha1.ReasonRestoreAwaited, fmt.Sprintf("database %s comes from Restore %s, which is "+
		"being made", declared.Name, wanted.Name)), wanted, true
}

// cameNot is of a database that is not there, though the Restore from which it was to come is over.
func cameNot(r *v1alpha1.Restore, database v1alpha1.DatabaseName, server v1alpha1.ServerName) conditions.Outcome {
	if r.Status.Outcome == v1alpha1.RestoreSucceeded {
		return conditions.Stalled(v1alpha1.ReasonDatabaseMissing, fmt.Sprintf("Restore %s has restored database %s on %s, "+
			"and %s does not have it. No empty one is made in its place: delete that Restore to have it restored again", r.Name,
			database, host(r.Status.Server), host(server)))
	}
	return conditions.Stalled(v1alpha1.ReasonRestoreFailed, fmt.Sprintf("database %s is to come from Restore %s, which "+
		"has ended as %s (%s: %s). Remove the cause, and delete that Restore: another one is made then", database, r.Name,
		r.Status.Outcome, r.Status.Reason, r.Status.Message))
}

// restoreOf is the Restore from which a database comes. Its name follows from those of group and database, so that none
// is made twice.
func (d Desired) restoreOf(declared v1alpha1.Database) *v1alpha1.Restore {
	from := declared.From.Restore.DeepCopy()
	return &v1alpha1.Restore{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Group.Namespace, Name: restoreName(d.name(), string(declared.Name)),
			Labels: map[string]string{v1alpha1.LabelGroup: d.name()},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "AvailabilityGroup",
				Name: d.Group.Name, UID: d.Group.UID}},
		},
		Spec: v1alpha1.RestoreSpec{Source: from.Restored(), To: from.To, Target: v1alpha1.RestoreTarget{
			AvailabilityGroup: v1alpha1.ObjectName(d.Group.Name), Database: declared.Name}},
	}
}

// shownOfName is how much of a database's name is in the name of its Restore.
const shownOfName = 30

// restoreName has the names of group and database, as far as an object's name may, and a sum of the latter: databases
// whose names differ in what is left out have Restores of their own. Names that differ in case alone are one.
func restoreName(group, database string) string {
	lower := strings.ToLower(database)
	shown := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, lower)
	sum := sha256.Sum256([]byte(lower))
	return fmt.Sprintf("%s-%s-%x", group, shown[:min(len(shown), shownOfName)], sum[:4])
}

// awaits says what a database waits for that is in this state at the server, empty where it is not there; false when it
// does not wait.
func awaits(d Desired, declared v1alpha1.Database, server v1alpha1.ServerName,
	state string) (conditions.Outcome, bool) {
	var left, elsewhere *v1alpha1.Restore
	for i := range d.Restores {
		r := &d.Restores[i]
		switch {
		case !r.Spec.ToGroup(d.name(), declared.Name):
		case r.UnderWay() || r.DeletionTimestamp != nil:
			return conditions.InProgress(v1alpha1.ReasonRestoreAwaited, fmt.Sprintf("database %s comes from Restore %s (%s)",
				declared.Name, r.Name, progressOf(r))), true
		case state == "RESTORING" && r.Status.Server == server && r.Status.Outcome == v1alpha1.RestoreFailed &&
			r.Spec.Replace == "": // that one is restored under another name
			left = r
		case state == "" && r.Status.Server != "" && r.Status.Server != server && r.Status.Outcome != v1alpha1.RestoreRefused:
			elsewhere = r
		}
	}
	if elsewhere != nil {
		return conditions.Stalled(v1alpha1.ReasonDatabaseMissing, fmt.Sprintf("Restore %s ended as %s on %s, and %s has no "+
			"database %s. No empty one is made in its place: see what is on %s, restore it again, or delete that Restore",
			elsewhere.Name, elsewhere.Status.Outcome, host(elsewhere.Status.Server), host(server), declared.Name,
			host(elsewhere.Status.Server))), true
	}
	if left != nil {
		return conditions.Stalled(v1alpha1.ReasonRestoreFailed, fmt.Sprintf("database %s on %s is RESTORING, as Restore %s "+
			"left it (%s): drop it there, and restore it by another Restore", declared.Name, host(server), left.Name,
			left.Status.Message)), true
	}
	if state != "" && state != "ONLINE" {
		return conditions.Stalled(v1alpha1.ReasonDatabaseOutside, fmt.Sprintf("database %s on %s is %s and in no group: "+
			"recover it there, or drop it", declared.Name, host(server), state)), true
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
