// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

var transactionIDs atomic.Uint64

// transactions is a session's transaction state. Databases join a transaction when it first writes to them; each has
// a single writer, and they commit one after another in the order of their IDs.
type transactions struct {
	// count is @@TRANCOUNT, descriptor the transaction's number while it is above 0.
	count      int
	descriptor uint64
	began      time.Time
	name       string
	doomed     bool
	open       map[int32]*openTx
	saves      []string
	later      []afterCommit
}

// afterCommit is what waits for the commit of a session's transaction. saves is how many savepoints there were.
type afterCommit struct {
	run   func()
	saves int
}

// openTx is the write transaction in one database.
type openTx struct {
	db    *Database
	tx    *storage.Tx
	after []func() // run when it has committed
	undo  []func() // run when it was rolled back
}

// ErrCancelled is an attention or the end of the connection.
var ErrCancelled = errors.New("the statement was cancelled")

// join gives the session's write transaction in a database, and begins one when there is none. single is true when
// the caller must end it, because there is no user transaction and nobody else uses it.
func (s *Session) join(ctx context.Context, db *Database) (o *openTx, single bool, err error) {
	if s.doomed {
		return nil, false, sqlerr.New(3930, 1)
	}
	if o := s.open[db.ID()]; o != nil {
		return o, false, nil
	}
	tx, err := s.begin(ctx, db)
	if err != nil {
		return nil, false, err
	}
	if s.open == nil {
		s.open = map[int32]*openTx{}
	}
	o = &openTx{db: db, tx: tx}
	s.open[db.ID()] = o
	err = s.noteOrigin(ctx, o)
	if err == nil {
		err = s.repeatSaves(ctx, o)
	}
	if err != nil {
		if s.count == 0 {
			s.rollbackAll()
		}
		return nil, false, err
	}
	return o, s.count == 0, nil
}

// repeatSaves sets the savepoints in a database that joins the transaction after them, and writes the running call of a
// published procedure in its place between them.
func (s *Session) repeatSaves(ctx context.Context, o *openTx) error {
	written := false
	for i, name := range s.saves {
		if s.execution != nil && i == s.execution.saves {
			written = true
			if err := s.joinExecution(ctx, o); err != nil {
				return err
			}
		}
		if err := s.inTx(ctx, o, func(tx *storage.Tx) error { return tx.Savepoint(name) }); err != nil {
			return err
		}
	}
	if written {
		return nil
	}
	return s.joinExecution(ctx, o)
}

// inTx runs f between Use and leave, with the session attached to the connection.
func (s *Session) inTx(ctx context.Context, o *openTx, f func(*storage.Tx) error) error {
	leave, err := o.tx.Use(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if st := s.inst.conns.of(o.tx.Conn()); st != nil {
		defer st.use(s)()
	}
	return f(o.tx)
}

// write runs f in the session's transaction in db; see Session.Write.
func (s *Session) write(ctx context.Context, db *Database, f func(tx *storage.Tx) error) error {
	o, single, err := s.join(ctx, db)
	if err != nil {
		return err
	}
	err = s.inTx(ctx, o, func(tx *storage.Tx) error {
		if single {
			return f(tx)
		}
		if err := tx.Savepoint(statementSavepoint); err != nil {
			return err
		}
		if err := f(tx); err != nil {
			return errors.Join(err, tx.RollbackTo(statementSavepoint), tx.ReleaseSavepoint(statementSavepoint))
		}
		return tx.ReleaseSavepoint(statementSavepoint)
	})
	if !single {
		return unjoin(err)
	}
	if err != nil {
		s.rollbackAll()
		return unjoin(err)
	}
	return s.commitAll(ctx)
}

// unjoin gives the first error of an errors.Join, whose others are consequences.
func unjoin(err error) error {
	if j, ok := err.(interface{ Unwrap() []error }); ok && len(j.Unwrap()) > 0 {
		return j.Unwrap()[0]
	}
	return err
}

// statementSavepoint is what a failed statement within a transaction is rolled back to.
const statementSavepoint = "\x00statement"

// commitAll commits the open transactions of all databases. An unknown outcome breaks the session.
func (s *Session) commitAll(ctx context.Context) error {
	ids := make([]int32, 0, len(s.open))
	for id := range s.open {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	var first error
	for _, id := range ids {
		o := s.open[id]
		delete(s.open, id)
		if first != nil {
			s.undo(o)
			continue
		}
		// An attention does not take a commit back.
		_, err := o.tx.Commit(context.WithoutCancel(ctx))
		s.inst.locks.release(s, o.db)
		switch {
		case errors.Is(err, storage.ErrOutcomeUnknown):
			// Not wrapped: an error of the server found in it would be sent as an answer.
			s.Broken(fmt.Errorf("commit in database %q: %w: %s", o.db.Name(), storage.ErrOutcomeUnknown, err.Error()))
			first = err
		case err != nil:
			for _, f := range o.undo {
				f()
			}
			first = err
		default:
			for _, f := range o.after {
				f()
			}
		}
	}
	s.inst.counters.transactions.Add(1)
	later := s.later
	s.later = nil
	if first == nil {
		for _, l := range later {
			l.run()
		}
	}
	return first
}

// AfterCommit runs f when all that the session's transaction did can be seen by others: at once outside a transaction,
// and never when the transaction, or its part that f was given in, is rolled back.
func (s *Session) AfterCommit(f func()) {
	if s.count == 0 {
		f()
		return
	}
	s.later = append(s.later, afterCommit{run: f, saves: len(s.saves)})
}

func (s *Session) undo(o *openTx) {
	o.tx.Rollback()
	s.inst.locks.release(s, o.db)
	for _, f := range o.undo {
		f()
	}
}

// rollbackAll ends the open transactions of all databases.
func (s *Session) rollbackAll() {
	s.later = nil
	for id, o := range s.open {
		delete(s.open, id)
		s.undo(o)
	}
}

// beginTransaction is BEGIN TRANSACTION.
func (s *Session) beginTransaction(name string) {
	if s.count == 0 {
		s.descriptor = transactionIDs.Add(1)
		s.began, s.name = time.Now(), name
		s.local.begin()
	}
	s.count++
}

// commitTransaction is COMMIT: the outermost one makes everything durable.
func (s *Session) commitTransaction(ctx context.Context) error {
	if s.count == 0 {
		return sqlerr.New(3902, 1)
	}
	if s.doomed {
		return sqlerr.New(3930, 1)
	}
	if s.count > 1 {
		s.count--
		return nil
	}
	s.endTransaction()
	s.local.commit()
	return s.commitAll(ctx)
}

// rollbackTransaction is ROLLBACK without a savepoint.
func (s *Session) rollbackTransaction() {
	s.endTransaction()
	s.execution.takenBack(-1)
	s.local.rollback()
	s.rollbackAll()
}

func (s *Session) endTransaction() {
	s.count, s.descriptor, s.doomed, s.name, s.saves = 0, 0, false, "", nil
	s.releaseTransactionLocks()
}

// saveTransaction is SAVE TRANSACTION.
func (s *Session) saveTransaction(ctx context.Context, name string) error {
	if s.count == 0 {
		return sqlerr.New(628, 0)
	}
	if s.doomed {
		return sqlerr.New(3931, 1)
	}
	s.saves = append(s.saves, name)
	s.local.save()
	for _, o := range s.open {
		if err := s.inTx(ctx, o, func(tx *storage.Tx) error { return tx.Savepoint(name) }); err != nil {
			return err
		}
	}
	return nil
}

// rollbackTo is ROLLBACK TRANSACTION name, where name is a savepoint, or the name of the outermost transaction. The
// names know case whatever the collation (docs/t-sql/language-elements/begin-transaction-transact-sql.md,
// save-transaction-transact-sql.md).
func (s *Session) rollbackTo(ctx context.Context, name string) error {
	if s.count == 0 {
		return sqlerr.New(3903, 1)
	}
	for i := len(s.saves) - 1; i >= 0; i-- {
		if s.saves[i] != name {
			continue
		}
		if s.doomed {
			return sqlerr.New(3931, 1)
		}
		s.saves = s.saves[:i+1]
		s.local.rollbackTo(i)
		s.later = slices.DeleteFunc(s.later, func(l afterCommit) bool { return l.saves > i })
		for _, o := range s.open {
			if err := s.inTx(ctx, o, func(tx *storage.Tx) error { return tx.RollbackTo(name) }); err != nil {
				return err
			}
		}
		if s.execution.takenBack(i) {
			return s.partOf(ctx, s.execution.Database, nil)
		}
		return nil
	}
	if s.name != "" && s.name == name {
		s.rollbackTransaction()
		return nil
	}
	return sqlerr.New(6401, 1, "ROLLBACK", name)
}

// readConn gives a connection that reads db as the session sees it now.
func (s *Session) readConn(ctx context.Context, db *Database) (*sqlite.Conn, func(), error) {
	if err := db.Available(); err != nil {
		return nil, nil, err
	}
	if o := s.open[db.ID()]; o != nil {
		leave, err := o.tx.Use(ctx)
		if err != nil {
			return nil, nil, err
		}
		return s.attach(o.tx.Conn(), leave)
	}
	return s.readerOf(ctx, db)
}

// committed is a connection to a database that sees what is committed, and nothing of the session's own transaction.
func (s *Session) committed(ctx context.Context, space int32) (*sqlite.Conn, func(), error) {
	db := s.inst.DatabaseByID(space)
	if db == nil {
		return nil, nil, sqlerr.New(911, 1, fmt.Sprint(space))
	}
	if err := db.Available(); err != nil {
		return nil, nil, err
	}
	return s.readerOf(ctx, db)
}

func (s *Session) readerOf(ctx context.Context, db *Database) (*sqlite.Conn, func(), error) {
	r, err := db.Storage().Reader(ctx)
	if err != nil {
		return nil, nil, err
	}
	leave, err := r.Use(ctx)
	if err != nil {
		r.Release()
		return nil, nil, err
	}
	return s.attach(r.Conn(), func() { leave(); r.Release() })
}

func (s *Session) attach(conn *sqlite.Conn, leave func()) (*sqlite.Conn, func(), error) {
	done := func() {}
	if st := s.inst.conns.of(conn); st != nil {
		done = st.use(s)
	}
	return conn, func() { done(); leave() }, nil
}

// Begin serves tds.Session. Levels are those of [MS-TDS] 2.2.6.9: 1 read uncommitted to 4 serializable, 5 snapshot.
func (s *Session) Begin(ctx context.Context, isolation byte, name string) (uint64, error) {
	if isolation > 0 && isolation <= 5 {
		s.settings.isolation = isolation
	}
	s.beginTransaction(name)
	return s.descriptor, nil
}

// Commit serves tds.Session.
func (s *Session) Commit(ctx context.Context) error {
	return s.answer(s.commitTransaction(ctx))
}

// Rollback serves tds.Session.
func (s *Session) Rollback(ctx context.Context, name string) error {
	if s.count == 0 {
		return sqlerr.New(3903, 1)
	}
	if name != "" {
		return s.answer(s.rollbackTo(ctx, name))
	}
	s.rollbackTransaction()
	return nil
}

// Save serves tds.Session.
func (s *Session) Save(ctx context.Context, savepoint string) error {
	return s.answer(s.saveTransaction(ctx, savepoint))
}

// answer is an error for the protocol: SQL Server's, or one that ends the connection.
func (s *Session) answer(err error) error {
	if err == nil {
		return nil
	}
	if err := s.broken.err(); err != nil {
		return err
	}
	return AsError(err)
}

// InTransaction serves tds.Session.
func (s *Session) InTransaction() uint64 { return s.descriptor }

// writeConnDo runs f on the connection of the session's write transaction in db.
func (s *Session) writeConnDo(ctx context.Context, db *Database, f func(*sqlite.Conn) error) error {
	return s.write(ctx, db, func(tx *storage.Tx) error { return f(tx.Conn()) })
}
