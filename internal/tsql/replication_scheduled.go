// SPDX-License-Identifier: Apache-2.0

package tsql

// AddSnapshotPublication adds a publication that brings whole snapshots and no changes. Its snapshot is kept for new
// subscribers, which -Publication of their agents takes too. Tables are locked while one is made: sync_method
// concurrent is for transactional publications. DDL is not replicated: that is the log reader's to bring, of which
// there is none, and what waits for it keeps the log (R-W12). Each snapshot has the tables as they are; columns that
// are added to them are added to their articles by AddArticleColumn. Sources: the page of sp_addpublication
// (@replicate_ddl); docs/relational-databases/replication/snapshot-replication.md,
// publish/make-schema-changes-on-publication-databases.md.
func AddSnapshotPublication(name, description string) Statement {
	return exec("sys.sp_addpublication").str("publication", name).str("description", description).
		str("sync_method", "native").str("repl_freq", "snapshot").str("status", "active").
		flag("independent_agent", true).flag("immediate_sync", true).flag("allow_push", true).flag("allow_pull", true).
		flag("allow_anonymous", false).flag("snapshot_in_defaultfolder", true).num("replicate_ddl", 0).num("retention", 0).
		done("add snapshot publication " + name)
}

// SubscriptionSnapshot selects, of the newest snapshot that a subscription is to have, its sequence number and how many
// seconds ago the distributor had it whole, by its clock, NULL when it does not know that any more; no row while the
// subscription waits for one. It runs in the distribution database. Sources:
// docs/relational-databases/system-tables/mssubscriptions-transact-sql.md (subscription_seqno, snapshot_seqno_flag),
// msrepl-transactions-transact-sql.md (entry_time).
func SubscriptionSnapshot(agent int) Statement {
	return new(builder).sql(`SELECT TOP (1) s.subscription_seqno, DATEDIFF(second, t.entry_time, GETDATE())
FROM dbo.MSsubscriptions AS s LEFT JOIN dbo.MSrepl_transactions AS t
    ON t.publisher_database_id = s.publisher_database_id AND t.xact_seqno = s.subscription_seqno
WHERE s.agent_id = @agent AND s.status = 2 AND s.snapshot_seqno_flag = 1 ORDER BY s.subscription_seqno DESC`).
		arg("agent", agent).done("read which snapshot the subscription is to have")
}
