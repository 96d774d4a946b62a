// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A failure of an agent is several rows of one id: what it attempted, its own message, and the server's error.
func TestErrorOfAnAgentIsSeveralRows(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := pushing(t)
	mustExec(t, r.target, `DELETE FROM dbo.orders WHERE id = 1`)
	mustExec(t, r.source, `UPDATE dbo.orders SET amount = 3 WHERE id = 1`)
	const rows = `SELECT CAST(COUNT(*) AS varchar(10)) + N' ' + CAST(COUNT(e.error_code) AS varchar(10)) + N' ' +
		CAST(SUM(CASE WHEN e.error_code LIKE N'MSSQL[_]REPL%' THEN 1 ELSE 0 END) AS varchar(10)) + N' ' +
		MIN(e.error_code) FROM distribution.dbo.MSrepl_errors AS e WHERE e.id = (SELECT MAX(h.error_id)
		FROM distribution.dbo.MSdistribution_history AS h)`
	g.Eventually(func() any { return scalar(r.distDB, rows) }).WithTimeout(deliverWithin).Should(Equal("3 2 1 20598"))
}
