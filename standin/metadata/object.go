// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Object kinds, sys.objects.type without padding.
const (
	KindTable      = "U"
	KindView       = "V"
	KindProcedure  = "P"
	KindScalar     = "FN"
	KindInline     = "IF"
	KindPrimaryKey = "PK"
	KindUnique     = "UQ"
	KindForeignKey = "F"
	KindCheck      = "C"
	KindDefault    = "D"
	KindSequence   = "SO"
	KindSynonym    = "SN"
	KindTableType  = "TT"
	KindTrigger    = "TR"
	// KindScopedTrigger are triggers of the database and, in master, of the server, which are in no schema and no objects
	// to sys.objects.
	KindScopedTrigger = "scoped trigger"
	// KindAlias are alias types, which are no objects to sys.objects.
	KindAlias         = "alias"
	KindTableFunction = "TF"
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
	// ExecutionPublished is sys.procedures.is_execution_replicated: calls of the procedure are an article.
	// SerializableOnly is is_repl_serializable_only: only those in serializable transactions.
	ExecutionPublished bool `json:"executionPublished,omitempty"`
	SerializableOnly   bool `json:"serializableOnly,omitempty"`

	Table *Table `json:"table,omitempty"`
	// Definition is the text of a module, check or default.
	Definition string      `json:"definition,omitempty"`
	ForeignKey *ForeignKey `json:"foreignKey,omitempty"`
	// ExecuteAs is the principal_id that a module of a database runs as, executeAsOwner for its owner; nil for its caller.
	// ExecuteAsLogin is the login that a trigger of the server runs as.
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

// Scoped configurations are kept with a database's objects, so that they travel with it
// (docs/relational-databases/system-catalog-views/sys-database-scoped-configurations-transact-sql.md, Remarks).
const KindScopedConfiguration = "scoped"

// StartupOption is the property of a procedure of master that runs whenever the instance has started.
const StartupOption = "startup"

// String is the object's type, object_id and name.
func (o *Object) String() string { return fmt.Sprintf("%s %d %s", o.Kind, o.ID, o.Name) }

// DefinitionPublished tells whether subscribers have the object's definition, alone or with its execution.
func (o *Object) DefinitionPublished() bool { return o.SchemaPublished || o.ExecutionPublished }

// TakesParameters says whether an object is a procedure or a function.
func (o *Object) TakesParameters() bool {
	switch o.Kind {
	case KindProcedure, KindScalar, KindInline, KindTableFunction:
		return true
	}
	return false
}

// IsVariable says whether a table is a variable, or what a trigger calls inserted and deleted.
func (o *Object) IsVariable() bool { return strings.HasPrefix(o.Name, "@") }

// ShownName is an object's name as messages have it: table variables without their frame.
func (o *Object) ShownName() string {
	if o.IsVariable() {
		name, _, _ := strings.Cut(o.Name, "/")
		return name
	}
	return o.Name
}

// placement tells whether an object is kept with the placements, not among the objects.
func (o *Object) placement() bool {
	return o.FileGroup != nil || o.File != nil || o.Function != nil || o.Scheme != nil || o.Kind == KindScopedConfiguration
}

// FiringOrder is 0 for the first trigger of an event, 2 for the last, else 1.
func (o *Object) FiringOrder(event string) int {
	for i, order := range []string{"first", "last"} {
		for _, e := range strings.Split(o.Properties[order], ",") {
			if e == event {
				return 2 * i
			}
		}
	}
	return 1
}

// InFiringOrder sorts triggers as they fire for an event: the first one, others in the order of their making, the last
// one.
func InFiringOrder(list []*Object, event string) {
	sort.SliceStable(list, func(i, j int) bool {
		if a, b := list[i].FiringOrder(event), list[j].FiringOrder(event); a != b {
			return a < b
		}
		return list[i].Created.Before(list[j].Created)
	})
}

// Contains tells whether an object is in a list.
func Contains(list []*Object, o *Object) bool {
	for _, other := range list {
		if other.ID == o.ID {
			return true
		}
	}
	return false
}

// TypeName is the name of a user-defined type.
func (o *Object) TypeName() string { return strings.TrimPrefix(o.Name, AliasTypePrefix) }

// UserTypeID is the user_type_id of a type; 0 for other objects.
func (o *Object) UserTypeID() int64 {
	id, _ := strconv.ParseInt(o.Properties[UserTypeProperty], 10, 64)
	return id
}

// AliasTypePrefix keeps the names of types apart from those of objects.
const AliasTypePrefix = "\x00type:"

// UserTypeProperty is the property of a type's object that has its user_type_id.
const UserTypeProperty = "userTypeID"

// ExecuteAsPrincipal is execute_as_principal_id, NULL for the caller.
func (o *Object) ExecuteAsPrincipal() any {
	if o.ExecuteAs == nil {
		return nil
	}
	return int64(*o.ExecuteAs)
}

// SystemObjectID is a made-up negative object_id of a system object, the same at all times.
func SystemObjectID(name string) int32 {
	h := uint32(2166136261)
	for _, c := range []byte(strings.ToLower(name)) {
		h = (h ^ uint32(c)) * 16777619
	}
	return -int32(h&0x7ffffff) - 1
}
