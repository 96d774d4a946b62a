// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/conf"
)

// Source tells the orders.
type Source interface {
	// Watch calls update with the data of the server's orders, now and after each change, until ctx ends.
	Watch(ctx context.Context, update func(data map[string][]byte)) error
}

// Part is what a server's sidecar does about snapshots: it serves those that are here to the sidecars that may read
// them, and keeps mirrors of those that its own engine needs.
type Part struct {
	source  Source
	server  *Server
	mirrors *Mirrors
	// snapshotDir is what the engine, once it distributes, has its snapshots below.
	snapshotDir string
	// link is another name of it, empty when it has none.
	link string
	// mirrorDir has the mirrors.
	mirrorDir string
	// confs are the places of the engine's mssql.conf; none where that is not known.
	confs []string
	// backups are folders into which the engine writes backups.
	backups *folders
	log     *slog.Logger
}

// NewPart serves snapshotDir, which it makes when it runs, and keeps mirrors of distributors of the namespace below
// mirrorDir.
func NewPart(source Source, namespace, snapshotDir, mirrorDir string, log *slog.Logger) *Part {
	return &Part{source: source, server: NewServer(snapshotDir, log), mirrors: NewMirrors(mirrorDir, namespace, log),
		snapshotDir: snapshotDir, mirrorDir: mirrorDir, backups: newFolders(snapshotDir, log), log: log}
}

// Maps has the part make those folders of mirrors that the engine's mssql.conf maps the names of distributors' snapshot
// folders to. An engine that publishes writes there, whether a mirror was ever asked for or not. It goes by the first
// of the files that is there.
func (p *Part) Maps(files ...string) { p.confs = files }

// Link gives the snapshot folder another name, at which subscribers have the mirror of it: an engine that follows no
// UNC name finds the same path at both ends.
func (p *Part) Link(name string) { p.link = name }

// Brought gives mirrors whose files people bring the folder below which they have theirs.
func (p *Part) Brought(dir string) { p.mirrors.brought = dir }

// Staging is what the mirrors take, and what their quota is; nil where there is none, or nobody has looked yet.
func (p *Part) Staging() *Staging { return p.mirrors.Staging() }

// Collector makes metrics of it.
func (p *Part) Collector() prometheus.Collector { return stagingMetrics{p.mirrors} }

// PartName is the part's name, under which /status has the Statuses of its mirrors.
const PartName = "mirrors"

// Name of the part.
func (p *Part) Name() string { return PartName }

// Server answers under Pattern.
func (p *Part) Server() *Server { return p.server }

// Run makes the snapshot folder and follows the orders until ctx ends. A volume that takes no folder ends nothing: the
// sidecar has more to do than this.
func (p *Part) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var making sync.WaitGroup
	making.Go(func() { p.makeFolder(ctx) })
	making.Go(func() { p.backups.run(ctx) })
	making.Go(func() { p.mirrors.tend(ctx) })
	defer func() { cancel(); making.Wait() }()
	return p.source.Watch(ctx, func(data map[string][]byte) {
		readers, errs := orders.Readers(data)
		mirrors, more := orders.Mirrors(data)
		staging, err := orders.Staging(data)
		if err == nil {
			p.mirrors.Bound(staging)
		} else {
			errs = append(errs, err)
		}
		for _, err := range append(errs, more...) {
			p.log.Warn("orders that cannot be read", "error", err)
		}
		p.server.SetReaders(readers)
		p.backups.set(readers)
		p.mirrors.Set(ctx, mirrors)
		if len(more) > 0 {
			p.mirrors.doubt()
		}
	})
}

// makeFolder sees to it that the snapshot folder is there: an engine admits no publisher without it (21037), and makes
// only what lies below it. So it is with the folders of mirrors (21330). The engine runs under the sidecar's user.
func (p *Part) makeFolder(ctx context.Context) {
	for told, warned := false, false; ; {
		err := os.MkdirAll(p.snapshotDir, 0o770)
		if err == nil && p.link != "" {
			err = linkTo(p.link, p.snapshotDir)
		}
		err = errors.Join(err, p.makeMirrors())
		if err != nil && !told {
			p.log.Warn("not every folder of snapshots is there yet, without which no publisher can use it",
				"error", fmt.Errorf("make the folders of snapshots: %w", err))
		}
		told = err != nil
		if err = p.server.prunePacks(); err != nil && !warned {
			p.log.Warn("what is packed of snapshots is not all removed that is too old", "error", err)
		}
		warned = err != nil
		if !pause(ctx, retryPause) {
			return
		}
	}
}

// makeMirrors makes the folders of mirrors that the engine has names for. What else it maps is not the sidecar's.
func (p *Part) makeMirrors() error {
	file, err := p.readConf()
	if err != nil {
		return fmt.Errorf("read which folders the engine maps: %w", err)
	}
	for _, folder := range conf.Mapped(string(file)) {
		if filepath.Dir(filepath.Clean(folder)) == filepath.Clean(p.mirrorDir) {
			err = errors.Join(err, os.MkdirAll(folder, 0o770))
		}
	}
	return err
}

// readConf is what the first of the files says that is there; nothing where there is none.
func (p *Part) readConf() ([]byte, error) {
	for _, name := range p.confs {
		if file, err := os.ReadFile(name); !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	return nil, nil
}

// linkTo makes name a symbolic link to a folder. What is there of another kind, or leads elsewhere, stays.
func linkTo(name, folder string) error {
	if to, err := os.Readlink(name); err == nil && to == folder {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o770); err != nil {
		return fmt.Errorf("make the folder of a link: %w", err)
	}
	if err := os.Symlink(folder, name); err != nil {
		return fmt.Errorf("link to the snapshot folder: %w", err)
	}
	return nil
}

// Status of the mirrors, and of the folders for backups.
func (p *Part) Status() any { return append(p.mirrors.Statuses(), p.backups.all()...) }
