// SPDX-License-Identifier: Apache-2.0

package tsql

// TempDBFiles reads the files of tempdb: logical name, type (0 data, 1 log), the path after the next start and the
// path now. A file that was added since has one path.
// Sources: docs/relational-databases/system-catalog-views/sys-master-files-transact-sql.md,
// docs/relational-databases/system-catalog-views/sys-database-files-transact-sql.md.
func TempDBFiles() Statement {
	return text(`SELECT m.name, m.[type], m.physical_name, COALESCE(d.physical_name, m.physical_name)
FROM sys.master_files AS m LEFT JOIN tempdb.sys.database_files AS d ON d.file_id = m.file_id
WHERE m.database_id = 2
ORDER BY m.[type], m.file_id`)
}

// MoveTempDBFile changes a file's place; it takes effect when the instance starts again.
// Source: docs/relational-databases/databases/move-system-databases.md, "tempdb".
func MoveTempDBFile(logical, path string) Statement {
	return new(builder).sql("ALTER DATABASE [tempdb] MODIFY FILE (NAME = ").name(logical).
		sql(", FILENAME = ").str(path).sql(")").done("move tempdb file " + logical + " to " + path)
}

// AddTempDBFile adds a data file of the given size and growth in MB; equal sizes keep the fill proportional.
// Source: docs/relational-databases/databases/tempdb-database.md, "Optimizing tempdb performance".
func AddTempDBFile(logical, path string, sizeMB, growthMB int) Statement {
	return new(builder).sql("ALTER DATABASE [tempdb] ADD FILE (NAME = ").name(logical).
		sql(", FILENAME = ").str(path).sql(", SIZE = ", Integer(sizeMB), "MB, FILEGROWTH = ", Integer(growthMB), "MB)").
		done("add tempdb file " + logical)
}
