// SPDX-License-Identifier: Apache-2.0

package restores

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/seal"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

const (
	// describedMost are the bytes of a description that are read to see that there is one.
	describedMost = 1 << 20
	// notAllowed is the error of RESTORE without the right to make databases, which the manager gives.
	notAllowed = 262
	// notNoted is that of a server that could not note a restore in msdb: "The backup/restore operation was still
	// successful"; terminated that of one that was not
	// (docs/relational-databases/errors-events/database-engine-events-and-errors-3000-to-3999.md).
	notNoted, terminated = 3009, 3013
)

// apply carries out a step. Each may be carried out again.
func (r *runner) apply(ctx context.Context, o *observed, s step) error {
	ctx, cancel := r.whileMoving(ctx)
	defer cancel()
	switch s := s.(type) {
	case list:
		return r.list(ctx, o)
	case bring:
		return r.bring(ctx, o, s.File)
	case examine:
		return r.examine(ctx, o, s.File)
	case choose:
		if o.Order.Import != nil {
			return r.chooseFiles(ctx, o)
		}
		return r.choose(ctx, o)
	case download:
		return r.download(ctx, o, s.Set)
	case restore:
		return r.restore(ctx, o, s.Set)
	case recovery:
		kept := o.Record
		kept.Recovering = true
		if err := r.keep(kept); err != nil {
			return err
		}
		o.Record = kept
		return r.judge(o, s, r.execute(ctx, tsql.RecoverDatabase(kept.Database).Because("a Restore asks for it")))
	case check:
		return r.check(ctx, o)
	case finish:
		kept := o.Record
		kept.Result = &s.Result
		if err := r.keep(kept); err != nil {
			return err
		}
		r.log.Info("a restore has ended", "restore", o.Order.Name, "outcome", s.Result.Outcome, "reason", s.Result.Reason,
			"message", s.Result.Message)
		return nil
	case clean:
		return r.clean()
	}
	return fmt.Errorf("no way to carry out %T", s)
}

// restoring are the engine's commands by which it restores.
var restoring = []string{"RESTORE DATABASE", "RESTORE LOG"}

// whileMoving ends once neither a download nor the engine gets any further.
func (r *runner) whileMoving(ctx context.Context) (context.Context, context.CancelFunc) {
	return mssql.WhileMoving(ctx, stillFor, func(ctx context.Context) string {
		r.mu.Lock()
		downloaded := r.downloaded
		r.mu.Unlock()
		progress := ""
		if db, err := r.engine.Ask(ctx); err == nil {
			progress = mssql.Progress(ctx, db, restoring...)
		}
		return fmt.Sprint(downloaded, progress)
	})
}

// refuse ends a restore that has changed nothing.
func (r *runner) refuse(o *observed, reason, message string) error {
	kept := o.Record
	kept.Result = &Result{Outcome: Refused, Reason: reason, Message: message, Finished: o.Now}
	return r.keep(kept)
}

// choose finds the chain that takes the database furthest, or to where it is asked for, in any of the stores. While one
// of them does not answer and no other reaches the target, nothing is decided. A chain without its key is none, and
// where the newest point is asked for no older one of another store is taken instead: nobody would see that it is.
func (r *runner) choose(ctx context.Context, o *observed) error {
	kept, found := o.Record, false
	var away, missing error
	var closed *locked
	var closedUntil time.Time
	for _, s := range o.Order.Stores {
		plan, err := r.chosen(ctx, s, o.Order)
		var none *backup.NoChain
		lacks := lockedSet(s, plan)
		switch {
		case lacks != nil:
			if closed == nil || plan.Until.After(closedUntil) {
				closed, closedUntil = lacks, plan.Until
			}
		case errors.As(err, &none):
			missing = cmp.Or(missing, fmt.Errorf("store %s: %w", s.Name, err))
		case err != nil:
			away = errors.Join(away, fmt.Errorf("store %s: %w", s.Name, err))
		case !found || plan.Until.After(kept.Plan.Until):
			kept.Plan, kept.Store, found = plan, s.Name, true
		}
	}
	latest := o.Order.Time.IsZero() && o.Order.LSN == "" && o.Order.Backup == ""
	switch {
	case away != nil && (!found || latest):
		return away
	case closed != nil && (!found || latest && closedUntil.After(kept.Plan.Until)):
		return r.refuse(o, v1alpha1.ReasonDecryptionKeyMissing, closed.Error()+"; nothing was changed")
	case !found:
		return r.refuse(o, v1alpha1.ReasonNoChain, fmt.Sprintf("%s: %v", o.Order.Folder, cmp.Or(missing,
			errors.New("there is no store"))))
	}
	kept.Database = cmp.Or(o.Order.Database, kept.Plan.Sets[0].Database)
	return r.keep(kept)
}

func (r *runner) chosen(ctx context.Context, s orders.BackupStore, order orders.Restore) (backup.Plan, error) {
	from, err := backups.Open(s, r.who)
	if err != nil {
		return backup.Plan{}, err
	}
	defer from.Close()
	stored, err := backups.Folder(ctx, from, order.Folder)
	if err != nil {
		return backup.Plan{}, err
	}
	var all []backup.Description
	for _, k := range stored.Sets {
		k.Set.Damaged = k.Damaged
		all = append(all, k.Description)
	}
	return backup.PlanOf(all, backup.Target{Time: order.Time, LSN: backup.LSN(order.LSN), ID: order.Backup})
}

// setDir is where the files of a set are, on the backup volume; those of all sets that are of files.
func (r *runner) setDir(set int) string {
	if r.order.Import != nil {
		return r.filesDir()
	}
	return filepath.Join(r.dir, strconv.Itoa(set))
}

// download brings the files of a set to the backup volume. One that is not as its description says is refused, and
// named: nothing was restored by then.
func (r *runner) download(ctx context.Context, o *observed, set int) error {
	kept := o.Record
	d := kept.Plan.Sets[set]
	from, err := r.chosenStore(o)
	if err != nil {
		return err
	}
	defer from.Close()
	dir := r.setDir(set)
	if err := os.MkdirAll(dir, 0o770); err != nil {
		return err
	}
	if err := r.room(o, set); err != nil {
		return err
	}
	before := backup.Plan{Sets: kept.Plan.Sets[:set]}.Stored()
	for _, f := range d.Files {
		err := r.bringFile(ctx, o, from, dir, d, f, func(bytes int64) { r.progress(before + bytes) })
		damaged := errors.Is(err, store.ErrDamaged) || errors.Is(err, seal.ErrDamaged) || errors.Is(err, store.ErrNotFound)
		if damaged && replaced(ctx, from, d) {
			return r.chooseAnew(o)
		}
		if damaged {
			return r.refuse(o, v1alpha1.ReasonSetDamaged, fmt.Sprintf("the %s (%s) is damaged: %v; nothing was restored. "+
				"Name a time before it, or one behind the next full backup", d.Set, d.ID, err))
		}
		if err != nil {
			return err
		}
		before += f.Bytes
	}
	kept.Downloaded = set + 1
	return r.keep(kept)
}

// replaced says that a set is none any more, whose description goes first, or has another description: one that is sent
// again may be encrypted anew.
func replaced(ctx context.Context, from *store.Store, d backup.Description) bool {
	content, err := from.Read(ctx, d.Key(), describedMost)
	if err != nil {
		return errors.Is(err, store.ErrNotFound)
	}
	now, err := backup.Decode(content)
	return err == nil && d.Sum != "" && now.Sum != d.Sum
}

// chooseAnew forgets the chain, and what was downloaded of it: the retention may remove a set while it is downloaded,
// and who took it may send it again.
func (r *runner) chooseAnew(o *observed) error {
	kept := o.Record
	kept.Plan, kept.Store, kept.Downloaded = backup.Plan{}, "", 0
	if err := r.keep(kept); err != nil {
		return err
	}
	r.progress(0)
	return r.clean()
}

func (r *runner) chosenStore(o *observed) (*store.Store, error) {
	s, err := r.chosenOrder(o)
	if err != nil {
		return nil, err
	}
	return backups.Open(s, r.who)
}

func (r *runner) chosenOrder(o *observed) (orders.BackupStore, error) {
	for _, s := range o.Order.Stores {
		if s.Name == o.Record.Store {
			return s, nil
		}
	}
	return orders.BackupStore{}, fmt.Errorf("store %s is no more among those of the order", o.Record.Store)
}

// room says how much the backup volume lacks for what is not downloaded yet.
func (r *runner) room(o *observed, set int) error {
	needed := backup.Plan{Sets: o.Record.Plan.Sets[set:]}.Stored()
	entries, err := os.ReadDir(r.setDir(set))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			needed -= info.Size()
		}
	}
	left, err := r.free(r.dir)
	if err != nil {
		return fmt.Errorf("ask what is free of the backup volume: %w", err)
	}
	if left < needed {
		return fmt.Errorf("the backup volume has %d bytes free, beside those that stay free for backups of logs, and the "+
			"backups take %d more", left, needed)
	}
	return nil
}

func (r *runner) progress(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.downloaded = bytes
}

// restore restores a set. What is about to be told the engine is on disk before.
func (r *runner) restore(ctx context.Context, o *observed, set int) error {
	kept, begun := o.Record, o.Record.Begun
	kept.Begun, kept.Restored = true, set
	if err := r.keep(kept); err != nil {
		return err
	}
	o.Record = kept
	err := r.execute(ctx, statement(kept, set, r.setDir(set)))
	if kept.Plan.Sets[set].Kind == backup.Log && mssql.HasNumber(err, tsql.LogTooEarly) {
		err = nil // it is restored already: the answer of an earlier life was lost
	}
	if mssql.HasNumber(err, tsql.ForeignDatabase) {
		// Somebody has made one since it was looked for. Of a restore that begins here nothing was made.
		kept.Begun = begun
		return errors.Join(err, r.keep(kept))
	}
	if err != nil {
		return r.judge(o, restore{set}, err)
	}
	return r.keep(went(kept, set+1))
}

func (r *runner) execute(ctx context.Context, s tsql.Statement) error {
	db, err := r.engine.Data(ctx)
	if err != nil {
		return err
	}
	err = db.Exec(ctx, s)
	r.at(ctx, "after: "+s.String())
	return cmp.Or(ctx.Err(), done(err))
}

// done is nil for an answer by which the engine did what it was told, though it could not note it.
func done(err error) error {
	if mssql.HasNumber(err, notNoted) && !mssql.HasNumber(err, terminated) {
		return nil
	}
	return err
}

// judge tells a refusal by the engine from an answer that was lost, or a right that is to come.
func (r *runner) judge(o *observed, s step, err error) error {
	if err == nil || !mssql.Is(err, mssql.Refused) || mssql.HasNumber(err, notAllowed) {
		return err
	}
	return errors.Join(err, r.keep(refused(o, s, err)))
}

// check has the engine check the database. The right to, which the manager gives, may be to come. One that was cut off,
// since it lasted too long, counts as one that could not be carried out.
func (r *runner) check(ctx context.Context, o *observed) error {
	begun := began(o.Record)
	if err := r.keep(begun); err != nil {
		return err
	}
	o.Record = begun
	err := r.execute(ctx, tsql.CheckDatabase(begun.Database).Because("a Restore asks for it"))
	denied := mssql.HasNumber(err, mssql.NotAllowedToCheck...)
	r.mu.Lock()
	r.denied = denied
	r.mu.Unlock()
	// The server does not say in words that are documented how far a check is: begun again it may be cut off for ever.
	cut := errors.Is(ctx.Err(), context.DeadlineExceeded)
	if cut {
		err = fmt.Errorf("it was not done within %s: %w", stillFor, err)
	}
	if denied || err != nil && !cut && !mssql.Is(err, mssql.Refused) {
		return err
	}
	kept := checked(o, err)
	if kept.Result != nil {
		return r.keep(kept)
	}
	return errors.Join(err, r.keep(kept))
}

// clean removes what was downloaded; the record stays until the order is withdrawn.
func (r *runner) clean() error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if e.IsDir() {
			errs = append(errs, os.RemoveAll(filepath.Join(r.dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
