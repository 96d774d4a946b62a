// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// ofGroup takes the servers and databases of a group, and its primary where it is known.
func (d *Desired) ofGroup(group *v1alpha1.AvailabilityGroup) {
	d.Databases = d.named(group.Spec.DatabaseNames())
	for _, replica := range group.Spec.Replicas {
		if replica.AvailabilityMode == v1alpha1.ConfigurationOnly {
			continue
		}
		d.Servers = append(d.Servers, replica.Server)
		if strings.EqualFold(group.Status.Primary, credentials.HostName(replica.Server)) {
			d.Primary = replica.Server
		}
	}
}

// ofServer takes a server and the databases that it declares.
func (d *Desired) ofServer(server *v1alpha1.SQLServer) {
	d.Primary = v1alpha1.ServerName(server.Name)
	d.Servers = []v1alpha1.ServerName{d.Primary}
	var all []v1alpha1.DatabaseName
	for _, database := range server.Spec.Databases {
		all = append(all, database.Name)
	}
	d.Databases = d.named(all)
}

// ImagineGroup is what a policy of a group asks for while primary is its primary.
func ImagineGroup(p *v1alpha1.BackupPolicy, group *v1alpha1.AvailabilityGroup, primary v1alpha1.ServerName) Desired {
	d := Desired{Policy: p}
	d.ofGroup(group)
	d.Primary = primary
	return d
}

// ImagineServer is what a policy of a server asks for.
func ImagineServer(p *v1alpha1.BackupPolicy, server *v1alpha1.SQLServer) Desired {
	d := Desired{Policy: p}
	d.ofServer(server)
	return d
}

// Preview are the steps for servers that are told nothing yet, and databases that the agents have no user in: what
// `kubectl geosql plan` prints. It does nothing.
func Preview(d Desired) []reconcile.Step {
	none := reconcile.Asked[*mssql.UserState](nil, nil)
	o := Observed{Servers: map[v1alpha1.ServerName]Server{},
		Users: map[v1alpha1.DatabaseName]reconcile.Reading[*mssql.UserState]{}}
	for _, name := range d.Servers {
		o.Servers[name] = Server{Order: reconcile.Asked[[]byte](nil, nil), History: none}
	}
	for _, database := range d.Databases {
		o.Users[database] = none
	}
	d.Policy = d.Policy.DeepCopy()
	d.Policy.Status.Servers = slices.Clone(d.Servers)
	return plan(d, o).Steps
}
