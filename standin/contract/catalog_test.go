// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/catalog"
)

// TestCataloguedProceduresAndViewsAreThere: each procedure that the catalog has is found, or refused by its name; each
// view has its documented columns in their order. By docs/relational-databases/system-stored-procedures,
// docs/relational-databases/system-catalog-views, docs/relational-databases/system-dynamic-management-views.
func TestCataloguedProceduresAndViewsAreThere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := shared.open(t, "")
	conn := connection(t, db)
	for _, p := range catalog.Procedures() {
		name := p.Name
		if strings.HasPrefix(p.Schema, "dbo") {
			name = "msdb.dbo." + name
		}
		// A parameter that no procedure has: one that exists says so, before it does anything.
		e := failure(t, conn, "EXEC "+name+" @no_such_parameter_at_all = 1")
		g.Expect(e.Number).NotTo(Equal(int32(2812)), name)
	}
	for _, v := range catalog.Views() {
		from := v.Name + map[string]string{"sys.dm_db_log_stats": "(DB_ID())",
			"sys.dm_io_virtual_file_stats": "(NULL, NULL)"}[v.Name]
		rows, err := conn.QueryContext(t.Context(), "SELECT * FROM "+from+" WHERE 1 = 0")
		g.Expect(err).NotTo(HaveOccurred(), v.Name)
		names, err := rows.Columns()
		rows.Close()
		g.Expect(err).NotTo(HaveOccurred(), v.Name)
		have := map[string]bool{}
		for _, n := range names {
			have[strings.ToLower(n)] = true
		}
		for _, c := range v.Columns {
			if v.Name == "sys.dm_io_virtual_file_stats" && c.Name == "database_name" {
				continue // of Azure Synapse Analytics only
			}
			if v.Name == "sys.master_files" && c.Name == "is_media_read_onlyF" {
				c.Name = "is_media_read_only" // the page misspells it
			}
			g.Expect(have).To(HaveKey(strings.ToLower(c.Name)), v.Name)
		}
	}
}
