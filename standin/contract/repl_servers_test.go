// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// The servers of a distribution database's rows are those of its own table, by ids that say nothing of sys.servers. A
// publisher that distributes for itself is among them.
func TestServersOfADistributionDatabase(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	r.push(t)
	mustExec(t, r.distDB, `EXEC sp_adddistpublisher @publisher = N'DIST', @distribution_db = N'distribution',
		@security_mode = 1, @working_directory = @p1`, t.TempDir())
	db := r.dist.open(t, "distribution")
	g.Expect(query(t, db, `SELECT srvname FROM dbo.MSreplservers ORDER BY srvname`)).
		To(Equal([][]any{{"DIST"}, {"PUB"}, {"SUB"}}))
	g.Expect(query(t, db, `SELECT DISTINCT p.publication, v.srvname, a.subscriber_db, w.msrs_srvname
		FROM dbo.MSpublications AS p JOIN dbo.MSreplservers AS v ON v.srvid = p.publisher_id
		JOIN dbo.MSdistribution_agents AS a ON a.publisher_id = p.publisher_id AND a.publication = p.publication
		JOIN dbo.MSsysservers_replservers AS w ON w.msrs_srvid = a.subscriber_id
		JOIN dbo.MSlogreader_agents AS l ON l.publisher_id = v.srvid
		JOIN dbo.MSsnapshot_agents AS s ON s.publisher_id = v.srvid`)).
		To(Equal([][]any{{"web", "PUB", "shopcopy", "SUB"}}))
	g.Expect(value(t, db, `SELECT COUNT(*) FROM dbo.MSreplservers AS r JOIN sys.servers AS s ON s.server_id = r.srvid`)).
		To(BeEquivalentTo(0))
}
