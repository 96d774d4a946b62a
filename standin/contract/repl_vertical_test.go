// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// An article whose columns are to be chosen begins with those of keys, and with those that may be NULL and have no
// default: what is to be left out of them has to be taken away.
func TestColumnsThatAVerticalArticleBeginsWith(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	mustExec(t, r.source, `CREATE TABLE dbo.parts (id int NOT NULL PRIMARY KEY, code varchar(9) NOT NULL UNIQUE,
		maybe int NULL, filled int NULL DEFAULT 7, must int NOT NULL)`)
	mustExec(t, r.source, `EXEC sp_addarticle @publication = N'web', @article = N'parts', @source_owner = N'dbo',
		@source_object = N'parts', @vertical_partition = N'true'`)
	const published = `SELECT c.name FROM dbo.sysarticles AS a JOIN dbo.sysarticlecolumns AS x ON x.artid = a.artid
		JOIN sys.columns AS c ON c.object_id = a.objid AND c.column_id = x.colid WHERE a.name = N'parts'
		ORDER BY c.column_id`
	g.Expect(query(t, r.source, published)).To(Equal([][]any{{"id"}, {"code"}, {"maybe"}}))
	for column, operation := range map[string]string{"maybe": "drop", "must": "add"} {
		mustExec(t, r.source, `EXEC sp_articlecolumn @publication = N'web', @article = N'parts', @column = @p1,
			@operation = @p2`, column, operation)
	}
	g.Expect(query(t, r.source, published)).To(Equal([][]any{{"id"}, {"code"}, {"must"}}))
}
