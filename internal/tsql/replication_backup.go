// SPDX-License-Identifier: Apache-2.0

package tsql

// AllowBackups lets subscribers of a publication begin with backups that are taken from then on; it runs in the
// publication database. Sources: docs/relational-databases/replication/
// initialize-a-transactional-subscription-from-a-backup.md,
// docs/relational-databases/system-stored-procedures/sp-changepublication-transact-sql.md.
func AllowBackups(publication string) Statement {
	return exec("sys.sp_changepublication").str("publication", publication).
		str("property", "allow_initialize_from_backup").str("value", "true").
		done("let subscribers of " + publication + " begin with a backup")
}

// BackupsAllowed selects whether subscribers of a publication of the connection's database may begin with backups, as
// a number, and min_autonosync_lsn, the position in the log that a backup must have come to, NULL while none is known.
// The database must be published.
// Source: docs/relational-databases/system-tables/syspublications-transact-sql.md.
func BackupsAllowed(publication string) Statement {
	return new(builder).sql("SELECT CAST(allow_initialize_from_backup AS int), min_autonosync_lsn "+
		"FROM dbo.syspublications WHERE name = @publication").arg("publication", publication).
		done("ask whether subscribers of " + publication + " may begin with a backup")
}

// RowVersionArticles selects the names of a publication's articles with a column of type timestamp: in a database that
// was restored it has values of its own, and takes none of the publisher's. 189 is the type's system_type_id. Sources:
// docs/relational-databases/replication/initialize-a-transactional-subscription-without-a-snapshot.md,
// docs/relational-databases/system-catalog-views/sys-types-transact-sql.md.
func RowVersionArticles(publication string) Statement {
	return new(builder).sql(`SELECT a.name
FROM dbo.sysarticles AS a JOIN dbo.syspublications AS p ON p.pubid = a.pubid
WHERE p.name = @publication AND EXISTS (SELECT 1 FROM sys.columns AS c
    WHERE c.object_id = a.objid AND c.system_type_id = 189)`).
		arg("publication", publication).done("look for articles of " + publication + " with a timestamp")
}
