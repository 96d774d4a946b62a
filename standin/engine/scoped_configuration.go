// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// secondaryConfiguration begins the names of what holds for secondaries.
const secondaryConfiguration = "SECONDARY "

// maxScopedMAXDOP is the greatest value of max degree of parallelism
// (docs/database-engine/configure-windows/configure-the-max-degree-of-parallelism-server-configuration-option.md).
const maxScopedMAXDOP = 32767

const scopedStatement = "ALTER DATABASE SCOPED CONFIGURATION"

// verboseLevel is the compatibility level from which VERBOSE_TRUNCATION_WARNINGS has an effect
// (docs/t-sql/statements/alter-database-scoped-configuration-transact-sql.md).
const verboseLevel = 150

func installScopedConfigurations(r *Registry) {
	on(r, (*Session).alterScopedConfiguration)
	r.RecordView(
		"",
		"sys",
		"database_scoped_configurations",
		"configuration_id int, name nvarchar(60), value sql_variant, value_for_secondary sql_variant, is_value_default bit",
		scopedRecords,
	)
}

// alterScopedConfiguration is ALTER DATABASE SCOPED CONFIGURATION. No plan is cached whose handle one could give.
func (s *Session) alterScopedConfiguration(
	ctx context.Context,
	n *syntax.AlterScopedConfiguration,
	w tds.Writer,
) error {
	if s.require(ctx, Permission{Name: "ALTER ANY DATABASE SCOPED CONFIGURATION", Database: s.db}) != nil {
		return sqlerr.New(15247, 1)
	}
	switch {
	case n.PlanHandle != nil:
		return sqlerr.New(12117, 1)
	case n.Clear:
		return nil
	case n.Value == "PRIMARY" && !n.Secondary:
		return sqlerr.New(12109, 1, scopedStatement, n.Value, n.Value)
	case n.Secondary && !scopedConfiguration(n.Name).Secondary:
		return sqlerr.New(12110, 1, scopedStatement, n.Name)
	}
	if v, err := strconv.Atoi(n.Value); n.Name == "MAXDOP" && n.Value != "PRIMARY" &&
		(err != nil || v < 0 || v > maxScopedMAXDOP) {
		return sqlerr.New(12108, 1, n.Value, n.Name, "max degree of parallelism")
	}
	return s.ChangeSchema(ctx, bind.ObjectName{}, func(d *SchemaChange) error {
		if n.Name == "IDENTITY_CACHE" && n.Value == "OFF" {
			if err := d.recordIdentities(); err != nil {
				return err
			}
		}
		return d.scope(n)
	})
}

func scopedConfiguration(name string) syntax.ScopedConfiguration {
	for _, c := range syntax.ScopedConfigurations {
		if c.Name == name {
			return c
		}
	}
	return syntax.ScopedConfiguration{}
}

// scope records a configuration; what is as it is by default has no record.
func (d *SchemaChange) scope(n *syntax.AlterScopedConfiguration) error {
	o := &metadata.Object{
		ID:         metadata.PlacementRow(metadata.KindScopedConfiguration, 0),
		Kind:       metadata.KindScopedConfiguration,
		Name:       metadata.KindScopedConfiguration,
		Created:    time.Now().UTC(),
		Properties: map[string]string{},
	}
	if list := d.sch.Placed(metadata.KindScopedConfiguration); len(list) > 0 {
		copied := *list[0]
		copied.Properties = map[string]string{}
		for name, value := range list[0].Properties {
			copied.Properties[name] = value
		}
		o = &copied
	}
	name, unless := n.Name, scopedConfiguration(n.Name).Default
	if n.Secondary {
		name, unless = secondaryConfiguration+n.Name, "PRIMARY"
	}
	o.Properties[name] = n.Value
	if n.Value == unless {
		delete(o.Properties, name)
	}
	return d.SavePlacement(o)
}

// scopedValueOf is the value of a configuration of the database that a schema is of.
func scopedValueOf(s *metadata.Catalog, name string) string {
	for _, o := range s.Placed(metadata.KindScopedConfiguration) {
		if v, set := o.Properties[name]; set {
			return v
		}
	}
	return scopedConfiguration(name).Default
}

func scopedRecords(ctx context.Context, s *Session) ([]record, error) {
	sch, err := s.schema(ctx, s.viewDatabase().ID())
	if err != nil {
		return nil, err
	}
	var out []record
	for _, c := range syntax.ScopedConfigurations {
		value := scopedValueOf(sch, c.Name)
		rec := record{
			"configuration_id": c.ID,
			"name":             c.Name,
			"value":            scopedValue(value, c.Name),
			"is_value_default": value == c.Default,
		}
		if second := scopedValueOf(sch, secondaryConfiguration+c.Name); second != "" {
			rec["value_for_secondary"] = scopedValue(second, c.Name)
		}
		out = append(out, rec)
	}
	return out, nil
}

// scopedValue is a value as the view has it: numbers and switches as numbers, words as they are.
func scopedValue(value, name string) any {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return n
	}
	if name == "ELEVATE_ONLINE" || name == "ELEVATE_RESUMABLE" || name == "LEDGER_DIGEST_STORAGE_ENDPOINT" {
		return value
	}
	return asBit(value == "ON")
}

// VerboseTruncation tells whether a text that is cut off is reported with its place (2628).
func (db *Database) VerboseTruncation() bool {
	sch := db.catalogue(context.Background())
	return db.Info().CompatibilityLevel >= verboseLevel &&
		(sch == nil || scopedValueOf(sch, "VERBOSE_TRUNCATION_WARNINGS") == "ON")
}

// identityStep is how many values of identity columns are reserved at once.
func (s *Session) identityStep(db *Database) int64 {
	if sch, err := s.schema(s.context(), db.ID()); err == nil && scopedValueOf(sch, "IDENTITY_CACHE") == "OFF" {
		return 0
	}
	return identityCache
}

// recordIdentities takes back what was reserved ahead, as from now on nothing is.
func (d *SchemaChange) recordIdentities() error {
	for id, c := range d.s.identities(d.db).all() {
		last, undo, differs := c.exact()
		if !differs {
			continue
		}
		if o := d.s.open[d.space]; o != nil {
			o.undo = append(o.undo, undo)
		}
		if err := sqlitex.Execute(d.conn, "UPDATE __identity SET last = ? WHERE id = ?",
			&sqlitex.ExecOptions{Args: []any{last, int64(id)}}); err != nil {
			return err
		}
	}
	return nil
}
