// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// TestRestoreNamesTheFilesThatAreTaken: docs/t-sql/statements/restore-statements-arguments-transact-sql.md, MOVE and
// REPLACE. Files of another database stay whatever is said; those that are nobody's go with REPLACE.
func TestRestoreNamesTheFilesThatAreTaken(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(t, db, "CREATE TABLE t (a int); INSERT t VALUES (1); USE master")
	mustExec(t, db, "BACKUP DATABASE works TO DISK = 'works.bak'")
	numbers := func(text string) (list []int32, messages []string) {
		for _, e := range failures(t, db, text) {
			list, messages = append(list, e.Number), append(messages, e.Message)
		}
		return list, messages
	}
	data, log := i.root+"/data/works.mdf", i.root+"/data/works_log.ldf"
	list, messages := numbers("RESTORE DATABASE copy FROM DISK = 'works.bak' WITH REPLACE")
	g.Expect(list).To(Equal([]int32{1834, 3156, 1834, 3156, 3119, 3013}))
	g.Expect(messages[0]).
		To(MatchRegexp(`^The file '.*/data/works\.mdf' cannot be overwritten\. +It is being used by database 'works'\.$`))
	g.Expect(messages[1]).To(MatchRegexp(`^File 'works' cannot be restored to '.*/data/works\.mdf'\.`))
	// However the path is written.
	list, _ = numbers(
		"RESTORE DATABASE copy FROM DISK = 'works.bak' WITH MOVE 'works' TO '/var/opt/mssql/data/../data/works.mdf', MOVE " +
			"'works_log' TO '" + i.root + "/data/copy.ldf'",
	)
	g.Expect(list).To(Equal([]int32{1834, 3156, 3119, 3013}))
	list, _ = numbers(
		"RESTORE DATABASE copy FROM DISK = 'works.bak' WITH MOVE 'works' TO '" + i.root +
			"/data/one', MOVE 'works_log' TO '" + i.root + "/data/one'",
	)
	g.Expect(list).To(Equal([]int32{3176, 3119, 3013}))

	// A file that is nobody's.
	taken := filepath.Join(i.root, "data", "sheet.xls")
	g.Expect(os.WriteFile(taken, []byte("figures"), 0o660)).To(Succeed())
	move := "WITH MOVE 'works' TO '" + taken + "', MOVE 'works_log' TO '" + i.root + "/data/copy.ldf'"
	list, messages = numbers("RESTORE DATABASE copy FROM DISK = 'works.bak' " + move)
	g.Expect(list).To(Equal([]int32{3142, 3119, 3013}))
	g.Expect(messages[0]).To(ContainSubstring(`File "works" cannot be restored over the existing "` + taken + `"`))
	g.Expect(os.ReadFile(taken)).To(BeEquivalentTo("figures"))
	converse(t, db, []say{
		{
			"BEGIN TRY RESTORE DATABASE copy FROM DISK = 'works.bak' " + move +
				" END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH",
			"3013",
		},
		{"RESTORE DATABASE copy FROM DISK = 'works.bak' " + move + ", REPLACE", "ok"},
		{"SELECT a FROM copy.dbo.t", "1"},
		{"SELECT a FROM works.dbo.t", "1"},
		{
			"RESTORE DATABASE copy FROM DISK = 'works.bak' WITH REPLACE, MOVE 'works' TO '" + data + "', MOVE 'works_log' TO '" +
				log + "'",
			"!1834/16",
		},
		{"SELECT a FROM copy.dbo.t", "1"},
	})
}
