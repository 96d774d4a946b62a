// SPDX-License-Identifier: Apache-2.0

package tsql_test

import (
	"time"

	"geosql.dev/operator/internal/tsql"
)

func init() {
	one, four := []string{"/var/opt/mssql-backup/sets/.new-1/1.bak"}, []string{"1.bak", "2.bak", "3.bak", "it's 4.bak"}
	add("BackupDatabase",
		tsql.BackupDatabase("Content", tsql.BackupForm{Files: one, Compression: true, Checksum: true}),
		tsql.BackupDatabase("Or]ders", tsql.BackupForm{Files: one, CopyOnly: true}),
		tsql.BackupDatabase("Content", tsql.BackupForm{Files: four, Differential: true, Compression: true,
			Transfer: tsql.Transfer{MaxTransferSize: 4 << 20, BufferCount: 50}}),
		tsql.BackupDatabase("Content", tsql.BackupForm{Files: one, Keep: true, CopyOnly: true, Compression: true,
			Checksum: true}))
	add("BackupLog", tsql.BackupLog("Content", tsql.BackupForm{Files: one, Compression: true, Checksum: true}),
		tsql.BackupLog("Content", tsql.BackupForm{Files: four, CopyOnly: true, Differential: true}))
	add("BackupModels", tsql.BackupModels())
	add("BackupSources", tsql.BackupSources("geosql_agent"))
	add("BackupTaken", tsql.BackupTaken(one[0], 15), tsql.BackupTaken(one[0], 16))
	add("BackedUpFiles", tsql.BackedUpFiles("6f9619ff-8b86-d011-b42d-00c04fc964ff"))
	moves := []tsql.FileMove{{Name: "Content", To: "/var/opt/mssql/data/Content.mdf"},
		{Name: "it's the log", To: "/var/opt/mssql-log/Content.ldf"}}
	stop := time.Date(2026, 3, 1, 11, 59, 0, 123_456_789, time.UTC)
	add("RestoreDatabase", tsql.RestoreDatabase("Content", tsql.RestoreForm{Files: one, Moves: moves}),
		tsql.RestoreDatabase("Or]ders", tsql.RestoreForm{Files: four, Position: 3}))
	add("RestoreFirst", tsql.RestoreFirst("Or]ders", "6f9619ff", tsql.RestoreForm{Files: one, Moves: moves}),
		tsql.RestoreFirst("Content", "6f9619ff", tsql.RestoreForm{Files: one, Moves: moves, Recover: true}))
	add("RestoreReadOnly", tsql.RestoreReadOnly("Or]ders", "6f9619ff", tsql.RestoreForm{Files: one, Position: 1,
		Moves: moves}))
	add("TakeWrites", tsql.TakeWrites("Or]ders", "geosql-6f9619ff-"))
	add("RestoreLog", tsql.RestoreLog("Content", tsql.RestoreForm{Files: one}),
		tsql.RestoreLog("Content", tsql.RestoreForm{Files: four, Moves: moves[:1], StopAt: stop}),
		tsql.RestoreLog("Content", tsql.RestoreForm{Files: one, StopBefore: "34000000012300001"}))
	add("BackupLabel", tsql.BackupLabel(one[0]), tsql.BackupLabel("it's.bak"))
	add("BackupHeaders", tsql.BackupHeaders(one[0]), tsql.BackupHeaders("it's.bak"))
	add("BackupFileList", tsql.BackupFileList(one[0], 2))
	add("CertificateThumbprints", tsql.CertificateThumbprints())
	add("RecoverDatabase", tsql.RecoverDatabase("Content"))
	add("DatabasePlaces", tsql.DatabasePlaces("Content"))
	add("RenameDatabase", tsql.RenameDatabase("Content", "Or]ders"), tsql.RenameDatabase("it's", "Content"))
	add("SetMultiUser", tsql.SetMultiUser("Or]ders"))
	add("DropOwnRestoring", tsql.DropOwnRestoring("Or]ders", "geosql-6f9619ff-"))
	add("DropOwnOnline", tsql.DropOwnOnline("Or]ders", "geosql-6f9619ff-",
		"00000022:00000158:0001"))
	add("UserObjects", tsql.UserObjects("geosql_replication_main"))
	add("DropRestoringCopy", tsql.DropRestoringCopy("Or]ders", "6F9619FF-8B86-D011-B42D-00C04FC964FF"))
	add("DatabaseStandings", tsql.DatabaseStandings("6f9619ff", "Content", "it's"),
		tsql.DatabaseStandings("6f9619ff", "a"))
}
