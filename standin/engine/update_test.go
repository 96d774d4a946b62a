// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"
)

// TestTargetsAndTheirFromClauses: what a change does depends on whether, and how, its FROM clause has its target
// (docs/t-sql/queries/update-transact-sql.md, Best Practices and common table expressions as targets).
func TestTargetsAndTheirFromClauses(t *testing.T) {
	c := newServer(t).conn("master")
	c.exec("CREATE DATABASE Stock")
	c.exec("USE Stock; CREATE TABLE dbo.Shelf (Id int, Items int); CREATE TABLE dbo.Delivery (Id int, Items int)")
	c.exec("CREATE VIEW dbo.Filled AS SELECT Id AS Place, Items FROM dbo.Shelf WHERE Items > 0")
	for _, e := range []struct{ name, change, want string }{
		{"a table that FROM does not have",
			"UPDATE dbo.Shelf SET Items = d.Items FROM dbo.Delivery d WHERE d.Id = dbo.Shelf.Id", "1:10 2:2"},
		{"a table that FROM has in a subquery only",
			"UPDATE dbo.Shelf SET Items = 9 FROM (SELECT MAX(Id) AS Id FROM dbo.Shelf) AS m WHERE m.Id = Shelf.Id", "1:1 2:9"},
		{"DELETE of a table that FROM does not have", "DELETE dbo.Shelf FROM dbo.Delivery d WHERE d.Id = Shelf.Id", "2:2"},
		{"the alias of a common table expression",
			"WITH s AS (SELECT * FROM dbo.Shelf) UPDATE x SET Items = d.Items + 1 FROM s AS x JOIN dbo.Delivery d ON " +
				"d.Id = x.Id", "1:11 2:2"},
		{"a common table expression by its name",
			"WITH s AS (SELECT * FROM dbo.Shelf) DELETE s FROM s JOIN dbo.Delivery d ON d.Id = s.Id", "2:2"},
		{"a common table expression that FROM has under another name",
			"WITH s AS (SELECT * FROM dbo.Shelf) UPDATE s SET Items = 7 FROM s AS x JOIN dbo.Delivery d ON d.Id = x.Id",
			"1:7 2:7"},
		{"a view by its name",
			"UPDATE dbo.Filled SET Items = d.Items FROM dbo.Filled JOIN dbo.Delivery d ON d.Id = Filled.Place", "1:10 2:2"},
		{"a view that has an alias",
			"UPDATE dbo.Filled SET Items = d.Items FROM dbo.Filled f JOIN dbo.Delivery d ON d.Id = f.Place", "1:10 2:2"},
		{"the alias of a view", "DELETE f FROM dbo.Filled f JOIN dbo.Delivery d ON d.Id = f.Place", "2:2"},
	} {
		c.exec(
			"TRUNCATE TABLE dbo.Shelf; TRUNCATE TABLE dbo.Delivery; INSERT dbo.Shelf VALUES (1, 1), (2, 2); INSERT " +
				"dbo.Delivery VALUES (1, 10), (3, 30)",
		)
		c.exec(e.change)
		if got := strings.Join(c.rows("SELECT CONCAT(Id, ':', Items) FROM dbo.Shelf ORDER BY Id"), " "); got != e.want {
			t.Errorf("%s\n%s\nwant %s, got %s", e.name, e.change, e.want, got)
		}
	}
	c.fails(40517, "UPDATE dbo.Filled SET Items = 1 FROM dbo.Delivery")

	got := c.rows(`DECLARE @s TABLE (Id int, Items int); INSERT @s VALUES (1, 1), (2, 2);
		UPDATE @s SET Items = d.Items FROM dbo.Delivery d WHERE d.Id = 1;
		WITH s AS (SELECT * FROM @s) UPDATE x SET Items = x.Items + d.Items FROM dbo.Delivery d JOIN s AS x ON d.Id = x.Id;
		SELECT CONCAT(Id, ':', Items) FROM @s ORDER BY Id`)
	if want := "1:20 2:10"; strings.Join(got, " ") != want {
		t.Errorf("a table variable: want %s, got %s", want, got)
	}
}
