// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/operator/standin/sqltype"
)

// Object kinds, sys.objects.type without padding.
const (
	kindTable      = "U"
	kindView       = "V"
	kindProcedure  = "P"
	kindScalar     = "FN"
	kindInline     = "IF"
	kindPrimaryKey = "PK"
	kindUnique     = "UQ"
	kindForeignKey = "F"
	kindCheck      = "C"
	kindDefault    = "D"
	kindSequence   = "SO"
	kindSynonym    = "SN"
	kindTableType  = "TT"
	kindTrigger    = "TR"
	// kindScoped are triggers of the database and, in master, of the server, which are in no schema and no objects to sys.objects.
	kindScoped = "scoped trigger"
	// kindAlias are alias types, which are no objects to sys.objects.
	kindAlias         = "alias"
	kindTableFunction = "TF"
)

// Object is one object of a database, as its row in __objects has it.
type Object struct {
	ID       int32     `json:"id"`
	Schema   int32     `json:"schema"`
	Name     string    `json:"name"`
	Kind     string    `json:"kind"`
	Parent   int32     `json:"parent,omitempty"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	// SystemNamed is true for constraints whose name the engine made.
	SystemNamed bool `json:"systemNamed,omitempty"`
	// Shipped is sys.objects.is_ms_shipped.
	Shipped bool `json:"shipped,omitempty"`
	// SchemaPublished is sys.objects.is_schema_published: the definition of a view, procedure or function is an article.
	SchemaPublished bool `json:"schemaPublished,omitempty"`
	// ExecutionPublished is sys.procedures.is_execution_replicated: calls of the procedure are an article. SerializableOnly
	// is is_repl_serializable_only: only those in serializable transactions.
	ExecutionPublished bool `json:"executionPublished,omitempty"`
	SerializableOnly   bool `json:"serializableOnly,omitempty"`

	Table *Table `json:"table,omitempty"`
	// Definition is the text of a module, check or default.
	Definition string      `json:"definition,omitempty"`
	ForeignKey *ForeignKey `json:"foreignKey,omitempty"`
	// ExecuteAs is the principal_id that a module of a database runs as, executeAsOwner for its owner; nil for its caller. ExecuteAsLogin is
	// the login that a trigger of the server runs as.
	ExecuteAs      *int32 `json:"executeAs,omitempty"`
	ExecuteAsLogin string `json:"executeAsLogin,omitempty"`
	// Encrypted modules show their text to nobody. NullOnNull is RETURNS NULL ON NULL INPUT, Recompiled WITH RECOMPILE.
	Encrypted  bool `json:"encrypted,omitempty"`
	NullOnNull bool `json:"nullOnNull,omitempty"`
	Recompiled bool `json:"recompiled,omitempty"`
	// Column is a default's or column check's column.
	Column int32 `json:"column,omitempty"`
	// Disabled and NotTrusted are a check's or foreign key's; NotForReplication is theirs or a trigger's.
	Disabled          bool      `json:"disabled,omitempty"`
	NotTrusted        bool      `json:"notTrusted,omitempty"`
	NotForReplication bool      `json:"notForReplication,omitempty"`
	QuotedIdentifier  bool      `json:"quotedIdentifier,omitempty"`
	AnsiNullsOff      bool      `json:"ansiNullsOff,omitempty"`
	Sequence          *Sequence `json:"sequence,omitempty"`
	Target            string    `json:"target,omitempty"`
	// FileGroup, File, Function and Scheme are placements, which are no objects to sys.objects.
	FileGroup  *FileGroup         `json:"fileGroup,omitempty"`
	File       *File              `json:"file,omitempty"`
	Function   *PartitionFunction `json:"function,omitempty"`
	Scheme     *PartitionScheme   `json:"scheme,omitempty"`
	Properties map[string]string  `json:"properties,omitempty"`
}

// Table is what a table adds to an object.
type Table struct {
	Columns []*Column `json:"columns"`
	Indexes []*Index  `json:"indexes,omitempty"`
	// Statistics are those of CREATE STATISTICS.
	Statistics []*Statistic `json:"statistics,omitempty"`
	// NextColumn and NextIndex are the next free column_id and nonclustered index_id.
	NextColumn int32 `json:"nextColumn"`
	NextIndex  int32 `json:"nextIndex"`
	// RowidColumn is the column that is SQLite's row number, 0 when a hidden one is.
	RowidColumn int32 `json:"rowidColumn,omitempty"`
	// Compression is sys.partitions.data_compression of the heap: 0 none, 1 row, 2 page.
	Compression int  `json:"compression,omitempty"`
	Replicated  bool `json:"replicated,omitempty"`
	// AnsiNullsOff tells that the table was made under ANSI_NULLS OFF.
	AnsiNullsOff bool `json:"ansiNullsOff,omitempty"`
	// LockEscalation is sys.tables.lock_escalation: 0 table, 1 disabled, 2 automatic.
	LockEscalation int `json:"lockEscalation,omitempty"`
	// HeapLocks are those of the table where it has no clustered index.
	HeapLocks IndexLocks `json:"heapLocks,omitzero"`
	// OutOfRow, BulkLock and TextInRow are options of sp_tableoption.
	OutOfRow  bool `json:"outOfRow,omitempty"`
	BulkLock  bool `json:"bulkLock,omitempty"`
	TextInRow int  `json:"textInRow,omitempty"`
	// Place is where the heap or the clustered index is, TextSpace where large values are when TEXTIMAGE_ON says so.
	Place     Place `json:"place,omitzero"`
	TextSpace int32 `json:"textSpace,omitempty"`
}

// IndexLocks tells which locks ALLOW_ROW_LOCKS and ALLOW_PAGE_LOCKS have forbidden. They are recorded: rows and pages are not locked.
type IndexLocks struct {
	NoRow  bool `json:"noRow,omitempty"`
	NoPage bool `json:"noPage,omitempty"`
}

// set sets one of the options, by its name in lower case without underscores.
func (l *IndexLocks) set(option string, on bool) {
	if option == "allowrowlocks" {
		l.NoRow = !on
	} else {
		l.NoPage = !on
	}
}

// Column is a column of a table.
type Column struct {
	ID        int32        `json:"id"`
	Name      string       `json:"name"`
	Type      sqltype.Type `json:"type"`
	Nullable  bool         `json:"nullable,omitempty"`
	Collation string       `json:"collation,omitempty"`
	Sparse    bool         `json:"sparse,omitempty"`
	Identity  *Identity    `json:"identity,omitempty"`
	// Default is the object_id of its default constraint.
	Default int32 `json:"default,omitempty"`
	// Computed is the text of a computed column.
	Computed  string `json:"computed,omitempty"`
	Persisted bool   `json:"persisted,omitempty"`
	RowGUID   bool   `json:"rowGuid,omitempty"`
	// UserType is the name of the alias type, sysname among them.
	UserType string `json:"userType,omitempty"`
	// UserTypeID is the user_type_id of an alias type that CREATE TYPE made.
	UserTypeID int64 `json:"userTypeID,omitempty"`
	Numeric    bool  `json:"numeric,omitempty"`
}

// Identity is IDENTITY(seed, increment).
type Identity struct {
	Seed              int64 `json:"seed"`
	Increment         int64 `json:"increment"`
	NotForReplication bool  `json:"notForReplication,omitempty"`
}

// Index is an index; keys are indexes too.
type Index struct {
	ID         int32   `json:"id"`
	Name       string  `json:"name"`
	Unique     bool    `json:"unique,omitempty"`
	Clustered  bool    `json:"clustered,omitempty"`
	PrimaryKey bool    `json:"primaryKey,omitempty"`
	Constraint int32   `json:"constraint,omitempty"`
	Keys       []Key   `json:"keys"`
	Included   []int32 `json:"included,omitempty"`
	Filter     string  `json:"filter,omitempty"`
	// Compression is data_compression of the index.
	Compression int  `json:"compression,omitempty"`
	Disabled    bool `json:"disabled,omitempty"`
	FillFactor  int  `json:"fillFactor,omitempty"`
	IgnoreDup   bool `json:"ignoreDup,omitempty"`
	// Padded, SequentialKey and Locks are PAD_INDEX, OPTIMIZE_FOR_SEQUENTIAL_KEY and the options of locks, as they were given.
	Padded        bool       `json:"padded,omitempty"`
	SequentialKey bool       `json:"sequentialKey,omitempty"`
	Locks         IndexLocks `json:"locks,omitzero"`
	Place         Place      `json:"place,omitzero"`
	// NoRecompute and StatsUpdated are those of the index's statistics, as UPDATE STATISTICS left them.
	NoRecompute  bool       `json:"noRecompute,omitempty"`
	StatsUpdated *time.Time `json:"statsUpdated,omitempty"`
}

// Key is one column of an index.
type Key struct {
	Column     int32 `json:"column"`
	Descending bool  `json:"descending,omitempty"`
}

// ForeignKey is a foreign key's columns and actions (NO_ACTION, CASCADE, SET_NULL, SET_DEFAULT).
type ForeignKey struct {
	Columns    []int32 `json:"columns"`
	Referenced int32   `json:"referenced"`
	RefColumns []int32 `json:"refColumns"`
	RefIndex   int32   `json:"refIndex,omitempty"`
	OnDelete   string  `json:"onDelete"`
	OnUpdate   string  `json:"onUpdate"`
}

// Sequence is a sequence object.
type Sequence struct {
	Type      sqltype.Type `json:"type"`
	Start     int64        `json:"start"`
	Increment int64        `json:"increment"`
	Min       int64        `json:"min"`
	Max       int64        `json:"max"`
	Cycle     bool         `json:"cycle,omitempty"`
	// Restarted is where it goes on as ALTER SEQUENCE said, nil when nothing did.
	Restarted *int64 `json:"restarted,omitempty"`
	// CacheSize is 0 where no statement says one.
	CacheSize int64 `json:"cacheSize,omitempty"`
	NoCache   bool  `json:"noCache,omitempty"`
}

// SchemaName is a schema of a database.
type SchemaName struct {
	ID        int32
	Name      string
	Principal int32
}

// schema is all metadata of a database at one version. What a version was read as is never changed: a statement that changes the metadata
// reads one of its own.
type schema struct {
	// version tells one state from all others: a random number for each change of a database, a count for a session's temporary tables.
	version int64
	// schemas and objects are by schema_id and object_id.
	schemas map[int32]*SchemaName
	objects map[int32]*Object
	// byName has them by schema and name, byChild the children by the object_id of their parent.
	byName  map[string]*Object
	byChild map[int32][]*Object
	// placements are the file groups, files, partition functions and schemes, and the scoped configurations.
	placements map[int32]*Object
}

func objectKey(schemaID int32, name string) string {
	return fmt.Sprintf("%d.%s", schemaID, strings.ToLower(name))
}

// schemaByName finds a schema by its name; nil when there is none.
func (s *schema) schemaByName(name string) *SchemaName {
	for _, n := range s.schemas {
		if strings.EqualFold(n.Name, name) {
			return n
		}
	}
	return nil
}

// find looks an object up by schema and name; nil when there is none.
func (s *schema) find(schemaName, name string) *Object {
	n := s.schemaByName(schemaName)
	if n == nil {
		return nil
	}
	return s.byName[objectKey(n.ID, name)]
}

// named looks an object up by the number of its schema and its name; nil when there is none.
func (s *schema) named(schemaID int32, name string) *Object {
	return s.byName[objectKey(schemaID, name)]
}

// schemaName is the name of an object's schema.
func (s *schema) schemaName(o *Object) string {
	if n := s.schemas[o.Schema]; n != nil {
		return n.Name
	}
	return "dbo"
}

// children are an object's constraints.
func (s *schema) children(id int32) []*Object { return s.byChild[id] }

// column finds a column by name; nil when there is none.
func (t *Table) column(name string) *Column {
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return c
		}
	}
	return nil
}

// columnByID finds a column by its column_id; nil when there is none.
func (t *Table) columnByID(id int32) *Column {
	for _, c := range t.Columns {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// identityColumn is the column with IDENTITY; nil when the table has none.
func (t *Table) identityColumn() *Column {
	for _, c := range t.Columns {
		if c.Identity != nil {
			return c
		}
	}
	return nil
}

// primaryKey is the index of the primary key; nil when the table has none.
func (t *Table) primaryKey() *Index {
	for _, i := range t.Indexes {
		if i.PrimaryKey {
			return i
		}
	}
	return nil
}

// storageName is the name in storage of the table with an object_id.
func storageName(id int32) string { return fmt.Sprintf("t%d", uint32(id)) }

// columnName is the name in its table's storage of the column with a column_id.
func columnName(id int32) string { return fmt.Sprintf("c%d", id) }

// storageName is the name of a table in its storage: storage.TableChange.Table.
func (o *Object) storageName() string { return storageName(o.ID) }

// collationKey is the name of the collation that SQLite knows for a column, empty for columns that have none.
func (c *Column) collationKey() string {
	if !c.Type.Kind.IsCharacter() {
		return ""
	}
	col, ok := sqltype.ParseCollation(c.Collation)
	if !ok {
		col, _ = sqltype.ParseCollation(sqltype.DefaultCollation)
	}
	return col.Key()
}

// coreTables are the engine's own internal tables.
var coreTables = []InternalTable{
	{Name: "__catalog", DDL: []string{
		"CREATE TABLE __catalog (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, next_object INTEGER NOT NULL)",
		"INSERT INTO __catalog VALUES (1, 1, 245575913)",
	}},
	{Name: "__schemas", DDL: []string{
		"CREATE TABLE __schemas (id INTEGER PRIMARY KEY, name TEXT NOT NULL, principal INTEGER NOT NULL)",
		"INSERT INTO __schemas VALUES (1,'dbo',1),(2,'guest',2),(3,'INFORMATION_SCHEMA',3),(4,'sys',4)," +
			"(16384,'db_owner',16384),(16385,'db_accessadmin',16385),(16386,'db_securityadmin',16386),(16387,'db_ddladmin',16387)," +
			"(16389,'db_backupoperator',16389),(16390,'db_datareader',16390),(16391,'db_datawriter',16391)," +
			"(16392,'db_denydatareader',16392),(16393,'db_denydatawriter',16393)",
	}},
	{Name: "__objects", DDL: []string{
		"CREATE TABLE __objects (id INTEGER PRIMARY KEY, doc TEXT NOT NULL)",
	}},
	{Name: "__identity", DDL: []string{
		"CREATE TABLE __identity (id INTEGER PRIMARY KEY, last INTEGER NOT NULL)",
	}},
	{Name: "__properties", DDL: []string{
		"CREATE TABLE __properties (id INTEGER PRIMARY KEY, class INTEGER NOT NULL, major INTEGER NOT NULL, " +
			"minor INTEGER NOT NULL, name TEXT NOT NULL, value BLOB)",
	}},
}

// schemaVersion reads the version of the metadata that a connection sees.
func schemaVersion(conn *sqlite.Conn) (int64, error) {
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

// loadSchema reads all metadata that a connection sees.
func loadSchema(conn *sqlite.Conn, version int64) (*schema, error) {
	s := &schema{version: version, schemas: map[int32]*SchemaName{}, objects: map[int32]*Object{},
		byName: map[string]*Object{}, byChild: map[int32][]*Object{}, placements: map[int32]*Object{}}
	err := sqlitex.Execute(conn, "SELECT id, name, principal FROM __schemas", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			n := &SchemaName{ID: stmt.ColumnInt32(0), Name: stmt.ColumnText(1), Principal: stmt.ColumnInt32(2)}
			s.schemas[n.ID] = n
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
			s.add(o)
			return nil
		}})
	if err != nil {
		return nil, fmt.Errorf("read the objects: %w", err)
	}
	return s, nil
}

// add puts in an object; one that has the name already is hidden by it.
func (s *schema) add(o *Object) {
	if o.placement() {
		s.placements[o.ID] = o
		return
	}
	s.objects[o.ID] = o
	if key := objectKey(o.Schema, o.Name); !hidden(o, s.byName[key]) {
		s.byName[key] = o
	}
	if o.Parent != 0 {
		s.byChild[o.Parent] = append(s.byChild[o.Parent], o)
	}
}

// hidden tells whether a name is that of a later temporary object than o: their numbers, which are negative, fall.
func hidden(o, named *Object) bool { return named != nil && named.ID < o.ID && o.ID < 0 }

// remove takes an object out.
func (s *schema) remove(o *Object) {
	if o.placement() {
		delete(s.placements, o.ID)
		return
	}
	delete(s.objects, o.ID)
	s.unname(o)
	beside := s.byChild[o.Parent]
	for i, c := range beside {
		if c.ID == o.ID {
			s.byChild[o.Parent] = append(append([]*Object(nil), beside[:i]...), beside[i+1:]...)
			break
		}
	}
}

// unname takes an object's name away, which is then that of the temporary table that it hid.
func (s *schema) unname(o *Object) {
	key := objectKey(o.Schema, o.Name)
	delete(s.byName, key)
	if o.ID >= 0 {
		return
	}
	for _, other := range s.objects {
		if other.ID != o.ID && objectKey(other.Schema, other.Name) == key && !hidden(other, s.byName[key]) {
			s.byName[key] = other
		}
	}
}
