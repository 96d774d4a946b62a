// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"context"
	"fmt"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
)

// targetGroup finds the server of a group at which it is restored: its primary, before there is the group its
// initialPrimary. Once one is chosen, Moved says that it is no more the group's primary.
func (r *Reconciler) targetGroup(ctx context.Context, d *Desired) error {
	name := d.Restore.Spec.Target.AvailabilityGroup
	var group v1alpha1.AvailabilityGroup
	if there, err := r.read(ctx, d, "AvailabilityGroup", string(name), &group); err != nil || !there {
		return err
	}
	unmade := group.Status.GroupID == ""
	d.Order.Group, d.Order.Unmade = group.Name, unmade
	primary := group.Spec.InitialPrimary
	if !unmade {
		primary = ""
		if group.Status.Primary != "" {
			primary = credentials.ServerOf(group.Status.Primary)
		}
	}
	chosen := d.Restore.Status.Server
	switch {
	case chosen == "" && primary == "":
		d.Missing = fmt.Sprintf("AvailabilityGroup %s has no primary that is known: the database is restored there", name)
	case chosen == "":
		d.Pin = primary
		if database := d.Restore.Spec.DatabaseName(); group.Status.Has(database) && !d.replaces() {
			d.Refused = fmt.Sprintf("AvailabilityGroup %s has database %s already, which is never restored over: restore it "+
				"under another name, or in its place (spec.target.database and spec.replace of another Restore)", name, database)
		}
	case primary != "" && primary != chosen:
		d.Moved = primary
	}
	for _, replica := range group.Spec.Replicas {
		if s := replica.Server; s != cmp.Or(chosen, primary) && replica.AvailabilityMode != v1alpha1.ConfigurationOnly {
			d.Copies = append(d.Copies, s)
		}
	}
	return nil
}
