// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// plan has no steps: whoever carries out the policy takes the backup. It says how far that is, and is pure.
func plan(d Desired, _ Observed) (p reconcile.Plan) {
	p.Outcome = outcome(d)
	return p
}

func outcome(d Desired) conditions.Outcome {
	databases := databases(d)
	switch refused := refusal(d); {
	case d.Backup.Status.Outcome == v1alpha1.BackupSucceeded:
		return conditions.Ready(v1alpha1.ReasonBackupTaken, taken(databases))
	case d.Backup.Status.Outcome == v1alpha1.BackupFailed:
		return conditions.Stalled(v1alpha1.ReasonBackupDamaged, damage(databases)+": declare another Backup")
	case d.Policy == nil:
		return conditions.InProgress(v1alpha1.ReasonReferenceMissing, fmt.Sprintf("there is no BackupPolicy %s",
			d.Backup.Spec.Policy))
	case refused != "":
		return conditions.Stalled(v1alpha1.ReasonBackupRefused, refused)
	case len(databases) == 0:
		return conditions.InProgress(v1alpha1.ReasonBackupTaking, fmt.Sprintf("BackupPolicy %s has told of no database yet",
			d.Policy.Name))
	}
	switch ended(d, databases) {
	case v1alpha1.BackupSucceeded:
		return conditions.Ready(v1alpha1.ReasonBackupTaken, taken(databases))
	case v1alpha1.BackupFailed:
		return conditions.Stalled(v1alpha1.ReasonBackupDamaged, damage(databases)+": declare another Backup")
	}
	return conditions.InProgress(v1alpha1.ReasonBackupTaking, strings.Join(open(d, databases), "; "))
}

// refusal says why nothing is taken for a Backup; empty when something is. What was begun is not refused any more, and
// what was taken is not.
func refusal(d Desired) string {
	if d.Policy == nil || len(d.Backup.Status.Databases) > 0 || d.Backup.Spec.Record != nil {
		return ""
	}
	if d.Backup.Spec.Type == v1alpha1.BackupDifferential && d.Policy.Spec.Target.Server == "" &&
		d.Policy.Spec.Replica != v1alpha1.BackupAtPrimary {
		return fmt.Sprintf("BackupPolicy %s has secondaries take full backups, which are copies and no base of a "+
			"differential: it needs replica Primary", d.Policy.Name)
	}
	var unknown []string
	for _, name := range d.Backup.Spec.Databases {
		if len(d.Policy.Status.Databases) > 0 && !slices.ContainsFunc(d.Policy.Status.Databases,
			func(b v1alpha1.BackedUpDatabase) bool { return strings.EqualFold(string(b.Name), string(name)) }) {
			unknown = append(unknown, string(name))
		}
	}
	if len(unknown) > 0 {
		return fmt.Sprintf("BackupPolicy %s knows of no database %s", d.Policy.Name, strings.Join(unknown, ", "))
	}
	return ""
}

// databases are those of a Backup with what was taken of each. They are decided when the policy has told of its own:
// one that is made afterwards is none of it. That of a record is known.
func databases(d Desired) []v1alpha1.BackupOfDatabase {
	all := slices.Clone(d.Backup.Status.Databases)
	if d.Policy == nil || d.Backup.Status.Outcome != "" {
		return all
	}
	switch {
	case len(all) > 0:
	case d.Backup.Spec.Record != nil:
		for _, name := range d.Backup.Spec.Databases {
			all = append(all, v1alpha1.BackupOfDatabase{Name: name})
		}
	case refusal(d) == "":
		for _, known := range d.Policy.Status.Databases {
			if len(d.Backup.Spec.Databases) == 0 || slices.ContainsFunc(d.Backup.Spec.Databases,
				func(n v1alpha1.DatabaseName) bool { return strings.EqualFold(string(n), string(known.Name)) }) {
				all = append(all, v1alpha1.BackupOfDatabase{Name: known.Name})
			}
		}
	}
	for i := range all {
		for _, a := range d.Policy.Status.Answers {
			if a.Request == d.Backup.Request(all[i].Name) {
				all[i].Set = a.Set.DeepCopy()
			}
		}
	}
	return all
}

// ended is the outcome that a Backup has by what was taken; empty while something is open.
func ended(d Desired, all []v1alpha1.BackupOfDatabase) v1alpha1.BackupOutcome {
	switch {
	case len(all) == 0 || d.Policy == nil:
		return ""
	case damage(all) != "":
		return v1alpha1.BackupFailed
	case len(open(d, all)) > 0:
		return ""
	}
	return v1alpha1.BackupSucceeded
}

// open is what is yet to be done, in words.
func open(d Desired, all []v1alpha1.BackupOfDatabase) []string {
	var left []string
	for _, one := range all {
		if one.Set == nil && d.Backup.Spec.Record != nil {
			left = append(left, fmt.Sprintf("%s was backed up, and no server tells of set %s yet", one.Name,
				d.Backup.Spec.Record.Set))
			continue
		}
		if one.Set == nil {
			left = append(left, fmt.Sprintf("%s waits to be taken, or is being taken", one.Name))
			continue
		}
		for _, store := range d.Policy.Spec.Stores {
			at := slices.IndexFunc(one.Set.Places, func(p v1alpha1.BackupSetPlace) bool { return p.Store == store })
			switch {
			case at < 0:
				left = append(left, fmt.Sprintf("%s is being sent to %s", one.Name, store))
			case !one.Set.Places[at].Verified && d.Policy.Spec.Verification != v1alpha1.VerifyNone:
				left = append(left, fmt.Sprintf("%s is being read back from %s", one.Name, store))
			}
		}
	}
	return left
}

// damage says which sets are damaged where; empty when none is.
func damage(all []v1alpha1.BackupOfDatabase) string {
	var found []string
	for _, one := range all {
		if one.Set == nil {
			continue
		}
		for _, p := range one.Set.Places {
			if p.Damaged {
				found = append(found, fmt.Sprintf("store %s did not give the backup of %s back as it was written", p.Store,
					one.Name))
			}
		}
	}
	return strings.Join(found, "; ")
}

func taken(all []v1alpha1.BackupOfDatabase) string {
	var names []string
	for _, one := range all {
		names = append(names, string(one.Name))
	}
	return "backed up: " + strings.Join(names, ", ")
}

// planDelete lets a Backup go: what was taken stays, and goes by the policy's retention.
func planDelete(Desired, Observed) (p reconcile.Plan) {
	p.Done = true
	p.Outcome = conditions.InProgress(v1alpha1.ReasonDeleting, "what was taken stays")
	return p
}
