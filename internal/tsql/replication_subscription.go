// SPDX-License-Identifier: Apache-2.0

package tsql

// Sources of the statements of this file: the pages of the procedures in
// docs/relational-databases/system-stored-procedures/.

// Subscription names a subscription at the publisher.
type Subscription struct {
	// Publication of the connection's database.
	Publication string
	// Subscriber is the instance's name, Database the one that receives.
	Subscriber, Database string
	// Pull says that the agent belongs to the subscriber.
	Pull bool
	// DataIsThere says that the subscriber has the data already (replication support only).
	DataIsThere bool
	// Backup is the file, at the publisher, whose first set is the backup of the published database that was restored as
	// Database; the subscriber then gets what was committed after it. Empty for none.
	Backup string
}

func (s Subscription) kind() string {
	if s.Pull {
		return "pull"
	}
	return "push"
}

func (s Subscription) sync() string {
	if s.Backup != "" {
		return "initialize with backup"
	}
	if s.DataIsThere {
		return "replication support only"
	}
	return "automatic"
}

// AddsSubscription is the procedure that registers a subscription at its publisher.
const AddsSubscription = "sys.sp_addsubscription"

// AddSubscription registers a subscription to all articles; it runs in the publication database. Publications with
// immediate_sync take no single article (error 14122).
func AddSubscription(s Subscription) Statement {
	c := exec(AddsSubscription).str("publication", s.Publication).str("article", "all").
		str("subscriber", s.Subscriber).str("destination_db", s.Database).str("sync_type", s.sync()).
		str("subscription_type", s.kind()).str("update_mode", "read only")
	if s.Backup != "" {
		c = c.str("backupdevicetype", "disk").str("backupdevicename", s.Backup).num("fileidhint", 1)
	}
	return c.done("subscribe " + s.Database + " on " + s.Subscriber + " to " + s.Publication)
}

// BackupTooOld is what sp_addsubscription refuses a backup with after which something is not at the distributor.
// Source: docs/relational-databases/errors-events/database-engine-events-and-errors-21000-to-21999.md.
const BackupTooOld int32 = 21397

// AddSubscriptionToArticle registers a subscriber who has the publication to an article that came after it, as
// sp_refreshsubscriptions itself does (@reserved): for an engine on which that serves pull subscriptions alone. 14058
// says that it is so already.
func AddSubscriptionToArticle(s Subscription, article string) Statement {
	return exec(AddsSubscription).str("publication", s.Publication).str("article", article).
		str("subscriber", s.Subscriber).str("destination_db", s.Database).str("sync_type", s.sync()).
		str("subscription_type", s.kind()).str("update_mode", "read only").str("reserved", "internal").
		done("subscribe " + s.Database + " on " + s.Subscriber + " to " + article + " of " + s.Publication)
}

// SubscriptionExists is what sp_addsubscription refuses with when a subscriber has the publication, or an article.
const SubscriptionExists int32 = 14058

// NeedsSQLLogin is what sp_addsubscription may refuse with for a subscriber that is the distributor itself, which it
// makes known with Windows authentication.
const NeedsSQLLogin int32 = 21038

// Error numbers of sp_addsubscription where the engine of the publisher cannot write below the distributor's snapshot
// folder, for a subscription without a snapshot. Sources: docs/relational-databases/replication/mssql-eng021330.md,
// mssql-eng021331.md.
const (
	NoScriptFolder int32 = 21330
	NoScriptCopy   int32 = 21331
)

// AddSubscriber makes a subscriber known with a SQL login; it runs in the publication database. sp_addsubscription does
// that by itself, with Windows authentication.
// Source: docs/relational-databases/system-stored-procedures/sp-addsubscriber-transact-sql.md.
func AddSubscriber(subscriber, login, password string) Statement {
	return exec("sys.sp_addsubscriber").str("subscriber", subscriber).num("type", 0).str("login", login).
		secret("password", password).num("security_mode", 0).
		done("make subscriber " + subscriber + " known")
}

// DropSubscription ends a subscription at the publisher; the subscriber's tables stay.
func DropSubscription(s Subscription) Statement {
	return exec("sys.sp_dropsubscription").str("publication", s.Publication).str("article", "all").
		str("subscriber", s.Subscriber).str("destination_db", s.Database).
		done("end the subscription of " + s.Database + " on " + s.Subscriber)
}

// Reinitializes is the procedure that has a subscriber get a new copy.
const Reinitializes = "sys.sp_reinitsubscription"

// ReinitializeSubscription has a subscriber get a new copy of all articles, from a new snapshot, which replaces its
// tables; it runs in the publication database. Its page speaks of push subscriptions; the publisher's registration,
// which it marks, is there for both types.
func ReinitializeSubscription(s Subscription) Statement {
	return exec(Reinitializes).str("publication", s.Publication).str("article", "all").str("subscriber", s.Subscriber).
		str("destination_db", s.Database).num("invalidate_snapshot", 1).
		done("give " + s.Database + " on " + s.Subscriber + " a new copy of " + s.Publication)
}

// DropLostSubscription ends a subscription at the publisher alone: its distributor is gone, or knows nothing of it.
func DropLostSubscription(s Subscription) Statement {
	return exec("sys.sp_dropsubscription").str("publication", s.Publication).str("article", "all").
		str("subscriber", s.Subscriber).str("destination_db", s.Database).num("ignore_distributor", 1).
		done("end the subscription of " + s.Database + " on " + s.Subscriber + ", which the distributor does not know")
}

// PullSubscription names a subscription at the subscriber.
type PullSubscription struct {
	// Publisher is the original publisher's name, whatever it is redirected to.
	Publisher, PublisherDatabase, Publication string
}

// AddPullSubscription registers a pull subscription in the subscription database. subscription_type would be anonymous
// by default.
func AddPullSubscription(s PullSubscription) Statement {
	return exec("sys.sp_addpullsubscription").str("publisher", s.Publisher).str("publisher_db", s.PublisherDatabase).
		str("publication", s.Publication).flag("independent_agent", true).str("subscription_type", "pull").
		str("update_mode", "read only").num("immediate_sync", 1).
		done("register the pull subscription to " + s.Publication)
}

// AddPullSubscriptionAgent attaches the distribution agent's job of the subscriber. Without @job_name the procedure
// would make a job that connects to the subscriber with Windows authentication.
func AddPullSubscriptionAgent(s PullSubscription, distributor, database, login, password, job string) Statement {
	return exec("sys.sp_addpullsubscription_agent").str("publisher", s.Publisher).str("publisher_db", s.PublisherDatabase).
		str("publication", s.Publication).str("distributor", distributor).str("distribution_db", database).
		num("distributor_security_mode", 0).str("distributor_login", login).secret("distributor_password", password).
		str("job_name", job).
		done("attach the distribution agent's job " + job)
}

// DropPullSubscription ends a pull subscription at the subscriber; tables stay.
func DropPullSubscription(s PullSubscription) Statement {
	return exec("sys.sp_droppullsubscription").str("publisher", s.Publisher).str("publisher_db", s.PublisherDatabase).
		str("publication", s.Publication).done("end the pull subscription to " + s.Publication)
}

// CleanSubscription removes what a subscription has left in the subscription database; tables stay.
func CleanSubscription(s PullSubscription) Statement {
	return exec("sys.sp_subscription_cleanup").str("publisher", s.Publisher).str("publisher_db", s.PublisherDatabase).
		str("publication", s.Publication).done("remove what the subscription to " + s.Publication + " has left")
}

// AddPushSubscriptionAgent attaches the distribution agent's job of a push subscription, which must exist at the
// distributor; it runs in the publication database.
func AddPushSubscriptionAgent(s Subscription, login, password, job string) Statement {
	return exec("sys.sp_addpushsubscription_agent").str("publication", s.Publication).str("subscriber", s.Subscriber).
		str("subscriber_db", s.Database).num("subscriber_security_mode", 0).str("subscriber_login", login).
		secret("subscriber_password", password).str("job_name", job).
		done("attach the distribution agent's job " + job)
}

// PostTracerToken writes a tracer token into the publication database's log.
func PostTracerToken(publication string) Statement {
	return exec("sys.sp_posttracertoken").str("publication", publication).done("post a tracer token")
}

// tokensKept is how many of the newest tracer tokens are looked at: the last may be under way.
const tokensKept = "2"

// TracerTokens selects publisher_commit of tracer tokens of a publication, which the distributor numbers, the newest
// first, and how many seconds each took to the distributor, from there to the subscriber of a distribution agent, and
// in all; NULL has not arrived. They are the newest ones, and, however old, the newest that has arrived and the oldest
// behind that one: where an agent polls every few minutes none of the newest may ever be seen to have arrived. It runs
// in the distribution database: the publisher's own procedures may ask for the name of the server that they run on, and
// a group's primary is not always the original publisher. An agent serves one publication. Sources:
// docs/relational-databases/system-tables/mstracer-tokens-transact-sql.md, mstracer-history-transact-sql.md.
func TracerTokens(publisher, database, publication string, agent int) Statement {
	const arrived = "FROM dbo.MStracer_history AS a WHERE a.agent_id = @agent AND a.subscriber_commit IS NOT NULL"
	return new(builder).sql(`SELECT t.publisher_commit,
    CAST(DATEDIFF(second, t.publisher_commit, t.distributor_commit) AS bigint),
    CAST(DATEDIFF(second, t.distributor_commit, h.subscriber_commit) AS bigint),
    CAST(DATEDIFF(second, t.publisher_commit, h.subscriber_commit) AS bigint)
FROM dbo.MStracer_tokens AS t JOIN dbo.MSpublications AS p ON p.publication_id = t.publication_id
    JOIN dbo.MSreplservers AS s ON s.srvid = p.publisher_id
LEFT JOIN dbo.MStracer_history AS h ON h.parent_tracer_id = t.tracer_id AND h.agent_id = @agent
WHERE UPPER(s.srvname) = UPPER(@publisher) AND p.publisher_db = @database AND p.publication = @publication
    AND (t.tracer_id IN (SELECT TOP (`+tokensKept+`) n.tracer_id FROM dbo.MStracer_tokens AS n
            WHERE n.publication_id = t.publication_id ORDER BY n.tracer_id DESC)
        OR t.tracer_id = (SELECT MAX(a.parent_tracer_id) `+arrived+`)
        OR t.tracer_id = (SELECT MIN(n.tracer_id) FROM dbo.MStracer_tokens AS n
            WHERE n.publication_id = t.publication_id
                AND NOT EXISTS (SELECT 1 `+arrived+` AND a.parent_tracer_id >= n.tracer_id)))
ORDER BY t.tracer_id DESC`).
		arg("agent", agent).arg("publisher", publisher).arg("database", database).arg("publication", publication).
		done("read the tracer tokens of " + publication)
}

// LocalTime selects the server's local time, in which publisher_commit is, and by how many minutes it is ahead of UTC.
func LocalTime() Statement {
	return text("SELECT GETDATE(), DATEPART(tzoffset, SYSDATETIMEOFFSET())").Because("read the server's clock")
}

// PendingCommands selects pendingcmdcount and estimatedprocesstime of a subscription; it runs in the distribution
// database.
func PendingCommands(publisher, publisherDatabase string, s Subscription) Statement {
	return exec(
		"sys.sp_replmonitorsubscriptionpendingcmds",
	).str("publisher", publisher).
		str("publisher_db", publisherDatabase).
		str("publication", s.Publication).
		str("subscriber", s.Subscriber).
		str("subscriber_db", s.Database).
		num("subscription_type", bit(s.Pull)).
		done("count the pending commands")
}
