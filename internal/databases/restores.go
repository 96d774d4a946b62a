// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"crypto/sha256"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// Declarer is a group or a server that declares databases, with the Restores that are to bring them.
type Declarer struct {
	// Object is its metadata, and Group says that it is an AvailabilityGroup; else it is a SQLServer.
	Object *metav1.ObjectMeta
	Group  bool
	// Restores of its namespace that are to bring a database to it, also those that are being withdrawn: an agent may be
	// at one still.
	Restores []v1alpha1.Restore
}

// Awaited is a declared database that comes from a Restore: nothing is made in its place, and what is there of it is
// not taken up yet.
type Awaited struct {
	Name    string
	Outcome conditions.Outcome
	// Made is the Restore that is to be made for it, nil where there is one.
	Made *v1alpha1.Restore
}

// AwaitedList is of one declarer.
type AwaitedList []Awaited

// Of finds a database, nil when it is not awaited.
func (a AwaitedList) Of(name string) *Awaited {
	for i := range a {
		if strings.EqualFold(a[i].Name, name) {
			return &a[i]
		}
	}
	return nil
}

// Stuck is what a person has to do something about; false when nothing waits for one.
func (a AwaitedList) Stuck() (conditions.Outcome, bool) {
	for _, w := range a {
		if w.Outcome.Progress == conditions.Stuck {
			return w.Outcome, true
		}
	}
	return conditions.Outcome{}, false
}

// Outcome is what a person has to know: of one that waits for a person, if there is one. The list has one at least.
func (a AwaitedList) Outcome() conditions.Outcome {
	if stuck, is := a.Stuck(); is {
		return stuck
	}
	return a[0].Outcome
}

// Target is that of the declarer's Restores, but for the database.
func (d Declarer) Target() v1alpha1.RestoreTarget {
	if d.Group {
		return v1alpha1.RestoreTarget{AvailabilityGroup: v1alpha1.ObjectName(d.Object.Name)}
	}
	return v1alpha1.RestoreTarget{Server: v1alpha1.ServerName(d.Object.Name)}
}

// Awaits says what a declared database waits for that is in this state at the server, empty where it is not there;
// false when no Restore keeps it.
func (d Declarer) Awaits(declared v1alpha1.Database, server v1alpha1.ServerName,
	state string) (conditions.Outcome, bool) {
	var left, aside, elsewhere *v1alpha1.Restore
	for i := range d.Restores {
		r := &d.Restores[i]
		switch {
		case !r.Spec.Brings(declared.Name, d.Target()):
		case r.UnderWay() || r.DeletionTimestamp != nil:
			return conditions.InProgress(v1alpha1.ReasonRestoreAwaited, fmt.Sprintf("database %s comes from Restore %s (%s)",
				declared.Name, r.Name, progressOf(r))), true
		case state == "RESTORING" && r.Status.Server == server && r.Status.Outcome == v1alpha1.RestoreFailed &&
			r.Spec.Replace == "": // that one is restored under another name
			left = r
		case state == "" && r.Status.Outcome == v1alpha1.RestoreFailed && r.Status.Replaced != nil:
			aside = r
		case state == "" && r.Status.Server != "" && r.Status.Server != server && r.Status.Outcome != v1alpha1.RestoreRefused:
			elsewhere = r
		}
	}
	if aside != nil {
		return conditions.Stalled(v1alpha1.ReasonDatabaseMissing, fmt.Sprintf("Restore %s ended as %s while database %s "+
			"made way, which is %s on %s now. No empty one is made in its place: rename it to %s there, restore it again, or "+
			"delete that Restore", aside.Name, aside.Status.Outcome, declared.Name, aside.Status.Replaced.Database,
			host(aside.Status.Server), declared.Name)), true
	}
	if elsewhere != nil {
		return conditions.Stalled(v1alpha1.ReasonDatabaseMissing, fmt.Sprintf("Restore %s ended as %s on %s, and %s has no "+
			"database %s. No empty one is made in its place: see what is on %s, restore it again, or delete that Restore",
			elsewhere.Name, elsewhere.Status.Outcome, host(elsewhere.Status.Server), host(server), declared.Name,
			host(elsewhere.Status.Server))), true
	}
	if left != nil {
		remedy := "drop it there, and restore it by another Restore"
		if declared.From != nil && left.Name == d.restoreName(string(declared.Name)) {
			remedy = "drop it there, then delete that Restore: another one is made then"
		}
		return conditions.Stalled(v1alpha1.ReasonRestoreFailed, fmt.Sprintf("database %s on %s is RESTORING, as Restore %s "+
			"left it (%s): %s", declared.Name, host(server), left.Name, left.Status.Message, remedy)), true
	}
	return conditions.Outcome{}, false
}

// Comes says how a declared database comes from its source that is not there: by the Restore that is returned, which
// the declarer makes once it knows that nobody has one of the name. The Restore of a database stays as its record:
// while there is one no other is made. False for a database that is made empty.
func (d Declarer) Comes(declared v1alpha1.Database, server v1alpha1.ServerName) (conditions.Outcome, *v1alpha1.Restore,
	bool) {
	if declared.From == nil || declared.From.Restore == nil {
		return conditions.Outcome{}, nil, false
	}
	wanted := d.RestoreOf(declared)
	for i := range d.Restores {
		if r := &d.Restores[i]; r.Name == wanted.Name {
			return cameNot(r, declared.Name, server), nil, true
		}
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

// RestoreOf is the Restore from which a database comes that has a source. Its name follows from those of declarer and
// database, so that none is made twice.
func (d Declarer) RestoreOf(declared v1alpha1.Database) *v1alpha1.Restore {
	from := declared.From.Restore.DeepCopy()
	label, kind := v1alpha1.LabelServer, "SQLServer"
	if d.Group {
		label, kind = v1alpha1.LabelGroup, "AvailabilityGroup"
	}
	target := d.Target()
	target.Database = declared.Name
	return &v1alpha1.Restore{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Object.Namespace, Name: d.restoreName(string(declared.Name)),
			Labels: map[string]string{label: d.Object.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind,
				Name: d.Object.Name, UID: d.Object.UID}},
		},
		Spec: v1alpha1.RestoreSpec{Source: from.Restored(), To: from.To, Target: target, Keys: from.Keys},
	}
}

// shownOfName is how much of a database's name is in the name of its Restore.
const shownOfName = 30

// restoreName has the names of declarer and database, as far as an object's name may, and a sum of the latter:
// databases whose names differ in what is left out have Restores of their own, and so has a server that is named as a
// group is. Names that differ in case alone are one.
func (d Declarer) restoreName(database string) string {
	lower := strings.ToLower(database)
	shown := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, lower)
	summed := lower
	if !d.Group {
		summed = "server/" + lower
	}
	sum := sha256.Sum256([]byte(summed))
	return fmt.Sprintf("%s-%s-%x", d.Object.Name, shown[:min(len(shown), shownOfName)], sum[:4])
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

// host is the instance's name; of no server it is empty.
func host(server v1alpha1.ServerName) string {
	return credentials.HostName(server)
}
