// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// A publisher's snapshot folder must be there before the publisher is (21037): nothing of replication makes it. What is
// refused leaves no publisher behind.
func TestPublisherNeedsItsSnapshotFolder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newInstance(t, "MSSQL_AGENT_ENABLED=true").open(t, "master")
	mustExec(t, db, `EXEC sp_adddistributor @distributor = @@SERVERNAME`)
	mustExec(t, db, `EXEC sp_adddistributiondb @database = N'distribution'`)
	const add = `EXEC sp_adddistpublisher @publisher = @@SERVERNAME, @distribution_db = N'distribution',
		@security_mode = 1, @working_directory = @p1`
	folder := filepath.Join(t.TempDir(), "ReplData")
	g.Expect(failure(t, db, add, folder).Number).To(BeEquivalentTo(21037))
	g.Expect(failure(t, db, add, "//elsewhere/ReplData").Number).To(BeEquivalentTo(21037))
	g.Expect(folder).NotTo(BeAnExistingFile())
	g.Expect(value(t, db, `SELECT COUNT(*) FROM msdb.dbo.MSdistpublishers`)).To(BeEquivalentTo(0))
	g.Expect(os.Mkdir(folder, 0o770)).To(Succeed())
	mustExec(t, db, add, folder)
}
