// SPDX-License-Identifier: Apache-2.0

package tsql

// PendingSetUps selects how much the log reader of a published database has still to set up for subscribers that began
// without a snapshot: sp_addsubscription leaves it in the distribution database, and the log reader, as a member of
// sysadmin, takes it away. The table has no page. Sources: docs/relational-databases/system-stored-procedures/
// sp-addsubscription-transact-sql.md, "Remarks"; sp_MSadd_replcmds of a distribution database, which anybody can read
// there (sys.sql_modules).
func PendingSetUps(publisher, database string) Statement {
	return whereTable("dbo.MSnosyncsubsetup",
		"SELECT COUNT(*) FROM dbo.MSnosyncsubsetup AS n JOIN dbo.MSpublisher_databases AS d ",
		"ON d.id = n.publisher_database_id JOIN dbo.MSreplservers AS s ON s.srvid = d.publisher_id ",
		"WHERE UPPER(s.srvname) = UPPER(@publisher) AND d.publisher_db = @database").
		arg("publisher", publisher).arg("database", database).
		done("read what the log reader of " + database + " has to set up")
}

// SetUpLogin selects, in a row if it exists, a login's SID, whether the password is its own, whether it is in sysadmin,
// and how many seconds ago it was made. Sources:
// docs/relational-databases/system-catalog-views/sys-sql-logins-transact-sql.md, docs/t-sql/functions/
// pwdcompare-transact-sql.md, is-srvrolemember-transact-sql.md; it takes CONTROL SERVER to see the hash.
func SetUpLogin(login, password string) Statement {
	return new(builder).sql(`SELECT sid, COALESCE(PWDCOMPARE(@given, password_hash), 0),
    COALESCE(IS_SRVROLEMEMBER(N'sysadmin', name), 0), DATEDIFF(second, create_date, GETDATE())
FROM sys.sql_logins WHERE name = @login`).arg("login", login).secretArg("given", password).
		done("read login " + login)
}

// LogReadersAs selects how many enabled jobs run a log reader that connects to this distributor with a login.
// Sources: dbo.sysjobs and sysjobsteps in docs/relational-databases/system-tables/.
func LogReadersAs(login string) Statement {
	return new(builder).sql(`SELECT COUNT(*) FROM msdb.dbo.sysjobs AS j JOIN msdb.dbo.sysjobsteps AS s ON s.job_id = j.job_id
WHERE j.enabled = 1 AND UPPER(s.subsystem) = N'LOGREADER' AND CHARINDEX(@as, s.command) > 0`).
		arg("as", distributorLogin(login).Text()).done("read which log readers connect as " + login)
}

// distributorLogin is what the command line of an agent has that connects to the distributor with a login.
func distributorLogin(login string) Command { return NewCommand().With("DistributorLogin", login) }

// ConnectsToDistributorAs tells whether an agent's command line connects to the distributor with a login.
func ConnectsToDistributorAs(command, login string) bool { return distributorLogin(login).In(command) }
