// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/schedule"
)

// backupPolicy checks when backups are taken. What a policy refers to may come later.
func backupPolicy(at *field.Path, p *v1alpha1.BackupPolicy) field.ErrorList {
	errs := backupTimes(at.Child("full"), p.Spec.Full)
	if t := p.Spec.Differential; t != nil {
		errs = append(errs, backupTimes(at.Child("differential"), *t)...)
	}
	if t := p.Spec.RestoreTest; t != nil {
		errs = append(errs, backupTimes(at.Child("restoreTest"), t.BackupTimes)...)
	}
	return errs
}

// testServer refuses a server for restore tests that is a replica of a group: what is restored there takes room from
// the group's databases.
func (w *World) testServer(at *field.Path, p *v1alpha1.BackupPolicy) (errs field.ErrorList) {
	for _, name := range slices.Sorted(maps.Keys(w.Groups)) {
		errs = append(errs, testAtReplica(at, p, w.Groups[name])...)
	}
	return errs
}

func testAtReplica(at *field.Path, p *v1alpha1.BackupPolicy, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	test := p.Spec.RestoreTest
	if test == nil || !slices.ContainsFunc(g.Spec.Replicas,
		func(r v1alpha1.Replica) bool { return r.Server == test.Server }) {
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("restoreTest", "server"), test.Server, fmt.Sprintf(
		"it is a replica of AvailabilityGroup %s: name a server that is of none", g.Name))}
}

func backupTimes(at *field.Path, t v1alpha1.BackupTimes) field.ErrorList {
	if _, err := schedule.Parse(t.Schedule, ""); err != nil {
		return field.ErrorList{field.Invalid(at.Child("schedule"), t.Schedule, err.Error())}
	}
	if _, err := schedule.Parse(t.Schedule, t.TimeZone); err != nil {
		return field.ErrorList{field.Invalid(at.Child("timeZone"), t.TimeZone, err.Error())}
	}
	return nil
}

// warnBackupPolicy tells what a policy waits for, and what it does not protect from.
func warnBackupPolicy(w *World, p *v1alpha1.BackupPolicy) admission.Warnings {
	return append(awaits(w.ofPolicy(top, p)...), w.backupRisks(top, p)...)
}

// backupRisks says what a policy does not protect from.
func (w *World) backupRisks(at *field.Path, p *v1alpha1.BackupPolicy) admission.Warnings {
	var warnings admission.Warnings
	if len(p.Spec.Stores) == 0 {
		warnings = append(warnings, at.Child("stores").String()+": without a store backups stay on the backup volume of the "+
			"server that took them, and are lost with it")
	}
	if p.Spec.Retention == nil {
		warnings = append(warnings, at.Child("retention").String()+": without it no backup is ever removed")
	}
	if log := p.Spec.Log; log != nil && log.Mode == v1alpha1.LogBackupNone {
		warnings = append(warnings, at.Child("log", "mode").String()+": unless something else backs the log up, that of a "+
			"database in the full recovery model, as all of a group are, grows until its volume is full and every write fails "+
			"(9002)")
	}
	if server := w.basicOf(p.Spec.Target.AvailabilityGroup); server != "" &&
		p.Spec.Replica == v1alpha1.BackupPreferSecondary {
		warnings = append(warnings, fmt.Sprintf("%s: AvailabilityGroup %s is a basic one by the edition of "+
			"SQLServer %s: its primary takes all backups", at.Child("replica"), p.Spec.Target.AvailabilityGroup, server))
	}
	return warnings
}
