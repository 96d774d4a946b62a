// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
)

// placesOf are the schemas in which a query or EXECUTE looks for an object of a space that it names without one: within
// a module those of the module and dbo (docs/t-sql/statements/create-procedure-transact-sql.md, "Best Practices";
// docs/t-sql/language-elements/execute-transact-sql.md, module_name), elsewhere those of LookUp.
func (s *Session) placesOf(space int32, sch *metadata.Catalog) []string {
	if f := s.frame(); f != nil && f.module != nil && space == s.db.ID() {
		return []string{sch.SchemaName(f.module), "dbo"}
	}
	return []string{s.defaultSchema(space), "dbo"}
}

// plannedSchema is what a plan depends on: the user's default schema outside of modules, whose statements are theirs
// alone.
func (s *Session) plannedSchema() string {
	if f := s.frame(); f != nil && f.module != nil {
		return ""
	}
	return s.defaultSchema(s.db.ID())
}

// lookUp finds an object as a batch does, and within modules as definitions of data, dynamic texts, types and the names
// that functions and procedures are given as text do: in the default schema of the user, then in dbo
// (docs/t-sql/statements/create-user-transact-sql.md, DEFAULT_SCHEMA).
func (s *Session) lookUp(space int32, sch *metadata.Catalog, name bind.ObjectName) *metadata.Object {
	return bind.FindIn(sch, []string{s.defaultSchema(space), "dbo"}, name)
}

// LookUp finds an object of a database by its name of up to three parts, as dynamic text does; nil when there is none,
// or when the name is one of another database.
func (s *Session) LookUp(db *Database, sch *metadata.Catalog, text string) *metadata.Object {
	name := bind.SplitName(text)
	if name.Server != "" || name.Database != "" && !strings.EqualFold(name.Database, db.Name()) {
		return nil
	}
	return s.lookUp(db.ID(), sch, name)
}

// LookUp is that of the session in the space that is changed.
func (d *SchemaChange) LookUp(name bind.ObjectName) *metadata.Object {
	if d.space == bind.TempSpace {
		return d.sch.Named(1, name.Name)
	}
	return d.s.lookUp(d.space, d.sch, name)
}

// within makes a module the one in which names are looked for until the returned func is called; nil stands for none.
func (s *Session) within(module *metadata.Object) func() {
	f := s.frame()
	if f == nil {
		return func() {}
	}
	before := f.module
	f.module = module
	return func() { f.module = before }
}

// SchemasSearched are those in which the session looks for an object of its database that GRANT and its kin name
// without one.
func (s *Session) SchemasSearched() []string { return []string{s.defaultSchema(s.db.ID()), "dbo"} }

// defaultSchema is the one of the session's user in a database, or, for the elements of CREATE SCHEMA, the new one.
func (s *Session) defaultSchema(space int32) string {
	db := s.inst.DatabaseByID(space)
	if db == nil {
		return "dbo"
	}
	if s.newSchema != "" && db == s.db {
		return s.newSchema
	}
	u, err := s.userIn(s.context(), db)
	if err != nil || u.DefaultSchema == "" {
		return "dbo"
	}
	return u.DefaultSchema
}

// chained tells whether a module reaches an object by an ownership chain, on which nothing but the module is asked for:
// both have the same owner and are in the same database
// (docs/relational-databases/tutorial-ownership-chains-and-context-switching.md). A module that is being made has no
// chain yet.
func (s *Session) chained(permission string, space int32, sch *metadata.Catalog, o *metadata.Object) bool {
	f := s.frame()
	if f == nil || f.module == nil || f.module.ID == 0 || space != s.db.ID() {
		return false
	}
	switch permission {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE":
		return sch.OwnerOf(f.module) == sch.OwnerOf(o)
	}
	return false
}
