// SPDX-License-Identifier: Apache-2.0

package ddl

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// refusedStatisticsOption names an option of WITH that has no meaning here; empty when there is none.
func refusedStatisticsOption(options []ast.StatisticsOption) string {
	for _, opt := range options {
		switch o := opt.(type) {
		case *ast.LiteralStatisticsOption:
			if o.OptionKind == "StatsStream" {
				return "STATS_STREAM"
			}
		case *ast.OnOffStatisticsOption:
			if o.OptionKind == "Incremental" && o.OptionState == "On" {
				return "INCREMENTAL"
			}
		case *ast.ResampleStatisticsOption:
			if len(o.Partitions) > 0 {
				return "RESAMPLE ON PARTITIONS"
			}
		}
	}
	return ""
}

// onlyCounts tells that the statement gives the optimiser numbers of rows and pages to believe in, and updates no
// statistics (docs/t-sql/statements/update-statistics-transact-sql.md, ROWCOUNT and PAGECOUNT). Nothing here goes by
// them.
func onlyCounts(options []ast.StatisticsOption) bool {
	return slices.ContainsFunc(options, func(opt ast.StatisticsOption) bool {
		o, ok := opt.(*ast.LiteralStatisticsOption)
		return ok && (o.OptionKind == "RowCount" || o.OptionKind == "PageCount")
	})
}

// simpleStatisticsOption tells whether WITH has an option of one word.
func simpleStatisticsOption(options []ast.StatisticsOption, kind string) bool {
	return slices.ContainsFunc(options, func(opt ast.StatisticsOption) bool {
		o, ok := opt.(*ast.SimpleStatisticsOption)
		return ok && o.OptionKind == kind
	})
}

func createStatistics(ctx context.Context, s *engine.Session, n *ast.CreateStatisticsStatement, _ tds.Writer) error {
	if word := refusedStatisticsOption(n.StatisticsOptions); word != "" {
		return sqlerr.Unsupported("CREATE STATISTICS WITH " + word)
	}
	name := bind.NameOf(n.OnName)
	return s.ChangeSchema(ctx, name, func(d *engine.SchemaChange) error {
		o, err := d.TableToChange(name, 1088)
		if err != nil {
			return err
		}
		if o.Table.HasStatistics(n.Name.Value) {
			return sqlerr.New(1927, 1, name.String(), n.Name.Value)
		}
		st := &metadata.Statistic{
			Name:        n.Name.Value,
			Updated:     time.Now().UTC(),
			NoRecompute: simpleStatisticsOption(n.StatisticsOptions, "NoRecompute"),
		}
		for _, opt := range n.StatisticsOptions {
			if on, ok := opt.(*ast.OnOffStatisticsOption); ok && on.OptionKind == "AutoDrop" {
				st.AutoDrop = on.OptionState == "On"
			}
		}
		for _, ref := range n.Columns {
			parts := ref.MultiPartIdentifier.Identifiers
			column := parts[len(parts)-1].Value
			c := o.Table.Column(column)
			if c == nil {
				return sqlerr.New(1911, 1, column)
			}
			if slices.Contains(st.Columns, c.ID) {
				return sqlerr.New(1909, 2, "statistics", c.Name)
			}
			st.Columns = append(st.Columns, c.ID)
		}
		if n.FilterPredicate != nil {
			if st.Filter, err = d.StatisticsFilter(o, n.FilterPredicate, st.Name); err != nil {
				return err
			}
		}
		st.ID = o.Table.NextIndex
		o.Table.NextIndex++
		o.Table.Statistics = append(o.Table.Statistics, st)
		return d.Save(o)
	})
}

func updateStatistics(ctx context.Context, s *engine.Session, n *ast.UpdateStatisticsStatement, _ tds.Writer) error {
	if word := refusedStatisticsOption(n.StatisticsOptions); word != "" {
		return sqlerr.Unsupported("UPDATE STATISTICS WITH " + word)
	}
	name := bind.NameOf(n.SchemaObjectName)
	return s.ChangeSchema(ctx, name, func(d *engine.SchemaChange) error {
		o, err := d.TableToChange(name, 2706)
		if err != nil {
			return err
		}
		wanted := map[string]bool{}
		for _, id := range n.SubElements {
			if !o.Table.HasStatistics(id.Value) {
				return sqlerr.New(2767, 1, id.Value)
			}
			wanted[strings.ToLower(id.Value)] = true
		}
		if onlyCounts(n.StatisticsOptions) {
			return nil
		}
		now := time.Now().UTC()
		noRecompute := simpleStatisticsOption(n.StatisticsOptions, "NoRecompute")
		if !simpleStatisticsOption(n.StatisticsOptions, "Index") {
			for _, st := range o.Table.Statistics {
				if len(wanted) == 0 || wanted[strings.ToLower(st.Name)] {
					st.Updated, st.NoRecompute = now, noRecompute
				}
			}
		}
		if !simpleStatisticsOption(n.StatisticsOptions, "Columns") {
			for _, i := range o.Table.Indexes {
				if len(wanted) == 0 || wanted[strings.ToLower(i.Name)] {
					i.StatsUpdated, i.NoRecompute = &now, noRecompute
				}
			}
		}
		return d.Save(o)
	})
}

// dropStatistics is DROP STATISTICS table.name, which names the table in front of the statistics.
func dropStatistics(ctx context.Context, s *engine.Session, n *ast.DropStatisticsStatement, _ tds.Writer) error {
	for _, object := range n.Objects {
		full := bind.NameOf(object)
		table, name := bind.ObjectName{Database: full.Server, Schema: full.Database, Name: full.Schema}, full.Name
		missing := sqlerr.New(3701, 6, "drop", "statistics", full.String())
		if table.Name == "" {
			return missing
		}
		err := s.ChangeSchema(ctx, table, func(d *engine.SchemaChange) error {
			o, err := d.TableToChange(table, 4902)
			if err != nil {
				return missing
			}
			at := slices.IndexFunc(
				o.Table.Statistics,
				func(st *metadata.Statistic) bool { return strings.EqualFold(st.Name, name) },
			)
			switch {
			case at >= 0:
				o.Table.Statistics = slices.Delete(slices.Clone(o.Table.Statistics), at, at+1)
				return d.Save(o)
			case o.Table.HasStatistics(name):
				return sqlerr.New(3739, 1, "DROP", full.String())
			}
			return missing
		})
		if err != nil {
			return err
		}
	}
	return nil
}
