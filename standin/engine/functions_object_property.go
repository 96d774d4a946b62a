// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// objectProperty is OBJECTPROPERTY (docs/t-sql/functions/objectproperty-transact-sql.md). A property of another kind of
// object is NULL, but those that ask what an object is.
func objectProperty(s *Session, a []any) any {
	o := s.objectByID(a[0])
	property, _ := a[1].(string)
	if o == nil {
		return nil
	}
	property = lower(strings.TrimRight(property, " "))
	switch {
	case property == "ownerid":
		return int64(1)
	case property == "schemaid":
		return int64(o.Schema)
	case strings.HasPrefix(property, "is"):
		return objectIs(o, property)
	case strings.HasPrefix(property, "cnst") && objectIs(o, "isconstraint") == int64(1):
		return s.constraintProperty(o, property)
	case strings.HasPrefix(property, "exec") && objectIs(o, "isexecuted") == int64(1):
		return executedProperty(o, property)
	case strings.HasPrefix(property, "has") && (o.Kind == metadata.KindTable || o.Kind == metadata.KindView),
		strings.HasPrefix(property, "table") && o.Kind == metadata.KindTable:
		return s.tableProperty(o, property)
	}
	return nil
}

// objectPropertyEx is OBJECTPROPERTYEX (docs/t-sql/functions/objectpropertyex-transact-sql.md).
func objectPropertyEx(s *Session, a []any) any {
	if property, _ := a[1].(string); strings.EqualFold(property, "BaseType") {
		if o := s.objectByID(a[0]); o != nil {
			if kind := s.baseType(o); kind != "" {
				return sqltype.Variant{Type: sqltype.Type{Kind: sqltype.Char, Length: 2}, Value: fmt.Sprintf("%-2s", kind)}
			}
		}
		return nil
	}
	return objectProperty(s, a)
}

// objectIs are the properties that tell what an object is.
func objectIs(o *metadata.Object, property string) any {
	function := o.Kind == metadata.KindScalar || o.Kind == metadata.KindInline || o.Kind == metadata.KindTableFunction
	constraint := slices.Contains(
		[]string{
			metadata.KindPrimaryKey,
			metadata.KindUnique,
			metadata.KindForeignKey,
			metadata.KindCheck,
			metadata.KindDefault,
		},
		o.Kind,
	)
	executed := function ||
		slices.Contains([]string{metadata.KindProcedure, metadata.KindView, metadata.KindTrigger}, o.Kind)
	if kind := map[string]string{"isview": metadata.KindView, "isprocedure": metadata.KindProcedure,
		"isscalarfunction": metadata.KindScalar, "isinlinefunction": metadata.KindInline, "istrigger": metadata.KindTrigger,
		"istable": metadata.KindTable, "isusertable": metadata.KindTable,
		"isprimarykey": metadata.KindPrimaryKey, "isuniquecnst": metadata.KindUnique, "isforeignkey": metadata.KindForeignKey,
		"ischeckcnst": metadata.KindCheck, "isdefaultcnst": metadata.KindDefault}[property]; kind != "" {
		return yes(o.Kind == kind)
	}
	switch property {
	case "istablefunction":
		return yes(o.Kind == metadata.KindInline || o.Kind == metadata.KindTableFunction)
	case "isconstraint":
		return yes(constraint)
	case "isexecuted":
		return yes(executed)
	case "ismsshipped":
		return yes(o.Shipped)
	case "isencrypted":
		return yes(o.Encrypted)
	case "isansinullson":
		return yes(executed && !o.AnsiNullsOff || o.Table != nil && !o.Table.AnsiNullsOff)
	case "isquotedidenton":
		return yes(executed && o.QuotedIdentifier || o.Table != nil || constraint)
	case "isindexed":
		return yes(o.Table != nil && len(o.Table.Indexes) > 0)
	case "isindexable":
		return yes(o.Kind == metadata.KindTable || o.Kind == metadata.KindView && IsSchemaBound(o))
	case "isschemabound":
		if !function && o.Kind != metadata.KindView {
			return nil
		}
		return yes(IsSchemaBound(o))
	case "isdeterministic":
		if !function && o.Kind != metadata.KindView {
			return nil
		}
		return int64(0)
	case "isdefault", "isrule", "isqueue", "isextendedproc", "isreplproc", "issystemtable":
		return int64(0)
	}
	return nil
}

func (s *Session) constraintProperty(o *metadata.Object, property string) any {
	var index *metadata.Index
	if parent := s.objectByID(int64(o.Parent)); parent != nil && parent.Table != nil {
		if i := slices.IndexFunc(parent.Table.Indexes, func(i *metadata.Index) bool { return i.Constraint == o.ID }); i >= 0 {
			index = parent.Table.Indexes[i]
		}
	}
	switch property {
	case "cnstisclustkey":
		return yes(index != nil && index.Clustered)
	case "cnstisnonclustkey":
		return yes(index != nil && !index.Clustered)
	case "cnstiscolumn":
		return yes(o.Column != 0 || o.ForeignKey != nil && len(o.ForeignKey.Columns) == 1)
	case "cnstisdeletecascade":
		return yes(o.ForeignKey != nil && o.ForeignKey.OnDelete == "CASCADE")
	case "cnstisupdatecascade":
		return yes(o.ForeignKey != nil && o.ForeignKey.OnUpdate == "CASCADE")
	case "cnstisdisabled":
		return yes(o.Disabled)
	case "cnstisnotrepl":
		return yes(o.NotForReplication)
	case "cnstisnottrusted":
		return yes(o.NotTrusted)
	}
	return nil
}

func executedProperty(o *metadata.Object, property string) any {
	switch property {
	case "execisansinullson":
		return yes(!o.AnsiNullsOff)
	case "execisquotedidenton":
		return yes(o.QuotedIdentifier)
	case "execisstartup":
		return yes(o.Kind == metadata.KindProcedure && o.Properties[metadata.StartupOption] != "")
	case "execiswithnativecompilation":
		return int64(0)
	}
	if o.Kind != metadata.KindTrigger {
		return nil
	}
	switch property {
	case "execisaftertrigger":
		return yes(o.Properties[metadata.InsteadOf] == "")
	case "execisinsteadoftrigger":
		return yes(o.Properties[metadata.InsteadOf] != "")
	case "execistriggerdisabled":
		return yes(o.Disabled)
	case "execistriggernotforrepl":
		return yes(o.NotForReplication)
	}
	for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
		fires := listed(o.Properties[metadata.TriggerEvents], event)
		switch property {
		case "execis" + lower(event) + "trigger":
			return yes(fires)
		case "execisfirst" + lower(event) + "trigger":
			return yes(fires && o.FiringOrder(event) == 0)
		case "execislast" + lower(event) + "trigger":
			return yes(fires && o.FiringOrder(event) == 2)
		}
	}
	return nil
}

// tableProperty are the properties of tables, those of triggers also of views.
func (s *Session) tableProperty(o *metadata.Object, property string) any {
	sch, err := s.schema(s.context(), s.db.ID())
	if err != nil || sch.Objects[o.ID] == nil {
		sch = s.local.schema
	}
	if sch == nil {
		return nil
	}
	children := sch.Children(o.ID)
	if v := triggerProperty(children, property); v != nil {
		return v
	}
	has := func(kind string) any {
		return yes(slices.ContainsFunc(children, func(c *metadata.Object) bool { return c.Kind == kind }))
	}
	switch property {
	case "tablehascheckcnst":
		return has(metadata.KindCheck)
	case "tablehasdefaultcnst":
		return has(metadata.KindDefault)
	case "tablehasforeignkey":
		return has(metadata.KindForeignKey)
	case "tablehasuniquecnst":
		return has(metadata.KindUnique)
	case "tablehasforeignref":
		for _, other := range sch.Objects {
			if other.ForeignKey != nil && other.ForeignKey.Referenced == o.ID {
				return int64(1)
			}
		}
		return int64(0)
	}
	if o.Table == nil {
		return nil
	}
	return propertyOfTable(o.Table, property)
}

// triggerProperty are the properties that a table or view has by the triggers among its children.
func triggerProperty(children []*metadata.Object, property string) any {
	triggers := func(fits func(*metadata.Object) bool) []*metadata.Object {
		var out []*metadata.Object
		for _, c := range children {
			if c.Kind == metadata.KindTrigger && fits(c) {
				out = append(out, c)
			}
		}
		slices.SortFunc(out, func(a, b *metadata.Object) int { return int(a.ID) - int(b.ID) })
		return out
	}
	switch property {
	case "hasaftertrigger":
		return yes(len(triggers(func(t *metadata.Object) bool { return t.Properties[metadata.InsteadOf] == "" })) > 0)
	case "hasinsteadoftrigger":
		return yes(len(triggers(func(t *metadata.Object) bool { return t.Properties[metadata.InsteadOf] != "" })) > 0)
	}
	for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
		all := triggers(func(t *metadata.Object) bool { return listed(t.Properties[metadata.TriggerEvents], event) })
		switch property {
		case "has" + lower(event) + "trigger", "tablehas" + lower(event) + "trigger":
			return yes(len(all) > 0)
		case "table" + lower(event) + "triggercount":
			return int64(len(all))
		case "table" + lower(event) + "trigger":
			if len(all) == 0 {
				return int64(0)
			}
			return int64(all[0].ID)
		}
	}
	return nil
}

// propertyOfTable are the properties that a table has by its columns, indexes and options.
func propertyOfTable(t *metadata.Table, property string) any {
	column := func(fits func(*metadata.Column) bool) any { return yes(slices.ContainsFunc(t.Columns, fits)) }
	index := func(fits func(*metadata.Index) bool) any { return yes(slices.ContainsFunc(t.Indexes, fits)) }
	switch property {
	case "tablehasprimarykey":
		return yes(t.PrimaryKey() != nil)
	case "tablehasidentity":
		return yes(t.IdentityColumn() != nil)
	case "tablehasindex":
		return yes(len(t.Indexes) > 0)
	case "tablehasclustindex":
		return index(func(i *metadata.Index) bool { return i.Clustered })
	case "tablehasnonclustindex":
		return index(func(i *metadata.Index) bool { return !i.Clustered })
	case "tablehasrowguidcol":
		return column(func(c *metadata.Column) bool { return c.RowGUID })
	case "tablehastextimage":
		return column(func(c *metadata.Column) bool {
			return c.Type.Kind == sqltype.Text || c.Type.Kind == sqltype.NText || c.Type.Kind == sqltype.Image
		})
	case "tablehastimestamp":
		return column(func(c *metadata.Column) bool { return c.Type.Kind == sqltype.RowVersion })
	case "tableislockedonbulkload":
		return yes(t.BulkLock)
	case "tabletextinrowlimit":
		return int64(t.TextInRow)
	case "tableisfake",
		"tableispinned",
		"tableismemoryoptimized",
		"tabletemporaltype",
		"tablehascolumnset",
		"tablehasvardecimalstorageformat",
		"tablehasactivefulltextindex",
		"tablefulltextcatalogid",
		"tablefulltextchangetrackingon",
		"tablefulltextbackgroundupdateindexon",
		"tablefulltextkeycolumn",
		"tablefulltextpopulatestatus",
		"tablefulltextitemcount",
		"tablefulltextdocsprocessed",
		"tablefulltextfailcount",
		"tablefulltextpendingchanges",
		"tablefulltextmergestatus":
		return int64(0)
	}
	return nil
}

// indexProperty is INDEXPROPERTY (docs/t-sql/functions/indexproperty-transact-sql.md): of indexes, and of statistics by
// their name.
func indexProperty(s *Session, a []any) any {
	o := s.objectByID(a[0])
	name, _ := a[1].(string)
	property, _ := a[2].(string)
	if o == nil || o.Table == nil {
		return nil
	}
	property = lower(strings.TrimRight(property, " "))
	for _, i := range o.Table.Indexes {
		if strings.EqualFold(i.Name, name) {
			return propertyOfIndex(i, property)
		}
	}
	for _, st := range o.Table.Statistics {
		if !strings.EqualFold(st.Name, name) {
			continue
		}
		switch property {
		case "indexid":
			return int64(st.ID)
		case "isstatistics":
			return int64(1)
		}
		if propertyOfIndex((&metadata.Index{}), property) != nil {
			return int64(0)
		}
	}
	return nil
}

// propertyOfIndex is one of an index. Its depth is that of sys.dm_db_index_physical_stats.
func propertyOfIndex(i *metadata.Index, property string) any {
	switch property {
	case "indexid":
		return int64(i.ID)
	case "indexdepth":
		return int64(1)
	case "indexfillfactor":
		return int64(i.FillFactor)
	case "isclustered":
		return yes(i.Clustered)
	case "isunique":
		return yes(i.Unique)
	case "isdisabled":
		return yes(i.Disabled)
	case "ispadindex":
		return yes(i.Padded)
	case "isrowlockdisallowed":
		return yes(i.Locks.NoRow)
	case "ispagelockdisallowed":
		return yes(i.Locks.NoPage)
	case "isoptimizedforsequentialkey":
		return yes(i.SequentialKey)
	case "isautostatistics", "isstatistics", "iscolumnstore", "isfulltextkey", "ishypothetical":
		return int64(0)
	}
	return nil
}
