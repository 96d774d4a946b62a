// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/backup"
)

const (
	// newPrefix begins the name of a folder in which a set is being taken.
	newPrefix = ".new-"
	// gonePrefix begins the name of one of a set that is being removed.
	gonePrefix = ".gone-"
	// takeName is the file there with the Take, storedName the one beside a description with the stores that have the set.
	takeName   = "take.json"
	storedName = "stored.json"
)

// local are the sets on the server's backup volume, each in a folder as in a store.
type local struct {
	dir string
	// at is called when something was done that the next life of the sidecar has to find; nil outside of tests, which end
	// the process there.
	at func(point string)

	// noting is held while it is written where sets are, or one goes: what is written is not of a set that is gone. It is
	// taken before mu, and mu is never held while the volume is asked: whoever asks for the status does not wait for it.
	noting sync.Mutex

	mu  sync.Mutex
	own map[string]Own
	// looked says that all folders were looked through, known that each could be read.
	looked, known bool
}

func (l *local) reached(point string, kind backup.Kind) {
	if l.at != nil {
		l.at(point + " " + string(kind))
	}
}

// load reads which sets are there, unless all are known. A folder whose description cannot be read is left alone and
// said in the error.
func (l *local) load() error {
	l.mu.Lock()
	known, folders := l.known, map[string]bool{}
	for _, own := range l.own {
		folders[l.path(own, "")] = true
	}
	l.mu.Unlock()
	if known {
		return nil
	}
	var found []Own
	var errs []error
	err := filepath.WalkDir(l.dir, func(file string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir() && filepath.Dir(file) == l.dir && strings.HasPrefix(e.Name(), gonePrefix):
			errs = append(errs, os.RemoveAll(file))
			return fs.SkipDir
		case e.IsDir() && filepath.Dir(file) == l.dir && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir // no namespace begins so
		case e.IsDir() && folders[file]:
			return fs.SkipDir
		case e.Name() != backup.DescriptionName:
			return nil
		}
		one, err := readOwn(file)
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		found = append(found, one)
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for backups on the backup volume: %w", err)
	}
	l.noting.Lock()
	defer l.noting.Unlock()
	found = slices.DeleteFunc(found, func(one Own) bool {
		_, err := os.Stat(l.path(one, backup.DescriptionName))
		return err != nil // it was forgotten meanwhile, and has another name by now
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil {
		l.own = map[string]Own{}
	}
	for _, one := range found {
		if _, newer := l.own[one.ID]; !newer {
			l.own[one.ID] = one
		}
	}
	err = errors.Join(errs...)
	l.looked, l.known = true, err == nil
	return err
}

// read says that the volume was looked through.
func (l *local) read() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.looked
}

func readOwn(file string) (Own, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return Own{}, err
	}
	d, err := backup.Decode(content)
	if err != nil {
		return Own{}, fmt.Errorf("%s: %w", file, err)
	}
	own := Own{Description: d, In: map[string]time.Time{}}
	content, err = os.ReadFile(filepath.Join(filepath.Dir(file), storedName))
	if err == nil {
		err = json.Unmarshal(content, &own.In)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Own{}, fmt.Errorf("%s: %w", filepath.Join(filepath.Dir(file), storedName), err)
	}
	return own, nil
}

// all are the sets that are there, for one target.
func (l *local) all(namespace, target string) []Own {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Own
	for _, own := range l.own {
		if own.Namespace == namespace && own.Target == target {
			all = append(all, own)
		}
	}
	return all
}

func (l *local) path(o Own, file string) string {
	return filepath.Join(l.dir, filepath.FromSlash(o.Folder()), file)
}

// add makes a set of a folder in which one was taken: the description is there, then the folder has the set's name.
// Only then is it a set.
func (l *local) add(taken string, d backup.Description) error {
	content, err := d.Encode()
	if err != nil {
		return err
	}
	if err := durable.Replace(filepath.Join(taken, backup.DescriptionName), content); err != nil {
		return fmt.Errorf("describe the %s: %w", d.Set, err)
	}
	l.reached("described", d.Kind)
	own := Own{Description: d, In: map[string]time.Time{}}
	folder := l.path(own, "")
	if err := os.MkdirAll(filepath.Dir(folder), 0o750); err != nil {
		return fmt.Errorf("keep the %s: %w", d.Set, err)
	}
	if err := os.Rename(taken, folder); err != nil {
		return fmt.Errorf("keep the %s: %w", d.Set, err)
	}
	l.reached("kept", d.Kind)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil {
		l.own = map[string]Own{}
	}
	l.own[d.ID] = own
	return nil
}

// stored notes that a store has a set.
func (l *local) stored(o Own, store string, now time.Time) error {
	there, err := l.noteIn(o, func(in map[string]time.Time) { in[store] = now })
	if err != nil {
		return fmt.Errorf("note where the %s is: %w", o.Set, err)
	}
	if there {
		l.reached("noted as stored", o.Kind)
	}
	return nil
}

// noteIn changes where a set is, on the volume and then here. One that is not there any more is left alone.
func (l *local) noteIn(o Own, change func(in map[string]time.Time)) (there bool, err error) {
	l.noting.Lock()
	defer l.noting.Unlock()
	l.mu.Lock()
	o, there = l.own[o.ID]
	l.mu.Unlock()
	if !there {
		return false, nil
	}
	in := map[string]time.Time{}
	maps.Copy(in, o.In)
	change(in)
	content, err := json.Marshal(in)
	if err == nil {
		err = durable.Replace(l.path(o, storedName), content)
	}
	if err != nil {
		return true, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own[o.ID] = Own{Description: o.Description, In: in}
	return true, nil
}

// forget removes a set's files. Its folder has another name first: what is left of it is no set, and goes later.
func (l *local) forget(o Own) error {
	gone := filepath.Join(l.dir, gonePrefix+o.ID)
	if err := l.takeOut(o, gone, func() { l.reached("put away", o.Kind) }); err != nil {
		return fmt.Errorf("remove the %s from the backup volume: %w", o.Set, err)
	}
	if err := os.RemoveAll(gone); err != nil {
		l.mu.Lock()
		l.known = false // load removes it
		l.mu.Unlock()
		return fmt.Errorf("remove the %s from the backup volume: %w", o.Set, err)
	}
	return nil
}

// takeOut gives a set's folder another name, calls done, and then has the set be none any more.
func (l *local) takeOut(o Own, to string, done func()) error {
	l.noting.Lock()
	defer l.noting.Unlock()
	if err := os.Rename(l.path(o, ""), to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	done()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.own, o.ID)
	return nil
}

// begun are the folders in which sets were being taken.
func (l *local) begun() ([]string, error) {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for backups that were not finished: %w", err)
	}
	var all []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), newPrefix) {
			all = append(all, filepath.Join(l.dir, e.Name()))
		}
	}
	slices.Sort(all)
	return all, nil
}
