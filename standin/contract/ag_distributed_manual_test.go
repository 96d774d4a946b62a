// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestAGDistributedManualSeeding: a second group that has databases, or is not one of the two, does not join; one with
// manual seeding gets its copy from a backup.
func TestAGDistributedManualSeeding(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := distributed{newAGServers(t)}
	d.agDatabase(0, "app")
	d.agDatabase(1, "own")
	d.memberGroup("ag1", "DATABASE [app]", 0)
	d.memberGroup("ag2", "DATABASE [own]", 1)
	options := strings.Replace(memberOptions, "AUTOMATIC", "MANUAL", 1)
	mustExec(t, d.admins[0], "CREATE AVAILABILITY GROUP [dag] WITH (DISTRIBUTED) "+d.members(0, 1, options))
	join := "ALTER AVAILABILITY GROUP [dag] JOIN " + d.members(0, 1, options)
	e := failure(t, d.admins[1], join)
	g.Expect(e.Number).To(Equal(int32(19511)))
	g.Expect(e.Message).To(MatchRegexp("'dag'.*'ag2'"))
	mustExec(t, d.admins[1], "ALTER AVAILABILITY GROUP [ag2] REMOVE DATABASE [own]")
	g.Expect(failure(t, d.admins[1], strings.Replace(join, "'ag1'", "'ag3'", 1)).Number).To(Equal(int32(19508)))
	g.Expect(failure(t, d.admins[0],
		"ALTER AVAILABILITY GROUP [dag] MODIFY AVAILABILITY GROUP ON 'ag3' WITH (SEEDING_MODE = MANUAL)").Number).
		To(Equal(int32(19508)))
	mustExec(t, d.admins[1], join)
	g.Expect(failure(t, d.admins[1],
		strings.Replace("CREATE AVAILABILITY GROUP [other] WITH (DISTRIBUTED) "+d.members(0, 1, options), "'ag1'", "'ag3'",
			1)).Number).
		To(Equal(int32(19503)))

	g.Expect(d.insert(t.Context(), 0, 1)).To(Succeed())
	path := t.TempDir() + "/app.bak"
	mustExec(t, d.admins[0], "BACKUP DATABASE [app] TO DISK = N'"+path+"' WITH COPY_ONLY")
	g.Expect(value(t, d.admins[1], "SELECT COUNT(*) FROM sys.databases WHERE name = 'app'")).
		To(BeEquivalentTo(0), "nothing is seeded")
	mustExec(t, d.admins[1], "RESTORE DATABASE [app] FROM DISK = N'"+path+"' WITH NORECOVERY, "+
		fmt.Sprintf("MOVE N'app' TO N'%[1]s/data/app.mdf', MOVE N'app_log' TO N'%[1]s/data/app_log.ldf'", d.servers[1].root))
	g.Expect(d.insert(t.Context(), 0, 2)).To(Succeed())
	mustExec(t, d.admins[1], "ALTER DATABASE [app] SET HADR AVAILABILITY GROUP = [dag]")
	g.Eventually(d.ids(1), patient, "50ms").Should(Equal([]int64{1, 2}))
	d.failOver(0, 1)
	g.Expect(d.insert(t.Context(), 1, 3)).To(Succeed())
	g.Eventually(d.ids(0), patient, "50ms").Should(Equal([]int64{1, 2, 3}))
}
