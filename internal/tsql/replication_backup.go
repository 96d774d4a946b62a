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

// BackupsAllowed selects of a publication of the connection's database, as numbers, whether subscribers may begin with
// backups and whether it has immediate_sync, which has the distributor keep what came after a backup for subscribers to
// come. The database must be published. Sources: docs/relational-databases/system-tables/
// syspublications-transact-sql.md, docs/relational-databases/replication/
// initialize-a-transactional-subscription-from-a-backup.md (Warning).
func BackupsAllowed(publication string) Statement {
	return new(builder).sql("SELECT CAST(allow_initialize_from_backup AS int), CAST(immediate_sync AS int) "+
		"FROM dbo.syspublications WHERE name = @publication").arg("publication", publication).
		done("ask whether subscribers of " + publication + " may begin with a backup")
}

// InactiveArticles selects the names of a publication's articles that are not active: of these nothing is read from the
// log. Source: docs/relational-databases/system-tables/sysarticles-transact-sql.md (status).
func InactiveArticles(publication string) Statement {
	return new(builder).sql(`SELECT a.name
FROM dbo.sysarticles AS a JOIN dbo.syspublications AS p ON p.pubid = a.pubid
WHERE p.name = @publication AND (a.status & 1) = 0`).
		arg("publication", publication).done("look for articles of " + publication + " that are not active")
}

// DatabaseOrigin selects the family of the connection's database and the recovery fork on which it is, as backups of it
// have them; empty where the server does not tell.
// Source: docs/relational-databases/system-catalog-views/sys-database-recovery-status-transact-sql.md.
func DatabaseOrigin() Statement {
	return text(`SELECT COALESCE(CONVERT(nvarchar(36), r.family_guid), N''),
    COALESCE(CONVERT(nvarchar(36), r.recovery_fork_guid), N'')
FROM sys.database_recovery_status AS r WHERE r.database_id = DB_ID()`).Because("ask of which family the database is")
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
