// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"context"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/catalog"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/storage"
)

// row is a row of a view by column name; columns left out are NULL.
type row map[string]any

// view makes a view with the documented columns.
func (e *Extension) view(name, permission string, rows func(m *replica.Manager, s *engine.Session) []row) engine.View {
	info, ok := catalog.View("sys." + name)
	if !ok {
		panic("hadr: the catalog has no view sys." + name)
	}
	return engine.View{Schema: "sys", Name: name, Rows: func(ctx context.Context, s *engine.Session) ([][]any, error) {
		if permission != "" {
			if err := s.Require(ctx, engine.Permission{Name: permission}); err != nil {
				return nil, err
			}
		}
		m := e.replicas()
		if m == nil {
			return nil, nil
		}
		return arrange(info, rows(m, s))
	}}
}

// arrange puts rows into the order of the columns. A value for a column that the view does not have is a mistake here.
func arrange(info *catalog.ViewInfo, rows []row) ([][]any, error) {
	var out [][]any
	for _, r := range rows {
		line := make([]any, len(info.Columns))
		used := 0
		for i := range info.Columns {
			if v, ok := r[info.Columns[i].Name]; ok {
				line[i] = v
				used++
			}
		}
		if used != len(r) {
			return nil, fmt.Errorf("view %s has no column for one of %v", info.Name, r)
		}
		out = append(out, line)
	}
	return out, nil
}

// viewState is the permission for dynamic management views from 2022 on.
const viewState = "VIEW SERVER PERFORMANCE STATE"

func (e *Extension) views() []engine.View {
	return []engine.View{
		e.view("availability_groups", "", groupRows),
		e.view("availability_groups_cluster", "", groupClusterRows),
		e.view("availability_replicas", "", replicaRows),
		e.view("availability_databases_cluster", "", databaseClusterRows),
		e.view("availability_group_listeners", "", listenerRows),
		e.view("availability_group_listener_ip_addresses", "", listenerAddressRows),
		e.view("availability_read_only_routing_lists", "", routingRows),
		e.view("dm_hadr_availability_group_states", viewState, groupStateRows),
		e.view("dm_hadr_availability_replica_states", viewState, e.replicaStateRows),
		e.view("dm_hadr_availability_replica_cluster_states", viewState, replicaClusterRows),
		e.view("dm_hadr_availability_replica_cluster_nodes", viewState, replicaNodeRows),
		e.view("dm_hadr_database_replica_states", viewState, e.databaseStateRows),
		e.view("dm_hadr_database_replica_cluster_states", viewState, databaseReplicaClusterRows),
		e.view("dm_hadr_name_id_map", viewState, nameRows),
		e.view("dm_hadr_automatic_seeding", viewState, seedingRows),
		e.view("dm_hadr_physical_seeding_stats", viewState, e.seedingStatsRows),
		// There is no Windows cluster, and no page is ever repaired by a partner.
		e.view("dm_hadr_cluster", viewState, noRows),
		e.view("dm_hadr_cluster_members", viewState, noRows),
		e.view("dm_hadr_auto_page_repair", viewState, noRows),
	}
}

func noRows(*replica.Manager, *engine.Session) []row { return nil }

// timeOrNull is nil for no time; datetime columns are in the server's time, which is UTC.
func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}

// lsnOrNull is a real log sequence number as numeric(25,0).
func lsnOrNull(l storage.LSN) any {
	if l.IsZero() {
		return nil
	}
	return decimal.NewFromBigInt(l.Numeric(), 0)
}

// blockOrNull is a position of the log, which the views show as a padded block.
func blockOrNull(l storage.LSN) any {
	if l.IsZero() {
		return nil
	}
	return decimal.NewFromBigInt(l.PaddedNumeric(), 0)
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
