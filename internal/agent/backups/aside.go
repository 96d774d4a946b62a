// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/backup"
)

const (
	// asidePrefix begins the name of a folder with files of which the server notes no backup. One of a log is there for
	// people until its policy's retention ends, since the log that it may have is nowhere else any more. One with data is
	// there until another backup of the database's data is: all that it has is in the database, too.
	asidePrefix = ".aside-"
	// pastPrefix begins the name of one of a log behind which a full backup was taken since: it is missed no more but for
	// moments between the backups before and behind it.
	pastPrefix = ".past-"
)

// aside is a folder that is kept though nobody knows what is in it.
type aside struct {
	begun
	Dir string
	At  time.Time
	// Past says that a full backup was taken since, Was that it was a set, whose files are no more as they were taken.
	Past, Was bool
}

// putAside keeps the files of a backup, and says so in its error.
func (e *taker) putAside(dir string, b begun) error {
	to := filepath.Join(e.sets.dir, asidePrefix+strings.TrimPrefix(filepath.Base(dir), newPrefix))
	if b.Kind != backup.Log {
		if err := e.dropAside(b.Database, to); err != nil {
			return err
		}
	}
	if err := os.Rename(dir, to); err != nil {
		return fmt.Errorf("%w: %w", errUnsettled, err)
	}
	return fmt.Errorf("a %s backup of %s was begun: %w: it is kept in %s", strings.ToLower(string(b.Kind)), b.Database,
		errAside, to)
}

// replaced says that a set was taken: what is aside of the same data goes, and what is of the log is past behind a full
// one.
func (e *taker) replaced(d backup.Description) error {
	if d.Kind == backup.Log {
		return nil
	}
	errs := []error{e.dropAside(d.Database, "")}
	all, err := e.asides()
	errs = append(errs, err)
	for _, a := range all {
		if d.Kind == backup.Full && !a.Past && strings.EqualFold(a.Database, d.Database) && a.At.Before(d.Begun) {
			errs = append(errs, e.makePast(a))
		}
	}
	return errors.Join(errs...)
}

// makePast notes of what is aside of a log that a full backup is behind it. People may have taken it away.
func (e *taker) makePast(a aside) error {
	past := filepath.Join(e.sets.dir, pastPrefix+strings.TrimPrefix(filepath.Base(a.Dir), asidePrefix))
	if err := os.Rename(a.Dir, past); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// dropAside removes what is aside of a database's data, but for one folder.
func (e *taker) dropAside(database, but string) error {
	all, err := e.asides()
	errs := []error{err}
	for _, a := range all {
		if a.Kind != backup.Log && strings.EqualFold(a.Database, database) && a.Dir != but {
			errs = append(errs, os.RemoveAll(a.Dir))
		}
	}
	return errors.Join(errs...)
}

// endAsides removes what is aside for longer than its policy keeps backups.
func (e *taker) endAsides(now time.Time) error {
	all, err := e.asides()
	errs := []error{err}
	for _, a := range all {
		if a.KeepAge > 0 && now.Sub(a.At) > a.KeepAge {
			errs = append(errs, os.RemoveAll(a.Dir))
		}
	}
	return errors.Join(errs...)
}

// account removes what is aside of a policy's logs and missed by nobody, and says in its error what is not accounted
// for. What a full backup is behind, of whichever server, is past: after a failover another takes it. Where these sets
// are all that there are (whole), what is past goes once none of them is from before it: it is missed between such a
// set and the full backup behind it alone. A policy that keeps so many full backups has no age at which it would go.
func (e *taker) account(policy string, sets []backup.Description, server string, whole bool) error {
	all, err := e.asides()
	errs := []error{err}
	var left []aside
	for _, a := range all {
		switch {
		case a.Policy != policy:
		case a.Past && whole && a.outlived(sets, server):
			errs = append(errs, os.RemoveAll(a.Dir))
		case a.Past || a.Kind != backup.Log:
		case a.needless(sets, server):
			errs = append(errs, os.RemoveAll(a.Dir))
		case a.passed(sets, server):
			errs = append(errs, e.makePast(a))
		default:
			left = append(left, a)
		}
	}
	return errors.Join(append(errs, missed(left, policy))...)
}

// outlived says that there are sets of the database, and that each is from behind it.
func (a aside) outlived(sets []backup.Description, server string) bool {
	of := slices.DeleteFunc(slices.Clone(sets), func(d backup.Description) bool { return !a.covers(d) })
	return len(of) > 0 && !slices.ContainsFunc(of, func(d backup.Description) bool {
		return d.Begun.Add(-apart(d, server)).Before(a.At)
	})
}

// asides are what is aside now: people may take it away.
func (e *taker) asides() ([]aside, error) {
	entries, err := os.ReadDir(e.sets.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for what is kept aside: %w", err)
	}
	var all []aside
	var errs []error
	for _, entry := range entries {
		past := strings.HasPrefix(entry.Name(), pastPrefix)
		if !entry.IsDir() || !past && !strings.HasPrefix(entry.Name(), asidePrefix) {
			continue
		}
		a := aside{Dir: filepath.Join(e.sets.dir, entry.Name()), Past: past}
		info, err := os.Stat(filepath.Join(a.Dir, takeName))
		if err == nil {
			a.At = info.ModTime()
			a.begun, err = readBegun(a.Dir)
		}
		if err == nil {
			_, missing := os.Stat(filepath.Join(a.Dir, backup.DescriptionName))
			a.Was = missing == nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		if err == nil {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b aside) int { return a.At.Compare(b.At) })
	return all, errors.Join(errs...)
}

// needless says that nothing that a log backup may have is missed: a later one goes on from where one before it ended,
// so that its outcome was none, or the later one has its log too. It is asked again and again, of all sets of months.
func (a aside) needless(sets []backup.Description, server string) bool {
	// Of each fork, how far those before it go, and where those behind it begin at the earliest.
	before, data, behind := map[string]backup.LSN{}, map[string]backup.LSN{}, map[string]backup.LSN{}
	for _, d := range sets {
		if d.Damaged || !a.covers(d) {
			continue
		}
		into := before
		if d.Kind != backup.Log {
			into = data
		}
		if d.Finished.Add(apart(d, server)).Before(a.At) && d.LastLSN.Compare(into[d.Fork]) > 0 {
			into[d.Fork] = d.LastLSN
		}
		first, one := behind[d.Fork]
		if d.Kind == backup.Log && !d.Begun.Add(-apart(d, server)).Before(a.At) && (!one || d.FirstLSN.Compare(first) < 0) {
			behind[d.Fork] = d.FirstLSN
		}
	}
	for fork, first := range behind {
		if last, one := before[fork]; one && first.Compare(last) <= 0 {
			return true
		}
		// One that begins where a full backup ends may go on from what is aside: the log before that is in nothing else.
		if last, one := data[fork]; one && first.Compare(last) < 0 {
			return true
		}
	}
	return false
}

// passed says that a full backup was taken since.
func (a aside) passed(sets []backup.Description, server string) bool {
	return slices.ContainsFunc(sets, func(d backup.Description) bool {
		return d.Kind == backup.Full && !d.Damaged && a.covers(d) && !d.Begun.Add(-apart(d, server)).Before(a.At)
	})
}

// apart is how far the clock of the server that took a set may be from a server's.
func apart(d backup.Description, server string) time.Duration {
	if d.Server == server {
		return 0
	}
	return time.Minute
}

func (a aside) covers(d backup.Description) bool {
	return d.Family == a.Family && strings.EqualFold(d.Database, a.Database)
}

// missed says which log backups of a policy are aside and not past, for people. Data that is aside is in the database.
func missed(all []aside, policy string) error {
	var errs []error
	for _, a := range all {
		why := errAside
		if a.Was {
			why = errNotAsTaken
		}
		if a.Policy == policy && !a.Past && a.Kind == backup.Log {
			errs = append(errs, fmt.Errorf("a log backup of %s begun at %s: %w: %s", a.Database,
				a.At.UTC().Format(time.RFC3339), why, a.Dir))
		}
	}
	return errors.Join(errs...)
}
