// SPDX-License-Identifier: Apache-2.0

package restores

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/tsql"
)

// refusalsMost is how often the engine may refuse before the restore has failed. A passing cause, such as a full volume
// that somebody empties, or a restart, deserves another try.
const refusalsMost = 3

// refusalPause is the time after a refusal in which nothing is told the engine.
const refusalPause = 2 * time.Minute

// step is what comes next.
type step interface{ String() string }

// Steps.
type (
	// list finds the files, bring brings one to the backup volume, and examine asks the engine what is in it.
	list    struct{}
	bring   struct{ File int }
	examine struct{ File int }
	// choose finds the chain in the stores, or in the files.
	choose struct{}
	// download brings a set of the chain to the backup volume.
	download struct{ Set int }
	// restore restores a set of the chain; the first makes the database, or makes it anew.
	restore struct{ Set int }
	// recovery ends the restore at the engine.
	recovery struct{}
	// check has the engine check the database.
	check struct{}
	// finish writes down how it ended.
	finish struct{ Result Result }
	// clean removes what was downloaded.
	clean struct{}
	// wait does nothing until something changed; Why is for people.
	wait struct{ Why string }
)

func (list) String() string       { return "find the files" }
func (s bring) String() string    { return fmt.Sprintf("download file %d", s.File+1) }
func (s examine) String() string  { return fmt.Sprintf("look into file %d", s.File+1) }
func (choose) String() string     { return "find the backups" }
func (s download) String() string { return fmt.Sprintf("download set %d", s.Set+1) }
func (s restore) String() string  { return fmt.Sprintf("restore set %d", s.Set+1) }
func (recovery) String() string   { return "recover the database" }
func (check) String() string      { return "check the database" }
func (finish) String() string     { return "finish" }
func (clean) String() string      { return "remove what was downloaded" }
func (s wait) String() string     { return "wait: " + s.Why }

// next is the step that comes next; nil when the restore is over. It is pure.
func next(o *observed) step {
	r := o.Record
	switch {
	case r.Result != nil && o.Left:
		return clean{}
	case r.Result != nil:
		return nil
	case len(r.Plan.Sets) == 0 && o.Order.Import != nil:
		return gather(o)
	case len(r.Plan.Sets) == 0:
		return choose{}
	case o.Err != nil:
		return wait{o.Err.Error()}
	case o.Order.DryRun:
		return dryRun(o)
	case !r.Begun && o.Database != nil && !o.ours():
		return exists(o)
	case !r.Begun && o.Database != nil && o.Database.State == "ONLINE":
		return disturbed(o, "this Restore made database "+r.Database+", which is ONLINE; what the agent had written down of "+
			"it is lost, so that nobody knows whether all of it was restored")
	case o.locked() != "" && !r.Begun:
		return wait{o.locked()}
	case r.Downloaded < len(r.Plan.Sets):
		return download{r.Downloaded}
	case !r.Begun && o.Database == nil && o.away() != "":
		return wait{o.away()}
	case !r.Begun && o.Database == nil:
		return restore{0}
	}
	return goOn(o)
}

// gather is the next step of a restore from files of which the chain is not known yet.
func gather(o *observed) step {
	r := o.Record
	switch {
	case len(r.Files) == 0:
		return list{}
	case o.Err != nil:
		return wait{o.Err.Error()}
	case o.Database != nil && !o.ours() && !o.Order.DryRun:
		return exists(o)
	}
	switch {
	case r.Refusals >= refusalsMost:
		return ended(o, Refused, v1alpha1.ReasonFileNotUsable, r.Refusal)
	case o.pausing():
		return pausing(o)
	}
	for n, f := range r.Files {
		switch {
		case f.Read:
		case f.Whole:
			return examine{n}
		default:
			return bring{n}
		}
	}
	return choose{}
}

func exists(o *observed) step {
	return ended(o, Refused, v1alpha1.ReasonDatabaseExists, "there is a database "+o.Record.Database+" on the server, "+
		"which is never restored over: drop it, or make another Restore with another spec.target.database")
}

func dryRun(o *observed) step {
	message := fmt.Sprintf("%d sets would be restored; nothing was changed", len(o.Record.Plan.Sets))
	if locked := o.locked(); locked != "" {
		message += "; without dryRun it would wait: " + locked
	}
	if o.Database != nil {
		message += "; without dryRun it would be refused: there is a database " + o.Record.Database + " on the server"
	}
	return ended(o, Succeeded, v1alpha1.ReasonRestorePlanned, message)
}

// goOn is the next step of a restore that the engine may have begun with.
func goOn(o *observed) step {
	r := o.Record
	switch {
	case o.Working:
		return wait{"the engine is at what it was told before"}
	case o.Database == nil && r.Restored > 0:
		return disturbed(o, "somebody dropped database "+r.Database+" while it was restored")
	case o.Database == nil && r.Refusals >= refusalsMost:
		return refusedAgain(o)
	case o.Database == nil && o.pausing():
		return pausing(o)
	case o.Database == nil && o.away() != "":
		return wait{o.away()}
	case o.Database == nil:
		return restore{0}
	case len(o.Database.Files) == 0:
		return wait{"the engine does not say where the files of " + r.Database + " are, so that nobody knows whose it is"}
	case !o.ours():
		return disturbed(o, "database "+r.Database+" of the server was not made by this Restore; it is left alone")
	}
	switch o.Database.State {
	case "RESTORING":
		if r.Refusals >= refusalsMost {
			return refusedAgain(o)
		}
		if o.pausing() {
			return pausing(o)
		}
		if r.Restored < len(r.Plan.Sets) {
			return restore{r.Restored}
		}
		if away := o.away(); away != "" {
			return wait{away}
		}
		return recovery{}
	case "ONLINE":
		if !r.Recovering {
			return disturbed(o, "somebody recovered database "+r.Database+" before all of it was restored")
		}
		return online(o)
	}
	if r.Refusals >= refusalsMost && o.Database.State != "RECOVERING" {
		return refusedAgain(o)
	}
	return wait{"database " + r.Database + " is " + o.Database.State}
}

// online is the next step once the engine has the database.
func online(o *observed) step {
	r := o.Record
	switch {
	case r.Checked:
		return ended(o, Succeeded, v1alpha1.ReasonRestored, "database "+r.Database+" is restored, and DBCC CHECKDB has "+
			"found nothing")
	case !o.Order.Check:
		return ended(o, Succeeded, v1alpha1.ReasonRestored, "database "+r.Database+" is restored")
	case r.Checking && r.Refusals >= refusalsMost:
		return ended(o, Failed, v1alpha1.ReasonCheckFailed, "database "+r.Database+" is restored, and could not be checked: "+
			r.Refusal)
	case r.Checking && o.pausing():
		return pausing(o)
	}
	return check{}
}

// began is the record of a check that is about to begin: it has all its tries.
func began(r record) record {
	if !r.Checking {
		r.Checking, r.Refusals, r.Refusal = true, 0, ""
	}
	return r
}

// checked is what becomes of the record once the engine has answered a check. What it found ends the restore; a check
// that could not be carried out is tried again so often.
func checked(o *observed, err error) record {
	r := o.Record
	found := mssql.Findings(err)
	switch {
	case err == nil:
		r.Checked = true
	case len(found) > 0:
		r.Result = &Result{Outcome: Failed, Reason: v1alpha1.ReasonCheckFailed, Finished: o.Now, Message: fmt.Sprintf(
			"database %s is restored, and DBCC CHECKDB found errors %v: %v", r.Database, found, err)}
	default:
		r.Refusals++
		r.Refused, r.Refusal = o.Now, fmt.Sprintf("%s: %v", check{}, err)
	}
	return r
}

func ended(o *observed, as Outcome, reason, message string) step {
	return finish{Result{Outcome: as, Reason: reason, Message: message, Finished: o.Now}}
}

func disturbed(o *observed, message string) step {
	return ended(o, Failed, v1alpha1.ReasonRestoreDisturbed, message)
}

// refused is what becomes of the record when the engine refuses a step: the restore begins anew with the first set,
// over what it made itself. A recovery is told again: what the database is then says whether it was one.
func refused(o *observed, at step, err error) record {
	r := o.Record
	r.Refusals++
	r.Refused, r.Furthest = o.Now, max(r.Furthest, r.Restored)
	r.Refusal = fmt.Sprintf("%s: %v", at, err)
	if _, is := at.(recovery); !is {
		r.Restored, r.Recovering = 0, false
	}
	return r
}

// went is the record of a restore of which so many sets are restored. One that was never that far has all its tries
// again.
func went(r record, sets int) record {
	r.Restored = sets
	if sets > r.Furthest {
		r.Furthest, r.Refusals, r.Refusal = sets, 0, ""
	}
	return r
}

func pausing(o *observed) step {
	return wait{"the engine refused to " + o.Record.Refusal + "; it is told again later"}
}

// refusedAgain ends a restore that the engine has refused too often.
func refusedAgain(o *observed) step {
	message := o.Record.Refusal
	if o.Database != nil {
		message += fmt.Sprintf("; database %s is left %s: drop it before another Restore", o.Record.Database,
			o.Database.State)
	}
	return ended(o, Failed, v1alpha1.ReasonEngineRefused, message)
}

// statement restores a set of the chain from files in a folder.
func statement(r record, set int, dir string) tsql.Statement {
	d := r.Plan.Sets[set]
	form := tsql.RestoreForm{Moves: moves(r, set), StopBefore: string(r.Plan.StopBefore)}
	if len(r.Positions) > set {
		form.Position = r.Positions[set]
	}
	if last := r.Plan.Sets[len(r.Plan.Sets)-1]; !r.Plan.StopAt.IsZero() {
		// Every set is told the same time, by the clock of the server that wrote the log in which it lies.
		form.StopAt = r.Plan.StopAt.UTC().Add(clock(last))
	}
	if d.BulkLogged {
		// A restore never stops within it, and the engine refuses it with anything to stop at.
		form.StopAt, form.StopBefore = time.Time{}, ""
	}
	for _, f := range d.Files {
		form.Files = append(form.Files, path.Join(dir, f.Written().Name))
	}
	if d.Kind == backup.Log {
		return tsql.RestoreLog(r.Database, form).Because("a Restore asks for it")
	}
	if set == 0 {
		return tsql.RestoreFirst(r.Database, r.UID, form).Because("a Restore asks for it")
	}
	return tsql.RestoreDatabase(r.Database, form).Because("a Restore asks for it")
}

// moves are the places of the files of the database that no set before has.
func moves(r record, set int) []tsql.FileMove {
	var (
		known  []string
		all    []tsql.FileMove
		number = map[bool]int{}
	)
	for n, d := range r.Plan.Sets[:set+1] {
		for _, f := range d.DatabaseFiles {
			if slices.Contains(known, f.Name) {
				continue
			}
			known = append(known, f.Name)
			number[f.Log]++
			if n == set {
				all = append(all, tsql.FileMove{Name: f.Name, To: place(r, f.Log, number[f.Log])})
			}
		}
	}
	return all
}

// place is where a file of the database goes. Its name has the restore's UID: no file that is there has it, and by it
// the database is known to be this restore's.
func place(r record, log bool, number int) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			return c
		}
		return '_'
	}, r.Database)
	name = name[:min(len(name), 64)] + "-" + r.UID
	dir, extension := conf.DataDir, ".mdf"
	switch {
	case log:
		dir, extension = conf.LogDir, ".ldf"
	case number > 1:
		extension = ".ndf"
	}
	if number > 1 {
		name += fmt.Sprint("-", number)
	}
	return path.Join(dir, name+extension)
}

// clock is how far the clock of the server that took a set was from UTC.
func clock(d backup.Description) time.Duration { return time.Duration(d.ClockOffset) * time.Minute }
