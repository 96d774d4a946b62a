// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	// takeName is the file there with the Take, storedName the one beside a description with the stores that have the set.
	takeName   = "take.json"
	storedName = "stored.json"
)

// local are the sets on the server's backup volume, each in a folder as in a store.
type local struct {
	dir string

	mu  sync.Mutex
	own map[string]Own
}

// load reads which sets are there. A folder whose description cannot be read is left alone and said in the error.
func (l *local) load() error {
	own := map[string]Own{}
	var errs []error
	err := filepath.WalkDir(l.dir, func(file string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir() && file != l.dir && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir // no database's folder and no target's begins so
		case e.Name() != backup.DescriptionName:
			return nil
		}
		one, err := readOwn(file)
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		own[one.ID] = one
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for backups on the backup volume: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own = own
	return errors.Join(errs...)
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
	own := Own{Description: d, In: map[string]bool{}}
	var stored map[string]time.Time
	content, err = os.ReadFile(filepath.Join(filepath.Dir(file), storedName))
	if err == nil {
		err = json.Unmarshal(content, &stored)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Own{}, fmt.Errorf("%s: %w", filepath.Join(filepath.Dir(file), storedName), err)
	}
	for name := range stored {
		own.In[name] = true
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
	own := Own{Description: d, In: map[string]bool{}}
	folder := l.path(own, "")
	if err := os.MkdirAll(filepath.Dir(folder), 0o750); err != nil {
		return fmt.Errorf("keep the %s: %w", d.Set, err)
	}
	if err := os.Rename(taken, folder); err != nil {
		return fmt.Errorf("keep the %s: %w", d.Set, err)
	}
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
	l.mu.Lock()
	defer l.mu.Unlock()
	o, there := l.own[o.ID]
	if !there {
		return nil
	}
	in := map[string]time.Time{store: now}
	for name := range o.In {
		in[name] = now
	}
	content, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("note where the %s is: %w", o.Set, err)
	}
	if err := durable.Replace(l.path(o, storedName), content); err != nil {
		return fmt.Errorf("note where the %s is: %w", o.Set, err)
	}
	next := Own{Description: o.Description, In: map[string]bool{}}
	for name := range in {
		next.In[name] = true
	}
	l.own[o.ID] = next
	return nil
}

// forget removes a set's files, its description first: what is left of it is no set.
func (l *local) forget(o Own) error {
	if err := os.Remove(l.path(o, backup.DescriptionName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the %s from the backup volume: %w", o.Set, err)
	}
	l.mu.Lock()
	delete(l.own, o.ID)
	l.mu.Unlock()
	if err := os.RemoveAll(l.path(o, "")); err != nil {
		return fmt.Errorf("remove the %s from the backup volume: %w", o.Set, err)
	}
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
