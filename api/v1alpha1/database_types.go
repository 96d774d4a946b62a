// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "strings"

// Collation is the name of a collation, such as Latin1_General_100_CI_AS_SC_UTF8.
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z][A-Za-z0-9_]*$')",message="a collation is named by letters, digits and underscores, such as Latin1_General_100_CI_AS_SC_UTF8"
type Collation string

// Database is a user database with its properties. It is made where it does not exist. A property that is left out is
// as the engine makes it, and is not changed afterwards.
type Database struct {
	// name of the database.
	Name DatabaseName `json:"name"`
	// collation with which the database is made; the server's unless given. That of a database that exists is not
	// changed: where it differs the condition says so.
	// +optional
	Collation Collation `json:"collation,omitempty"`
	// compatibilityLevel of the database, such as 160, at most that of the engine's version. It is kept as declared.
	// +optional
	// +kubebuilder:validation:Enum=100;110;120;130;140;150;160;170
	CompatibilityLevel int32 `json:"compatibilityLevel,omitempty"`
	// readCommittedSnapshot says whether READ COMMITTED reads row versions instead of waiting for locks
	// (READ_COMMITTED_SNAPSHOT). It is changed only while nobody else is in the database: no session is ended for it, and
	// the condition says so meanwhile.
	// +optional
	ReadCommittedSnapshot *bool `json:"readCommittedSnapshot,omitempty"`
	// owner is the login that owns the database (dbo), such as one that a Login declares; geosql_operator unless given. It
	// may not be a user of the database. It is kept as declared.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:MinLength=1
	Owner string `json:"owner,omitempty"`
	// from says where the database comes from instead of being made empty. It counts once: only while no server has a
	// database of the name.
	// +optional
	From *DatabaseSource `json:"from,omitempty"`
}

// DatabaseSource says where a database comes from that is not made empty.
//
// +kubebuilder:validation:XValidation:rule="has(self.restore)",message="restore is needed"
type DatabaseSource struct {
	// restore is the backup from which the database comes.
	// +optional
	Restore *DatabaseRestore `json:"restore,omitempty"`
}

// DatabaseRestore says which backups of which database, and to when.
type DatabaseRestore struct {
	BackupSource `json:",inline"`
	// to says to when; without it the newest point.
	// +optional
	To *RestorePoint `json:"to,omitempty"`
	// keys says by which Secret the certificates are sealed that lie in the store, for a database that is encrypted: one
	// that the server lacks is made there. Those of the policy unless it is given.
	// +optional
	Keys *SealedKeys `json:"keys,omitempty"`
}

// BackupSource says which backups that the operator's agents took of which database are restored.
//
// +kubebuilder:validation:XValidation:rule="has(self.policy) != has(self.store)",message="name exactly one of policy, with database, and store, with path"
// +kubebuilder:validation:XValidation:rule="has(self.policy) == has(self.database)",message="database goes with policy, and is needed there"
// +kubebuilder:validation:XValidation:rule="has(self.store) == has(self.path)",message="path goes with store, and is needed there"
type BackupSource struct {
	// policy is the name of the BackupPolicy that had them taken; it needs a store.
	// +optional
	Policy ObjectName `json:"policy,omitempty"`
	// database of the policy's target.
	// +optional
	Database DatabaseName `json:"database,omitempty"`
	// store is the name of the BackupStore that has them, where nothing else is known any more.
	// +optional
	Store ObjectName `json:"store,omitempty"`
	// path of the database's folder below the store's prefix, such as web/group/content/Content.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^/]+/(group|server)/[^/]+/[^/]+$') && !self.matches('(^|/)[.][.]?(/|$)')",message="path is NAMESPACE/group/NAME/DATABASE or NAMESPACE/server/NAME/DATABASE, as it is below the store's prefix"
	Path string `json:"path,omitempty"`
}

// Restored is the source of a Restore of these backups.
func (s BackupSource) Restored() RestoreSource {
	return RestoreSource{Policy: s.Policy, Database: s.Database, Store: s.Store, Path: s.Path}
}

func databaseOf(databases []Database, name string) *Database {
	for i := range databases {
		if strings.EqualFold(string(databases[i].Name), name) {
			return &databases[i]
		}
	}
	return nil
}

func namesOf(databases []Database) []DatabaseName {
	var names []DatabaseName
	for _, d := range databases {
		names = append(names, d.Name)
	}
	return names
}

// Database finds a declared database, compared as the server's default collation does; nil when the group has none of
// the name.
func (s *AvailabilityGroupSpec) Database(name string) *Database { return databaseOf(s.Databases, name) }

// DatabaseNames are the names of the group's databases.
func (s *AvailabilityGroupSpec) DatabaseNames() []DatabaseName { return namesOf(s.Databases) }

// Database finds a declared database, compared as the server's default collation does; nil when the server declares
// none of the name.
func (s *SQLServerSpec) Database(name string) *Database { return databaseOf(s.Databases, name) }
