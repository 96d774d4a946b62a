// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// TestBackupTransferOptions: docs/t-sql/statements/backup-transact-sql.md, Data Transfer Options: BLOCKSIZE is one of
// 512 to 65536, MAXTRANSFERSIZE a multiple of 64 KB up to 4 MB, and the messages 3217, 3250 and 3253 of the list of
// errors. RESTORE has the same options.
func TestBackupTransferOptions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newDatabase(t)
	admin := connection(t, shared.open(t, ""))
	name := fmt.Sprint(value(t, db, "SELECT DB_NAME()"))
	to := " DISK = '" + name + ".bak' WITH "
	list := []say{
		{"BACKUP DATABASE " + name + " TO" + to + "BLOCKSIZE = 4096, BUFFERCOUNT = 10, MAXTRANSFERSIZE = 1048576", "ok"},
		{"RESTORE VERIFYONLY FROM DISK = '" + name + ".bak' WITH BUFFERCOUNT = 10", "!155/15"},
	}
	for _, good := range []string{"= 65536", "= 4194304", "= 131072", "= @n"} {
		list = append(list, say{"DECLARE @n int = 196608; BACKUP DATABASE " + name + " TO DISK = 'NUL' WITH COPY_ONLY, " +
			"MAXTRANSFERSIZE " + good, "ok"})
	}
	for option, want := range map[string]string{"BLOCKSIZE = @n": "!3253/16", "BUFFERCOUNT = @none": "!3250/16",
		"MAXTRANSFERSIZE = @n": "!3217/16", "MAXTRANSFERSIZE = @none": "!3250/16", "BUFFERCOUNT = @nowhere": "!137/15"} {
		declare := "DECLARE @n int = 65537, @none int = -1; "
		list = append(
			list,
			say{declare + "BACKUP DATABASE " + name + " TO" + to + option, want},
			say{declare + "RESTORE DATABASE nowhere FROM" + to + option, want},
		)
	}
	for option, want := range map[string]string{"BLOCKSIZE = 7": "!3253/16", "BLOCKSIZE = 0": "!3250/16",
		"BLOCKSIZE = 256": "!3250/16", "BLOCKSIZE = 131072": "!3250/16", "BUFFERCOUNT = 0": "!3250/16",
		"MAXTRANSFERSIZE = 8388608": "!3250/16", "MAXTRANSFERSIZE = 4259840": "!3250/16", "MAXTRANSFERSIZE = 0": "!3250/16",
		"MAXTRANSFERSIZE = 100000": "!3217/16", "BLOCKSIZE": "!102/15/1/1", "MAXTRANSFERSIZE = '1'": "!102/15/1/1"} {
		list = append(
			list,
			say{"BACKUP DATABASE " + name + " TO" + to + option, want},
			say{"RESTORE DATABASE nowhere FROM" + to + option, want},
		)
	}
	converse(t, admin, list)
	g.Expect(value(t, admin, "SELECT COUNT(*) FROM msdb.dbo.backupset WHERE database_name = '"+name+"'")).
		To(Equal(int64(5)), "one to the file, four to NUL")
}

// TestLabelsAndFilesOfBackups: docs/t-sql/statements/restore-statements-labelonly-transact-sql.md and
// restore-statements-filelistonly-transact-sql.md.
func TestLabelsAndFilesOfBackups(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := newDatabase(t)
	admin := connection(t, shared.open(t, ""))
	name := fmt.Sprint(value(t, db, "SELECT DB_NAME()"))
	mustExec(
		t,
		admin,
		"BACKUP DATABASE "+name+" TO DISK = '"+name+".bak' WITH FORMAT, MEDIANAME = 'm', MEDIADESCRIPTION = 'of a test', "+
			"COMPRESSION",
	)
	mustExec(t, admin, "BACKUP DATABASE "+name+" TO DISK = '"+name+".bak' WITH DIFFERENTIAL")
	columns := func(text string) map[string]any {
		rows, err := admin.QueryContext(t.Context(), text)
		g.Expect(err).NotTo(HaveOccurred())
		defer rows.Close()
		names, err := rows.Columns()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(rows.Next()).To(BeTrue())
		out, into := map[string]any{}, make([]any, len(names))
		values := make([]any, len(names))
		for i := range into {
			into[i] = &values[i]
		}
		g.Expect(rows.Scan(into...)).To(Succeed())
		for i, n := range names {
			out[n] = values[i]
		}
		return out
	}
	label := columns("RESTORE LABELONLY FROM DISK = '" + name + ".bak'")
	g.Expect(label).To(HaveLen(13))
	for column, want := range map[string]any{"MediaName": "m", "MediaDescription": "of a test", "Mirror_Count": int64(1),
		"IsCompressed": true, "FamilyCount": int64(1), "MediaSequenceNumber": int64(1)} {
		g.Expect(label).To(HaveKeyWithValue(column, want))
	}
	g.Expect(label["MediaDate"]).NotTo(BeNil())
	full, difference := columns("RESTORE FILELISTONLY FROM DISK = '"+name+".bak'"),
		columns("RESTORE FILELISTONLY FROM DISK = '"+name+".bak' WITH FILE = 2")
	g.Expect(full).To(HaveLen(22))
	g.Expect(full).
		To(And(HaveKeyWithValue("DifferentialBaseLSN", BeNil()), HaveKeyWithValue("DropLSN", BeNil()),
			HaveKeyWithValue("CreateLSN", Not(BeNil())), HaveKeyWithValue("IsPresent", true)))
	g.Expect(difference).
		To(And(HaveKeyWithValue("DifferentialBaseLSN", Not(BeNil())), HaveKeyWithValue("DifferentialBaseGUID", Not(BeNil()))))
}
