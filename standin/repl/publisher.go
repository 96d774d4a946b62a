// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/storage"
)

// publisher is a publication database and where it distributes to.
type publisher struct {
	distributor
	// server is the publisher's name at the distributor: this server's, or, for a database of an availability group, the
	// name under which it was published first (the redirected publisher keeps it).
	server string
	db     *engine.Database
}

// publisher checks that the current database is published, and finds its distributor: 20054, 20036, 21007.
func (e *Extension) publisher(ctx context.Context, call *engine.ProcCall) (publisher, error) {
	ok, err := tables.Exists(ctx, call.Session, bracket(call.Database.Name())+".dbo.syspublications")
	if err != nil {
		return publisher{}, err
	}
	if !ok {
		return publisher{}, raise(20054, 1)
	}
	return e.publisherAt(ctx, call.Session, call.Database)
}

func (e *Extension) publisherAt(ctx context.Context, s *engine.Session, db *engine.Database) (publisher, error) {
	d, err := e.distributorOf(ctx, s)
	if err != nil {
		return publisher{}, err
	}
	p := publisher{distributor: d, server: e.serverName(), db: db}
	if db.Info().ReplicaID == uuid.Nil {
		return p, nil
	}
	r, err := e.inDistributionOf(
		ctx,
		s,
		p,
		"SELECT original_publisher FROM dbo.MSredirected_publishers WHERE publisher_db = ?",
		db.Name(),
	)
	if err != nil {
		return publisher{}, err
	}
	if r.Len() == 1 {
		p.server = r.String(0, "original_publisher")
	}
	return p, nil
}

// inDistributionOf runs T-SQL in the publisher's distribution database and returns the first result set.
func (e *Extension) inDistributionOf(
	ctx context.Context,
	s *engine.Session,
	p publisher,
	format string,
	args ...any,
) (*engine.Result, error) {
	return e.atDistributor(ctx, s, "USE "+bracket(p.database)+"; "+format, args...)
}

// thePublication begins a text for the distribution database that names its publication @pub: publisher, database and
// publication are filled in.
const thePublication = `DECLARE @pub int = (SELECT p.publication_id FROM dbo.MSpublications AS p JOIN dbo.MSreplservers AS v ON v.srvid = p.publisher_id
	WHERE v.srvname = ? AND p.publisher_db = ? AND p.publication = ?); `

// publication is a row of syspublications.
type publication struct {
	id                                int64
	name                              string
	active, immediateSync             bool
	allowPush, allowPull, independent bool
	replicateDDL                      bool
	// SnapshotOnly is repl_freq = 'snapshot': subscribers get whole snapshots, and no changes in between.
	snapshotOnly bool
	// fromBackup lets subscribers begin with a backup; oldest is the position from which the log reader has the changes.
	fromBackup bool
	oldest     []byte
}

// findPublication is 20026 when there is none of that name.
func findPublication(ctx context.Context, s *engine.Session, name string) (publication, error) {
	r, err := s.Query(ctx, "SELECT * FROM dbo.syspublications WHERE name = @p1", name)
	if err != nil {
		return publication{}, err
	}
	if r.Len() == 0 {
		return publication{}, raise(20026, 1, name)
	}
	return publication{
		id:            r.Int(0, "pubid"),
		name:          r.String(0, "name"),
		active:        r.Int(0, "status") == 1,
		immediateSync: r.Int(0, "immediate_sync") == 1,
		allowPush: r.Int(
			0,
			"allow_push",
		) == 1,
		allowPull:   r.Int(0, "allow_pull") == 1,
		independent: r.Int(0, "independent_agent") == 1,
		snapshotOnly: r.Int(
			0,
			"repl_freq",
		) == 1,
		replicateDDL: r.Int(0, "replicate_ddl") == 1,
		fromBackup:   r.Int(0, "allow_initialize_from_backup") == 1,
		oldest:       r.Bytes(0, "min_autonosync_lsn"),
	}, nil
}

// published is what most procedures of a publisher begin with: the publication that @publication names, and where its
// database distributes to.
func (e *Extension) published(ctx context.Context, call *engine.ProcCall) (publisher, publication, error) {
	p, err := e.publisher(ctx, call)
	if err != nil {
		return publisher{}, publication{}, err
	}
	pub, err := findPublication(ctx, call.Session, call.String("@publication"))
	return p, pub, err
}

// publishedArticle is published with the article that @article names.
func (e *Extension) publishedArticle(
	ctx context.Context,
	call *engine.ProcCall,
) (publisher, publication, *article.Article, error) {
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return publisher{}, publication{}, nil, err
	}
	a, err := e.findArticle(ctx, call.Session, p.db, pub, call.String("@article"))
	return p, pub, a, err
}

// publishedDatabases are the databases that master says are published.
func (e *Extension) publishedDatabases() []*engine.Database {
	var out []*engine.Database
	for _, db := range e.inst.Databases() {
		if db.Info().Published {
			out = append(out, db)
		}
	}
	return out
}

// refreshImages makes the log carry whole rows of the tables of active articles, as long as there are any.
func (e *Extension) refreshImages(ctx context.Context, s *engine.Session, db *engine.Database) error {
	prefix := bracket(db.Name()) + ".dbo."
	r, err := s.Query(
		ctx,
		"SELECT DISTINCT a.objid FROM "+prefix+"sysarticles AS a JOIN "+prefix+"syspublications AS p ON p.pubid = a.pubid "+
			"WHERE a.status & 1 = 1 AND a.type & 1 = 1 AND p.repl_freq = 0",
	)
	if err != nil {
		return err
	}
	tables := []string{}
	for i := range r.Len() {
		o, err := s.Object(ctx, db, int32(r.Int(i, "objid")))
		if err != nil {
			return err
		}
		if o != nil && o.Table != nil {
			tables = append(tables, o.StorageName())
		}
	}
	return s.Write(ctx, db, func(tx *storage.Tx) error { return tx.SetFullImages(tables) })
}

// noteArticles notes with an object which articles it has.
func noteArticles(ctx context.Context, s *engine.Session, db *engine.Database, object int32) error {
	kinds, err := kindsOfArticles(ctx, s, db, object)
	if err != nil {
		return err
	}
	return setReplicated(ctx, s, db, object, kinds)
}

// setReplicated notes with an object that it has articles of some kinds: sys.tables.is_replicated of a table,
// sys.objects.is_schema_published of another object, sys.procedures.is_execution_replicated of a procedure.
func setReplicated(ctx context.Context, s *engine.Session, db *engine.Database, object int32, kinds []int64) error {
	return s.ChangeObject(ctx, db, object, func(o *metadata.Object) {
		if o.Kind == "U" {
			o.Table.Replicated = len(kinds) > 0
			return
		}
		always, serializable := slices.Contains(kinds, article.Execution), slices.Contains(kinds, article.Serializable)
		o.ExecutionPublished, o.SerializableOnly = always || serializable, serializable && !always
		o.SchemaPublished = slices.ContainsFunc(kinds, func(k int64) bool { return !article.BringsCalls(k) })
	})
}

// kindsOfArticles are the kinds of an object's articles.
func kindsOfArticles(ctx context.Context, s *engine.Session, db *engine.Database, object int32) ([]int64, error) {
	r, err := s.Query(
		ctx,
		"SELECT DISTINCT type FROM "+bracket(db.Name())+".dbo.sysarticles WHERE objid = @p1",
		int64(object),
	)
	if err != nil {
		return nil, err
	}
	var out []int64
	for i := range r.Len() {
		out = append(out, r.Int(i, "type"))
	}
	return out, nil
}
