// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"

	"geosql.dev/operator/api/v1alpha1"
)

// Families of the manager that speak of backups.
var (
	BackupLogInterval = gauge("geosql_backup_log_interval_seconds",
		"Declared time between two backups of the log.", "namespace", "policy")
	BackupRestorable = gauge("geosql_backup_restorable_timestamp_seconds",
		"Newest moment to which a database can be restored.", "namespace", "policy", "database")
	BackupLast = gauge("geosql_backup_last_timestamp_seconds",
		"When the newest backup of a database ended, by what it is of: Full, Differential or Log.",
		"namespace", "policy", "database", "backup")
	BackupSets    = gauge("geosql_backup_sets", "Backups of a database that are kept.", "namespace", "policy", "database")
	BackupBytes   = gauge("geosql_backup_bytes", "What they have.", "namespace", "policy", "database")
	BackupWaiting = gauge("geosql_backup_waiting_bytes",
		"Backups on the servers' backup volumes that some store lacks.", "namespace", "policy", "database")
	BackupDamaged = gauge("geosql_backup_damaged_sets",
		"Backups that a store did not give back as they were written, and still has.", "namespace", "policy", "database")
	BackupStoreListed = gauge("geosql_backup_store_listed_timestamp_seconds",
		"When a store of a policy has told an agent what it has, to a quarter of the time between log backups and five "+
			"minutes at most.", "namespace", "policy", "store")
	BackupStoreVerified = gauge("geosql_backup_store_verified_timestamp_seconds",
		"Newest moment to which a store alone restores every database by backups that were read back from it.",
		"namespace", "policy", "store")
	BackupRestoreTestPassed = gauge("geosql_backup_restore_test_passed_timestamp_seconds",
		"When the newest restore test of a policy ended that has passed.", "namespace", "policy")
	BackupRestoreTestDuration = gauge("geosql_backup_restore_test_duration_seconds",
		"How long a database took in the newest restore test: the download of its backups, the restore and the check.",
		"namespace", "policy", "database")
	BackupStoreTested = gauge("geosql_backupstore_tested_timestamp_seconds",
		"When an object was last written to the store, read back and removed by the manager.", "namespace", "store")
)

var backupFamilies = []*Family{
	BackupLogInterval, BackupRestorable, BackupLast, BackupSets, BackupBytes, BackupWaiting, BackupDamaged,
	BackupStoreListed, BackupStoreVerified, BackupRestoreTestPassed, BackupRestoreTestDuration, BackupStoreTested,
}

func (o *Objects) backups(ctx context.Context, s Sink) error {
	var (
		stores   v1alpha1.BackupStoreList
		policies v1alpha1.BackupPolicyList
		taken    v1alpha1.BackupList
	)
	if err := o.hub.List(ctx, &stores); err != nil {
		return err
	}
	for i := range stores.Items {
		x := &stores.Items[i]
		s.conditions("BackupStore", x, x.Status.Conditions)
		s.time(BackupStoreTested, x.Status.Tested, x.Namespace, x.Name)
	}
	if err := o.hub.List(ctx, &policies); err != nil {
		return err
	}
	for i := range policies.Items {
		s.policy(&policies.Items[i])
	}
	if err := o.hub.List(ctx, &taken); err != nil {
		return err
	}
	for i := range taken.Items {
		// A record goes soon, and what it says of a set the policy's families say.
		if taken.Items[i].Spec.Record != nil {
			continue
		}
		s.conditions("Backup", &taken.Items[i], taken.Items[i].Status.Conditions)
	}
	return nil
}

func (s Sink) policy(p *v1alpha1.BackupPolicy) {
	s.conditions("BackupPolicy", p, p.Status.Conditions)
	if p.Spec.Log != nil {
		s.seconds(BackupLogInterval, p.Spec.Log.Every, p.Namespace, p.Name)
	}
	for _, d := range p.Status.Databases {
		labels := []string{p.Namespace, p.Name, string(d.Name)}
		if len(d.Windows) > 0 {
			s.time(BackupRestorable, &d.Windows[0].To, labels...)
		}
		s.time(BackupLast, d.LastFull, append(labels[:3:3], "Full")...)
		s.time(BackupLast, d.LastDifferential, append(labels[:3:3], "Differential")...)
		s.time(BackupLast, d.LastLog, append(labels[:3:3], "Log")...)
		s.Set(BackupSets, float64(d.Sets), labels...)
		s.Set(BackupBytes, float64(d.Bytes), labels...)
		s.Set(BackupWaiting, float64(d.WaitingBytes), labels...)
		s.Set(BackupDamaged, float64(d.Damaged), labels...)
	}
	for _, at := range p.Status.Stores {
		s.time(BackupStoreListed, at.Listed, p.Namespace, p.Name, string(at.Name))
		s.time(BackupStoreVerified, at.Verified, p.Namespace, p.Name, string(at.Name))
	}
	if t := p.Status.RestoreTest; t != nil {
		s.time(BackupRestoreTestPassed, t.LastPassed, p.Namespace, p.Name)
		for _, d := range t.Databases {
			s.seconds(BackupRestoreTestDuration, d.Duration, p.Namespace, p.Name, string(d.Name))
		}
	}
}
