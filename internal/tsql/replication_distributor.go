// SPDX-License-Identifier: Apache-2.0

package tsql

import "strconv"

// Sources of the statements of this file: the pages of the procedures in
// docs/relational-databases/system-stored-procedures/, in the order of
// docs/linux/replication/tutorial-tsql.md ("Configure the distributor").

// AddDistributor makes the instance know its distributor; it runs in master of the distributor itself, with the
// password that the link to it gets, and then, with the same password, on every publisher.
func AddDistributor(distributor, password string) Statement {
	return exec("sys.sp_adddistributor").str("distributor", distributor).secret("password", password).
		done("make " + distributor + " the distributor")
}

// LiftLargestReplicated sets 'max text repl size' to no bound; it takes effect with Reconfigure.
// Source: docs/relational-databases/system-stored-procedures/sp-configure-transact-sql.md.
func LiftLargestReplicated() Statement {
	return exec(
		"sys.sp_configure",
	).str("configname", maxTextRepl).
		num("configvalue", -1).
		done("let large values be replicated")
}

// Reconfigure puts options into use that were set. Source: docs/t-sql/language-elements/reconfigure-transact-sql.md.
func Reconfigure() Statement { return text("RECONFIGURE").Because("put the server's options into use") }

// AddDistributionDatabase creates the distribution database; it runs in master of the distributor. Retentions are in
// hours. The procedure uses security mode 0 only for the scripts that it runs itself; a login of its own is not needed.
func AddDistributionDatabase(database string, retention, history int) Statement {
	return exec("sys.sp_adddistributiondb").str("database", database).
		num("max_distretention", retention).num("history_retention", history).num("security_mode", 1).
		done("create the distribution database " + database)
}

// ChangeRetention changes a distribution database's max_distretention, in hours.
func ChangeRetention(database string, hours int) Statement {
	return changeDistributionDatabase(database, "max_distretention", hours)
}

// ChangeHistoryRetention changes a distribution database's history_retention, in hours.
func ChangeHistoryRetention(database string, hours int) Statement {
	return changeDistributionDatabase(database, "history_retention", hours)
}

func changeDistributionDatabase(database, property string, hours int) Statement {
	return exec("sys.sp_changedistributiondb").str("database", database).str("property", property).
		str("value", strconv.Itoa(hours)).done("set " + property + " of " + database)
}

// NoWorkingDirectory is what sp_adddistpublisher refuses with where the working directory is no folder of the
// distributor. Source: docs/relational-databases/errors-events/database-engine-events-and-errors-21000-to-21999.md.
const NoWorkingDirectory int32 = 21037

// DistributionPublisher is a server that may publish through a distributor.
type DistributionPublisher struct {
	// Publisher is the instance's name.
	Publisher string
	// Database is the distribution database.
	Database string
	// Login and Password with which the distributor's replication agents connect to the publisher.
	Login, Password string
	// WorkingDirectory is the snapshot folder: a path, or a UNC name that uncmapping maps.
	WorkingDirectory string
}

// AddDistributionPublisher lets a server publish; it runs at the distributor.
func AddDistributionPublisher(p DistributionPublisher) Statement {
	return exec("sys.sp_adddistpublisher").str("publisher", p.Publisher).str("distribution_db", p.Database).
		num("security_mode", 0).str("login", p.Login).secret("password", p.Password).
		str("working_directory", p.WorkingDirectory).
		done("let " + p.Publisher + " publish")
}

// SetPublisherWorkingDirectory changes a publisher's snapshot folder; it runs at the distributor.
func SetPublisherWorkingDirectory(publisher, directory string) Statement {
	return exec("sys.sp_changedistpublisher").str("publisher", publisher).str("property", "working_directory").
		str("value", directory).done("set the snapshot folder of " + publisher)
}

// SetPublisherLogin changes the login with which agents connect to a publisher; it runs at the distributor.
func SetPublisherLogin(publisher, login string) Statement {
	return exec("sys.sp_changedistpublisher").str("publisher", publisher).str("property", "login").
		str("value", login).done("set the agents' login for " + publisher)
}

// SetPublisherPassword changes the password that goes with the login; it runs at the distributor.
func SetPublisherPassword(publisher, password string) Statement {
	return exec("sys.sp_changedistpublisher").str("publisher", publisher).str("property", "password").
		secret("value", password).done("set the agents' password for " + publisher)
}

// ChangeDistributorPassword changes the password of the link from publishers to the distributor; it runs at the
// distributor and on every publisher.
func ChangeDistributorPassword(password string) Statement {
	return exec("sys.sp_changedistributor_password").secret("password", password).
		done("set the password of the link to the distributor")
}

// DropDistributionPublisher takes a publisher away from the distributor, where it runs.
func DropDistributionPublisher(publisher string) Statement {
	return exec("sys.sp_dropdistpublisher").str("publisher", publisher).num("no_checks", 1).
		done("let " + publisher + " publish no longer")
}

// DropDistributionDatabase drops the distribution database; it runs at the distributor.
func DropDistributionDatabase(database string) Statement {
	return exec("sys.sp_dropdistributiondb").str("database", database).needsNobodyElse().
		done("drop the distribution database " + database)
}

// DropDistributor makes the instance forget its distributor.
func DropDistributor() Statement {
	return exec("sys.sp_dropdistributor").num("no_checks", 1).num("ignore_distributor", 1).done("forget the distributor")
}

// AddLinkedServer makes another SQL Server known to the instance under its own name; the server refuses with 15028 when
// it is
// (docs/database-engine/availability-groups/windows/configure-replication-for-always-on-availability-groups-sql-server.md
// asks for it on every replica, for every subscriber).
func AddLinkedServer(server string) Statement {
	return exec("sys.sp_addlinkedserver").str("server", server).str("srvproduct", "SQL Server").
		done("make " + server + " known as a linked server")
}

// RedirectPublisher makes agents that look for the original publisher's database connect to another name: the listener
// of its group, with ",port" unless it is 1433. It runs in the distribution database.
func RedirectPublisher(original, database, to string) Statement {
	return exec("sys.sp_redirect_publisher").str("original_publisher", original).str("publisher_db", database).
		str("redirected_publisher", to).done("redirect " + original + " to " + to)
}

// RedirectedPublisher selects redirected_publisher, error_number, error_severity and error_message, without connecting
// to the publisher. It runs in the distribution database.
func RedirectedPublisher(original, database string) Statement {
	return exec("sys.sp_get_redirected_publisher").str("original_publisher", original).str("publisher_db", database).
		num("bypass_publisher_validation", 1).done("read where " + original + " is redirected to")
}
