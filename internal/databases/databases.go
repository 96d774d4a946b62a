// SPDX-License-Identifier: Apache-2.0

// Package databases makes user databases as they are declared, and keeps of one that exists what can be changed. It
// plans for whoever declares a database: an AvailabilityGroup at its primary, a SQLServer for itself.
package databases

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// Server is what counts of the server on which a database is.
type Server struct {
	// Host is the instance's name.
	Host string
	// Version is its ProductVersion, such as 16.0.4135.4; empty while it is not known.
	Version string
	// Logins that it has, by name.
	Logins map[string]mssql.Login
}

// Change is a statement, executed in master, with the role whose login it takes.
type Change struct {
	Role      credentials.Role
	Statement tsql.Statement
}

// Kept is what is to be done with a database that exists.
type Kept struct {
	// Changes are made one by one: none depends on another.
	Changes []Change
	// Conflicts says which database is left alone, as it is somebody else's. Fixed says what is not as declared and is not
	// changed. InUse says what is changed once nobody else is in the database.
	Conflicts, Fixed, InUse []string
}

// Make is what makes a database. It has its options before anybody can be in it; a compatibility level that the server
// does not have is left to Keep.
func Make(s Server, d v1alpha1.Database) []tsql.Statement {
	name := string(d.Name)
	all := []tsql.Statement{tsql.CreateDatabaseWith(name, string(d.Collation))}
	if most := highest(s.Version); d.CompatibilityLevel != 0 && (most == 0 || int(d.CompatibilityLevel) <= most) {
		all = append(all, tsql.SetCompatibilityLevel(name, int(d.CompatibilityLevel)))
	}
	if d.ReadCommittedSnapshot != nil {
		all = append(all, tsql.SetReadCommittedSnapshot(name, *d.ReadCommittedSnapshot))
	}
	return all
}

// Owns says whether a database belongs to whom its declaration says, or said: the operator, unless it names an owner,
// which counts from the moment at which the database was made, and those that are on record as the operator's doing.
func Owns(d v1alpha1.Database, have mssql.Database, recorded ...string) bool {
	return have.Owner != "" &&
		Recorded(append(slices.Clone(recorded), credentials.RoleOperator.Login(), d.Owner), have.Owner)
}

// maxOwners is how many owners are kept on record.
const maxOwners = 8

// RecordOwners is what is to be remembered of a database that is the declaration's: who owns it, and while that is to
// change also who is to, before it does. A statement whose outcome is unknown may have its effect later, so what was on
// record stays until the database is as declared. Of one without an owner that is a login here, as after a restore from
// another instance, there is nobody to remember but those.
func RecordOwners(d v1alpha1.Database, have mssql.Database, recorded []string) []string {
	var owners []string
	switch {
	case have.Owner != "":
		owners = []string{have.Owner}
	case d.Owner == "":
		return recorded
	}
	if d.Owner == "" || strings.EqualFold(have.Owner, d.Owner) {
		return owners
	}
	for _, owner := range append(slices.Clone(recorded), d.Owner) {
		if !Recorded(owners, owner) {
			owners = append(owners, owner)
		}
	}
	if len(owners) > maxOwners {
		owners = slices.Delete(owners, 1, 1+len(owners)-maxOwners)
	}
	return owners
}

// Recorded tells that an owner is on record.
func Recorded(recorded []string, owner string) bool {
	return slices.ContainsFunc(recorded, func(r string) bool { return strings.EqualFold(r, owner) })
}

// Keep compares a database that is online and takes writes with what is declared.
func Keep(s Server, d v1alpha1.Database, have mssql.Database) Kept {
	var k Kept
	k.collation(s, d, have)
	k.level(s, d, have)
	k.snapshot(s, d, have)
	k.owner(s, d, have)
	return k
}

func (k *Kept) change(role credentials.Role, s tsql.Statement) {
	k.Changes = append(k.Changes, Change{role, s})
}

func (k *Kept) collation(s Server, d v1alpha1.Database, have mssql.Database) {
	if d.Collation == "" || have.Collation == "" || strings.EqualFold(string(d.Collation), have.Collation) {
		return
	}
	k.Fixed = append(k.Fixed, fmt.Sprintf(
		"database %s on %s has collation %s and is declared with %s: a database that exists keeps its collation. Declare "+
			"that one, or copy its data into a database of another name",
		have.Name, s.Host, have.Collation, d.Collation))
}

// highest is the compatibility level of a version, 0 while the version is not known.
func highest(version string) int {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n * 10
}

func (k *Kept) level(s Server, d v1alpha1.Database, have mssql.Database) {
	want := int(d.CompatibilityLevel)
	if want == 0 || want == have.CompatibilityLevel {
		return
	}
	if most := highest(s.Version); most != 0 && want > most {
		k.Fixed = append(k.Fixed, fmt.Sprintf(
			"database %s is declared with compatibilityLevel %d, and %s (version %s) has no higher one than %d: declare that, "+
				"or upgrade the server first. It stays at %d",
			have.Name, want, s.Host, s.Version, most, have.CompatibilityLevel))
		return
	}
	k.change(credentials.RoleOperator, tsql.SetCompatibilityLevel(have.Name, want))
}

func (k *Kept) snapshot(s Server, d v1alpha1.Database, have mssql.Database) {
	want := d.ReadCommittedSnapshot
	if want == nil || *want == have.ReadCommittedSnapshot {
		return
	}
	statement := tsql.SetReadCommittedSnapshot(have.Name, *want)
	if have.Sessions == 0 {
		k.change(credentials.RoleOperator, statement)
		return
	}
	is := map[bool]string{true: "ON", false: "OFF"}
	k.InUse = append(k.InUse, fmt.Sprintf(
		"READ_COMMITTED_SNAPSHOT of database %s on %s is %s and is declared %s: SQL Server changes it only while nobody "+
			"else is in the database, and others are (sys.dm_exec_sessions). None is ended for it: let applications and "+
			"replication agents disconnect for a moment, or in a quiet hour do it yourself, which ends them: ALTER DATABASE "+
			"%s SET READ_COMMITTED_SNAPSHOT %[4]s WITH ROLLBACK AFTER 10 SECONDS",
		have.Name, s.Host, is[have.ReadCommittedSnapshot], is[*want], tsql.Identifier(have.Name)))
}

func (k *Kept) owner(s Server, d v1alpha1.Database, have mssql.Database) {
	if d.Owner == "" || strings.EqualFold(d.Owner, have.Owner) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Logins)) {
		if strings.EqualFold(name, d.Owner) {
			// Its page asks for IMPERSONATE on the new owner.
			k.change(credentials.RoleSA, tsql.SetDatabaseOwner(have.Name, name))
			return
		}
	}
	k.Fixed = append(k.Fixed, fmt.Sprintf(
		"database %s on %s is to belong to %q, and there is no such login: declare a Login of the name. It belongs to %q "+
			"until then", have.Name, s.Host, d.Owner, have.Owner))
}

// Add takes in what is to be done with another database.
func (k *Kept) Add(other Kept) {
	k.Changes = append(k.Changes, other.Changes...)
	k.Conflicts = append(k.Conflicts, other.Conflicts...)
	k.Fixed = append(k.Fixed, other.Fixed...)
	k.InUse = append(k.InUse, other.InUse...)
}

// Outcome is what a person has to know; false when everything is as declared or is being brought to it.
func (k Kept) Outcome() (conditions.Outcome, bool) {
	message := strings.Join(slices.Concat(k.Conflicts, k.Fixed, k.InUse), "; ")
	switch {
	case len(k.Conflicts) > 0:
		return conditions.Stalled(v1alpha1.ReasonDatabaseConflict, message+". Everything else is as declared"), true
	case len(k.Fixed) > 0:
		return conditions.Stalled(v1alpha1.ReasonDatabaseDiffers, message+". Everything else is as declared"), true
	case len(k.InUse) > 0:
		return conditions.InProgress(v1alpha1.ReasonDatabaseInUse, message), true
	}
	return conditions.Outcome{}, false
}
