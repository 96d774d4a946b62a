// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/syntax"
)

// ofTable notes the events of tables, indexes and statistics.
func (e *eventsOf) ofTable(node ast.Statement) bool {
	switch n := node.(type) {
	case *ast.CreateTableStatement:
		e.add("CREATE_TABLE", "TABLE", n.SchemaObjectName)
	case *ast.SelectStatement:
		if n.Into != nil {
			e.add("CREATE_TABLE", "TABLE", n.Into)
		}
	case *ast.AlterTableAddTableElementStatement:
		e.addedTo(n)
	case *ast.AlterTableAlterColumnStatement:
		e.altered(n.SchemaObjectName, changes("Alter", []string{n.ColumnIdentifier.Value}, nil))
	case *ast.AlterTableDropTableElementStatement:
		e.droppedFrom(n)
	case *ast.AlterTableConstraintModificationStatement:
		e.altered(n.SchemaObjectName, "")
	case *ast.AlterTableRebuildStatement:
		e.altered(n.SchemaObjectName, "")
	case *ast.AlterTableSwitchStatement:
		e.altered(n.SchemaObjectName, "")
	case *ast.AlterTableSetStatement:
		e.altered(n.SchemaObjectName, "")
	case *ast.AlterTableTriggerModificationStatement:
		e.altered(n.SchemaObjectName, "")
	case *ast.DropTableStatement:
		return e.dropped("DROP_TABLE", "TABLE", n.Objects)
	case *ast.CreateIndexStatement:
		return e.within("CREATE_INDEX", "INDEX", n.Name.Value, n.OnName)
	case *ast.AlterIndexStatement:
		name := ""
		if n.Name != nil {
			name = n.Name.Value
		}
		return e.within("ALTER_INDEX", "INDEX", name, n.OnName)
	case *ast.DropIndexStatement:
		for _, c := range n.DropIndexClauses {
			table, index := c.Object, c.Index
			if o := c.LegacyIndex; o != nil { // table.index
				table, index = &ast.SchemaObjectName{BaseIdentifier: o.SchemaIdentifier, SchemaIdentifier: o.DatabaseIdentifier},
					o.BaseIdentifier
			}
			if index != nil && table != nil && table.BaseIdentifier != nil && e.hasIndex(table, index.Value) {
				e.within("DROP_INDEX", "INDEX", index.Value, table)
			}
		}
	case *ast.CreateStatisticsStatement:
		return e.within("CREATE_STATISTICS", "STATISTICS", n.Name.Value, n.OnName)
	case *ast.UpdateStatisticsStatement:
		return e.within("UPDATE_STATISTICS", "STATISTICS", "", n.SchemaObjectName)
	case *ast.DropStatisticsStatement:
		for _, o := range n.Objects {
			if o.SchemaIdentifier != nil {
				table := &ast.SchemaObjectName{BaseIdentifier: o.SchemaIdentifier, SchemaIdentifier: o.DatabaseIdentifier}
				e.within("DROP_STATISTICS", "STATISTICS", o.BaseIdentifier.Value, table)
			}
		}
	default:
		return false
	}
	return true
}

func (e *eventsOf) altered(table *ast.SchemaObjectName, fields string) {
	if o := e.add("ALTER_TABLE", "TABLE", table); o != nil {
		o.fields = fields
	}
}

func (e *eventsOf) addedTo(n *ast.AlterTableAddTableElementStatement) {
	var columns, constraints []string
	for _, c := range n.Definition.ColumnDefinitions {
		columns = append(columns, c.ColumnIdentifier.Value)
	}
	for _, c := range n.Definition.TableConstraints {
		var id *ast.Identifier
		switch t := c.(type) {
		case *ast.UniqueConstraintDefinition:
			id = t.ConstraintIdentifier
		case *ast.CheckConstraintDefinition:
			id = t.ConstraintIdentifier
		case *ast.ForeignKeyConstraintDefinition:
			id = t.ConstraintIdentifier
		case *ast.DefaultConstraintDefinition:
			id = t.ConstraintIdentifier
		}
		if id != nil && id.Value != syntax.UnnamedConstraint {
			constraints = append(constraints, id.Value)
		}
	}
	e.altered(n.SchemaObjectName, changes("Create", columns, constraints))
}

func (e *eventsOf) droppedFrom(n *ast.AlterTableDropTableElementStatement) {
	var columns, constraints []string
	for _, el := range n.AlterTableDropTableElements {
		if el.TableElementType == "Column" {
			columns = append(columns, el.Name.Value)
		} else {
			constraints = append(constraints, el.Name.Value)
		}
	}
	e.altered(n.SchemaObjectName, changes("Drop", columns, constraints))
}

func (e *eventsOf) hasIndex(table *ast.SchemaObjectName, name string) bool {
	o := e.existing(table)
	if o == nil || o.Table == nil {
		return false
	}
	for _, i := range o.Table.Indexes {
		if lower(i.Name) == lower(name) {
			return true
		}
	}
	return false
}

// ofModule notes the events of views, procedures, functions and triggers.
func (e *eventsOf) ofModule(node ast.Statement) bool {
	verb := func(n *ast.SchemaObjectName) string {
		if e.existing(n) != nil {
			return "ALTER_"
		}
		return "CREATE_"
	}
	switch n := node.(type) {
	case *ast.CreateViewStatement:
		e.add("CREATE_VIEW", "VIEW", n.SchemaObjectName)
	case *ast.AlterViewStatement:
		e.add("ALTER_VIEW", "VIEW", n.SchemaObjectName)
	case *ast.CreateOrAlterViewStatement:
		e.add(verb(n.SchemaObjectName)+"VIEW", "VIEW", n.SchemaObjectName)
	case *ast.DropViewStatement:
		return e.dropped("DROP_VIEW", "VIEW", n.Objects)
	case *ast.CreateProcedureStatement:
		e.add("CREATE_PROCEDURE", "PROCEDURE", n.ProcedureReference.Name)
	case *ast.AlterProcedureStatement:
		e.add("ALTER_PROCEDURE", "PROCEDURE", n.ProcedureReference.Name)
	case *ast.CreateOrAlterProcedureStatement:
		e.add(verb(n.ProcedureReference.Name)+"PROCEDURE", "PROCEDURE", n.ProcedureReference.Name)
	case *ast.DropProcedureStatement:
		return e.dropped("DROP_PROCEDURE", "PROCEDURE", n.Objects)
	case *ast.CreateFunctionStatement:
		e.add("CREATE_FUNCTION", "FUNCTION", n.Name)
	case *ast.AlterFunctionStatement:
		e.add("ALTER_FUNCTION", "FUNCTION", n.Name)
	case *ast.CreateOrAlterFunctionStatement:
		e.add(verb(n.Name)+"FUNCTION", "FUNCTION", n.Name)
	case *ast.DropFunctionStatement:
		return e.dropped("DROP_FUNCTION", "FUNCTION", n.Objects)
	case *ast.DropTriggerStatement:
		return e.ofDroppedTrigger(n)
	default:
		return e.ofTrigger(node)
	}
	return true
}

// ofTrigger notes CREATE_TRIGGER and ALTER_TRIGGER. A trigger of the server is an event of the server.
func (e *eventsOf) ofTrigger(node ast.Statement) bool {
	m := triggerParts(node)
	if m.name == nil {
		return false
	}
	name, kind := bind.NameOf(m.name).Name, "CREATE_TRIGGER"
	switch {
	case m.alters:
		kind = "ALTER_TRIGGER"
	case m.creates:
	case m.scope == "" || m.scope == metadata.NormalScope:
		if e.existing(m.name) != nil {
			kind = "ALTER_TRIGGER"
		}
	default:
		if _, t := e.s.scopedTrigger(m.scope, name); t != nil {
			kind = "ALTER_TRIGGER"
		}
	}
	switch m.scope {
	case metadata.DatabaseScope:
		return e.inDatabase(kind, "TRIGGER", name)
	case metadata.ServerScope:
		return e.atServer(kind, "TRIGGER", name)
	}
	return e.within(kind, "TRIGGER", name, m.table)
}

func (e *eventsOf) ofDroppedTrigger(n *ast.DropTriggerStatement) bool {
	for _, o := range n.Objects {
		name := bind.NameOf(o).Name
		switch n.TriggerScope {
		case metadata.DatabaseScope, metadata.ServerScope:
			if _, t := e.s.scopedTrigger(n.TriggerScope, name); t == nil {
				continue
			}
			if n.TriggerScope == metadata.ServerScope {
				e.atServer("DROP_TRIGGER", "TRIGGER", name)
			} else {
				e.inDatabase("DROP_TRIGGER", "TRIGGER", name)
			}
		default:
			if e.existing(o) != nil {
				e.add("DROP_TRIGGER", "TRIGGER", o)
			}
		}
	}
	return true
}

// ofObject notes the events of what else is in schemas, and of these.
func (e *eventsOf) ofObject(node ast.Statement) bool {
	switch n := node.(type) {
	case *ast.CreateSynonymStatement:
		e.add("CREATE_SYNONYM", "SYNONYM", n.Name)
	case *ast.DropSynonymStatement:
		return e.dropped("DROP_SYNONYM", "SYNONYM", n.Objects)
	case *ast.CreateSequenceStatement:
		e.add("CREATE_SEQUENCE", "SEQUENCE", n.Name)
	case *ast.AlterSequenceStatement:
		e.add("ALTER_SEQUENCE", "SEQUENCE", n.Name)
	case *ast.DropSequenceStatement:
		return e.dropped("DROP_SEQUENCE", "SEQUENCE", n.Objects)
	case *ast.CreateTypeTableStatement:
		e.add("CREATE_TYPE", "TYPE", n.Name)
	case *ast.CreateTypeUddtStatement:
		e.add("CREATE_TYPE", "TYPE", n.Name)
	case *ast.DropTypeStatement:
		if !n.IsIfExists || e.s.userType(e.s.context(), bind.NameOf(n.Name)) != nil {
			e.add("DROP_TYPE", "TYPE", n.Name)
		}
	case *ast.CreateSchemaStatement:
		name := ""
		if n.Name != nil {
			name = n.Name.Value
		} else if n.Owner != nil {
			name = n.Owner.Value
		}
		return e.inDatabase("CREATE_SCHEMA", "SCHEMA", name)
	case *ast.AlterSchemaStatement:
		return e.inDatabase("ALTER_SCHEMA", "SCHEMA", n.Name.Value)
	case *ast.DropSchemaStatement:
		name := bind.NameOf(n.Schema).Name
		if n.IsIfExists && !e.hasSchema(name) {
			return true
		}
		return e.inDatabase("DROP_SCHEMA", "SCHEMA", name)
	default:
		return e.ofPartitions(node)
	}
	return true
}

func (e *eventsOf) hasSchema(name string) bool {
	sch, err := e.s.schema(e.s.context(), e.s.db.ID())
	return err == nil && sch.SchemaByName(name) != nil
}

// ofPartitions notes the events of partition functions and schemes.
func (e *eventsOf) ofPartitions(node ast.Statement) bool {
	switch n := node.(type) {
	case *ast.CreatePartitionFunctionStatement:
		return e.inDatabase("CREATE_PARTITION_FUNCTION", "PARTITION FUNCTION", n.Name.Value)
	case *ast.AlterPartitionFunctionStatement:
		return e.inDatabase("ALTER_PARTITION_FUNCTION", "PARTITION FUNCTION", n.Name.Value)
	case *ast.DropPartitionFunctionStatement:
		return e.inDatabase("DROP_PARTITION_FUNCTION", "PARTITION FUNCTION", n.Name.Value)
	case *ast.CreatePartitionSchemeStatement:
		return e.inDatabase("CREATE_PARTITION_SCHEME", "PARTITION SCHEME", n.Name.Value)
	case *ast.AlterPartitionSchemeStatement:
		return e.inDatabase("ALTER_PARTITION_SCHEME", "PARTITION SCHEME", n.Name.Value)
	case *ast.DropPartitionSchemeStatement:
		return e.inDatabase("DROP_PARTITION_SCHEME", "PARTITION SCHEME", n.Name.Value)
	}
	return false
}
