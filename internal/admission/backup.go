// SPDX-License-Identifier: Apache-2.0

package admission

import (
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
	return errs
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

// warnBackupPolicy says what a policy does not protect from.
func warnBackupPolicy(_ *World, p *v1alpha1.BackupPolicy) admission.Warnings {
	var warnings admission.Warnings
	if len(p.Spec.Stores) == 0 {
		warnings = append(warnings, "spec.stores: without a store backups stay on the backup volume of the server that took "+
			"them, and are lost with it")
	}
	if p.Spec.Retention == nil {
		warnings = append(warnings, "spec.retention: without it no backup is ever removed")
	}
	return warnings
}
