// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"errors"
	"fmt"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/databases"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// awaitedDatabases are those that the group does not have and that come from Restores, by what the server says on which
// they are, or would be, made.
func awaitedDatabases(d Desired, o Observed) (all databases.AwaitedList) {
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
		w := databases.Awaited{Name: name}
		var waits bool
		if w.Outcome, waits = awaits(d, declared, server, state); !waits && !exists {
			w.Outcome, w.Made, waits = comes(d, o, declared, server)
		}
		if waits {
			all = append(all, w)
		}
	}
	return all
}

// declarer is the group with the Restores that bring its databases.
func (d Desired) declarer() databases.Declarer {
	return databases.Declarer{Object: &d.Group.ObjectMeta, Group: true, Restores: d.Restores}
}

// comes says how a database comes from its source of which the server on which it would be made has none: by a Restore
// that the group makes, once every server has said that it has none of the name. False for a database that is made
// empty, and for one that another server has: that is for a person to tell.
func comes(d Desired, o Observed, declared v1alpha1.Database, server v1alpha1.ServerName) (conditions.Outcome,
	*v1alpha1.Restore, bool) {
	if len(o.copies(d, string(declared.Name))) > 0 {
		return conditions.Outcome{}, nil, false
	}
	outcome, wanted, waits := d.declarer().Comes(declared, server)
	if wanted == nil {
		return outcome, nil, waits
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
	return outcome, wanted, true
}

// awaits says what a database waits for that is in this state at the server, empty where it is not there; false when it
// does not wait.
func awaits(d Desired, declared v1alpha1.Database, server v1alpha1.ServerName,
	state string) (conditions.Outcome, bool) {
	if outcome, waits := d.declarer().Awaits(declared, server, state); waits {
		return outcome, true
	}
	if state != "" && state != "ONLINE" {
		return conditions.Stalled(v1alpha1.ReasonDatabaseOutside, fmt.Sprintf("database %s on %s is %s and in no group: "+
			"recover it there, or drop it", declared.Name, host(server), state)), true
	}
	return conditions.Outcome{}, false
}

// without is what is declared but for the databases that are awaited: what the group has says nothing of those.
func without(d Desired, a databases.AwaitedList) Desired {
	if len(a) == 0 {
		return d
	}
	group := d.Group.DeepCopy()
	group.Spec.Databases = nil
	for _, declared := range d.Group.Spec.Databases {
		if a.Of(string(declared.Name)) == nil {
			group.Spec.Databases = append(group.Spec.Databases, declared)
		}
	}
	d.Group = group
	return d
}
