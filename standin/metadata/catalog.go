// SPDX-License-Identifier: Apache-2.0

// Package metadata is what a database knows of itself: its objects with their columns, indexes, keys and constraints,
// its file groups, files, partition functions and schemes, and its sequences, as its internal tables keep them. A
// Catalog is all of it at one version.
//
// It knows nothing of sessions, and of T-SQL no more than errors and types: who may see an object, how its definition
// is read and what a statement changes are matters of the engine.
package metadata

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Catalog is all metadata of a database at one version. What a version was read as is never changed: a statement that
// changes the metadata reads one of its own.
type Catalog struct {
	// Version tells one state from all others: a random number for each change of a database, a count for a session's
	// temporary tables.
	Version int64
	// Schemas and objects are by schema_id and object_id.
	Schemas map[int32]*Schema
	Objects map[int32]*Object
	// byName has them by schema and name, byChild the children by the object_id of their parent.
	byName  map[string]*Object
	byChild map[int32][]*Object
	// placements are the file groups, files, partition functions and schemes, and the scoped configurations.
	placements map[int32]*Object
}

// Schema is a schema of a database.
type Schema struct {
	ID        int32
	Name      string
	Principal int32
}

// Empty is the metadata of a database without objects, whose only schema is dbo.
func Empty() *Catalog {
	s := &Catalog{
		Version:    1,
		Schemas:    map[int32]*Schema{1: {ID: 1, Name: "dbo", Principal: 1}},
		Objects:    map[int32]*Object{},
		byName:     map[string]*Object{},
		byChild:    map[int32][]*Object{},
		placements: map[int32]*Object{},
	}
	return s
}

// Version reads the version of the metadata that a connection sees.
func Version(conn *sqlite.Conn) (int64, error) {
	stmt, err := conn.Prepare("SELECT version FROM __catalog")
	if err != nil {
		return 0, err
	}
	defer stmt.Reset()
	if _, err := stmt.Step(); err != nil {
		return 0, err
	}
	return stmt.ColumnInt64(0), nil
}

// Load reads all metadata that a connection sees.
func Load(conn *sqlite.Conn, version int64) (*Catalog, error) {
	s := &Catalog{Version: version, Schemas: map[int32]*Schema{}, Objects: map[int32]*Object{},
		byName: map[string]*Object{}, byChild: map[int32][]*Object{}, placements: map[int32]*Object{}}
	err := sqlitex.Execute(conn, "SELECT id, name, principal FROM __schemas", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			n := &Schema{ID: stmt.ColumnInt32(0), Name: stmt.ColumnText(1), Principal: stmt.ColumnInt32(2)}
			s.Schemas[n.ID] = n
			return nil
		}})
	if err != nil {
		return nil, fmt.Errorf("read the schemas: %w", err)
	}
	err = sqlitex.Execute(conn, "SELECT doc FROM __objects ORDER BY id", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			o := &Object{}
			if err := json.Unmarshal([]byte(stmt.ColumnText(0)), o); err != nil {
				return fmt.Errorf("read an object's metadata: %w", err)
			}
			s.Add(o)
			return nil
		}})
	if err != nil {
		return nil, fmt.Errorf("read the objects: %w", err)
	}
	return s, nil
}

func objectKey(schemaID int32, name string) string {
	return fmt.Sprintf("%d.%s", schemaID, strings.ToLower(name))
}

// SchemaByName finds a schema by its name; nil when there is none.
func (s *Catalog) SchemaByName(name string) *Schema {
	for _, n := range s.Schemas {
		if strings.EqualFold(n.Name, name) {
			return n
		}
	}
	return nil
}

// Find looks an object up by schema and name; nil when there is none.
func (s *Catalog) Find(schemaName, name string) *Object {
	n := s.SchemaByName(schemaName)
	if n == nil {
		return nil
	}
	return s.byName[objectKey(n.ID, name)]
}

// Named looks an object up by the number of its schema and its name; nil when there is none.
func (s *Catalog) Named(schemaID int32, name string) *Object {
	return s.byName[objectKey(schemaID, name)]
}

// SchemaName is the name of an object's schema.
func (s *Catalog) SchemaName(o *Object) string {
	if n := s.Schemas[o.Schema]; n != nil {
		return n.Name
	}
	return "dbo"
}

// Children are an object's constraints.
func (s *Catalog) Children(id int32) []*Object { return s.byChild[id] }

// Add puts in an object; one that has the name already is hidden by it.
func (s *Catalog) Add(o *Object) {
	if o.placement() {
		s.placements[o.ID] = o
		return
	}
	s.Objects[o.ID] = o
	if key := objectKey(o.Schema, o.Name); !hidden(o, s.byName[key]) {
		s.byName[key] = o
	}
	if o.Parent != 0 {
		s.byChild[o.Parent] = append(s.byChild[o.Parent], o)
	}
}

// hidden tells whether a name is that of a later temporary object than o: their numbers, which are negative, fall.
func hidden(o, named *Object) bool { return named != nil && named.ID < o.ID && o.ID < 0 }

// Remove takes an object out.
func (s *Catalog) Remove(o *Object) {
	if o.placement() {
		delete(s.placements, o.ID)
		return
	}
	delete(s.Objects, o.ID)
	s.Unname(o)
	beside := s.byChild[o.Parent]
	for i, c := range beside {
		if c.ID == o.ID {
			s.byChild[o.Parent] = append(append([]*Object(nil), beside[:i]...), beside[i+1:]...)
			break
		}
	}
}

// Unname takes an object's name away, which is then that of the temporary table that it hid.
func (s *Catalog) Unname(o *Object) {
	key := objectKey(o.Schema, o.Name)
	delete(s.byName, key)
	if o.ID >= 0 {
		return
	}
	for _, other := range s.Objects {
		if other.ID != o.ID && objectKey(other.Schema, other.Name) == key && !hidden(other, s.byName[key]) {
			s.byName[key] = other
		}
	}
}

// Sorted are the objects of a schema in the order of their IDs, types excepted.
func (s *Catalog) Sorted() []*Object {
	list := make([]*Object, 0, len(s.Objects))
	for _, o := range s.Objects {
		list = append(list, o)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list
}

// Owner is the table that an index, key or constraint belongs to; anything else is its own.
func (s *Catalog) Owner(o *Object) *Object {
	if parent := s.Objects[o.Parent]; parent != nil {
		return parent
	}
	return o
}

// OwnerOf is the principal_id of an object's owner, which is the one of its schema.
func (s *Catalog) OwnerOf(o *Object) int32 {
	if n := s.Schemas[o.Schema]; n != nil {
		return n.Principal
	}
	return 1
}

// ScopedTriggers are the triggers of a database or of the server that a database keeps; their scope is in place of a
// schema's number.
func (s *Catalog) ScopedTriggers(scope int32) []*Object {
	var out []*Object
	for _, o := range s.Objects {
		if o.Kind == KindScopedTrigger && o.Schema == scope {
			out = append(out, o)
		}
	}
	return out
}

// SelfReferences are the foreign keys to their own table of the tables that a change of obj's rows changes: obj itself,
// and those that referential actions reach.
func (s *Catalog) SelfReferences(obj *Object) []*Object {
	reached := []*Object{obj}
	var out []*Object
	for i := 0; i < len(reached); i++ {
		for _, o := range s.Objects {
			k := o.ForeignKey
			switch {
			case k == nil || o.Disabled || k.Referenced != reached[i].ID:
			case o.Parent == k.Referenced:
				out = append(out, o)
			case k.OnDelete != "NO_ACTION" || k.OnUpdate != "NO_ACTION":
				if child := s.Objects[o.Parent]; child != nil && !Contains(reached, child) {
					reached = append(reached, child)
				}
			}
		}
	}
	return out
}
