// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

// planProperties keeps the properties of the group's databases at the primary: its copies have what it has, except for
// the owner, which each instance has for itself. Nothing waits for that.
func planProperties(d Desired, o Observed, p *reconcile.Plan) bool {
	for _, c := range kept(d, o).Changes {
		p.Beside(mssql.Execute{Server: o.primary(d), Role: c.Role, Database: "master", Statement: c.Statement},
			v1alpha1.ReasonDatabaseDiffers)
	}
	return true
}

// kept compares the databases that the group has at its primary with what is declared.
func kept(d Desired, o Observed) (k databases.Kept) {
	primary := o.primary(d)
	if primary == "" {
		return k
	}
	i := o.Instances[primary]
	for _, declared := range d.Group.Spec.Databases {
		have, exists := database(i.Mirroring, string(declared.Name))
		if exists && have.State == "ONLINE" && contains(i.Group.Databases, have.Name) {
			k.Add(databases.Keep(databaseServer(o, primary), declared, have))
		}
	}
	return k
}

func databaseServer(o Observed, server v1alpha1.ServerName) databases.Server {
	i := o.Instances[server]
	return databases.Server{Host: host(server), Version: i.Mirroring.ProductVersion, Logins: i.Logins}
}
