// SPDX-License-Identifier: Apache-2.0

// Package backups is the part of a server's sidecar that takes backups by the policies of the server's databases, keeps
// copies in stores, reads them back, and removes what the retention has no need of. It goes on while no manager can be
// asked: the order lies at the server's site.
package backups

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// PartName is the part's name, under which /status has the Statuses.
const PartName = "backups"

// setsDir is the folder of the sets on the backup volume.
const setsDir = "sets"

// Source tells the orders.
type Source interface {
	// Watch calls update with the data of the server's orders, now and after each change, until ctx ends.
	Watch(ctx context.Context, update func(data map[string][]byte)) error
}

// Engine opens connections to the instance's master database, each from a pool of its own: backups hold theirs for
// hours, and those of data would keep those of logs, and all questions, waiting.
type Engine struct {
	Ask, Data, Log func(context.Context) (*mssql.DB, error)
}

// Part is what a server's sidecar does about backups.
type Part struct {
	*steps
	source Source
	server string
	who    Identity
	sets   *local
	engine *taker
	// tick is the time between two looks at what is due, listEvery that between two lists of a store.
	tick, listEvery time.Duration

	mu      sync.Mutex
	running map[string]*running
	refused map[string]string
}

type running struct {
	*runner
	cancel context.CancelFunc
	done   chan struct{}
}

// NewPart takes backups of an instance to its backup volume.
func NewPart(source Source, server, backupDir string, engine Engine, log *slog.Logger) *Part {
	sets := &local{dir: filepath.Join(backupDir, setsDir)}
	return &Part{steps: newSteps(log, time.Now), source: source, server: server, sets: sets, tick: tick,
		listEvery: listEvery, engine: newTaker(engine, sets, time.Now), running: map[string]*running{},
		refused: map[string]string{}}
}

// Known has the part ask the sidecars of other servers as who they know it by. It must be called before Run.
func (p *Part) Known(who Identity) { p.who = who }

// Name of the part.
func (p *Part) Name() string { return PartName }

// Run follows the orders until ctx ends.
func (p *Part) Run(ctx context.Context) error {
	p.load()
	p.engine.expect()
	ctx, cancel := context.WithCancel(ctx)
	var lanes sync.WaitGroup
	defer lanes.Wait()
	defer cancel()
	lanes.Go(func() { each(ctx, p.tick, func(context.Context) { p.load() }) })
	for _, log := range []bool{false, true} {
		lanes.Go(func() { each(ctx, p.tick, func(ctx context.Context) { p.settle(ctx, log) }) })
	}
	defer p.engine.lanes.Wait()
	defer p.set(ctx, nil)
	return p.source.Watch(ctx, func(data map[string][]byte) {
		policies, errs := orders.Backups(data)
		for _, err := range errs {
			p.log.Warn("orders that cannot be read", "error", err)
		}
		p.set(ctx, policies)
	})
}

// load reads which sets are on the backup volume, again while some could not be read.
func (p *Part) load() {
	p.try("load", "read the backups on the backup volume", p.sets.load)
}

// settle settles what an earlier life of this sidecar, or a broken connection, has left: those of logs in a lane of
// their own, since a set is read whole before it is one.
func (p *Part) settle(ctx context.Context, logs bool) {
	lane := "settle data"
	if logs {
		lane = "settle logs"
	}
	look := "look for backups that were begun"
	asked := []string{look}
	var left []string
	p.try(lane, look, func() (err error) {
		left, err = p.engine.left(logs)
		return errors.Join(err, p.engine.endAsides(p.now()))
	})
	for _, dir := range left {
		what := "settle " + filepath.Base(dir)
		asked = append(asked, what)
		p.try(lane, what, func() error {
			_, err := p.engine.settle(ctx, dir)
			return err
		})
	}
	p.only(lane, asked...)
}

// set has these policies carried out. One that changed begins again; a backup that it has begun goes on, and nobody
// waits for it. It is called by one goroutine.
func (p *Part) set(ctx context.Context, policies []orders.Backup) {
	wanted := map[string]orders.Backup{}
	for _, order := range policies {
		wanted[order.Policy] = order
	}
	var stale []*running
	p.mu.Lock()
	for name, r := range p.running {
		if order, still := wanted[name]; still && reflect.DeepEqual(order, r.order) {
			delete(wanted, name)
			continue
		}
		r.cancel()
		stale = append(stale, r)
	}
	p.mu.Unlock()
	// Others may ask for the status meanwhile.
	for _, r := range stale {
		<-r.done
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range stale {
		delete(p.running, r.order.Policy)
	}
	p.refused = map[string]string{}
	for name, order := range wanted {
		p.begin(ctx, name, order)
	}
}

func (p *Part) begin(ctx context.Context, name string, order orders.Backup) {
	r, err := newRunner(order, p)
	if err != nil {
		p.refused[name] = err.Error()
		p.log.Error("a backup policy cannot be carried out", "policy", name, "error", err)
		return
	}
	running := &running{runner: r, done: make(chan struct{})}
	var alive context.Context
	alive, running.cancel = context.WithCancel(ctx)
	go func() {
		defer close(running.done)
		r.run(ctx, alive)
	}()
	p.running[name] = running
}

// Status of one policy at this server, as /status shows it.
type Status struct {
	Policy string `json:"policy"`
	// Refused says why the order cannot be carried out.
	Refused string `json:"refused,omitempty"`
	// Databases are those of the target that any set is known of, or that are here.
	Databases []DatabaseStatus `json:"databases,omitempty"`
	// Stores say when they were last listed, and why not since.
	Stores []StoreStatus `json:"stores,omitempty"`
	// Taking and Sending are what goes on.
	Taking  []TakingStatus  `json:"taking,omitempty"`
	Sending []SendingStatus `json:"sending,omitempty"`
	// Failing are steps that failed the last time, by what they are, with why.
	Failing map[string]string `json:"failing,omitempty"`
	// Answers are the sets that answer requests which the order has.
	Answers []Answer `json:"answers,omitempty"`
	// Past are the newest full and differential sets that nobody has asked for, the newest first; PastMost at most.
	Past []PastSet `json:"past,omitempty"`
	// PastWhole says that nothing is missed among them: the backup volume and every store have told what they have.
	PastWhole bool `json:"pastWhole,omitempty"`
}

// PastMost is how many sets that nobody has asked for are told.
const PastMost = 100

// PastSet is a set that was due by the policy, without what a restore alone needs of it.
type PastSet struct {
	ID       string      `json:"id"`
	Kind     backup.Kind `json:"kind"`
	Database string      `json:"database"`
	CopyOnly bool        `json:"copyOnly,omitempty"`
	Folder   string      `json:"folder"`
	Server   string      `json:"server"`
	FirstLSN backup.LSN  `json:"firstLSN"`
	LastLSN  backup.LSN  `json:"lastLSN"`
	Begun    time.Time   `json:"begun"`
	Finished time.Time   `json:"finished"`
	// Bytes are those that were backed up, Stored those of the files.
	Bytes  int64 `json:"bytes"`
	Stored int64 `json:"stored"`
	// In are the stores that have it.
	In []AnswerPlace `json:"in,omitempty"`
}

// PastOf is what is told of a set that stores have.
func PastOf(d backup.Description, in []AnswerPlace) PastSet {
	return PastSet{ID: d.ID, Kind: d.Kind, Database: d.Database, CopyOnly: d.CopyOnly, Folder: d.Folder(),
		Server: d.Server, FirstLSN: d.FirstLSN, LastLSN: d.LastLSN, Begun: d.Begun, Finished: d.Finished, Bytes: d.Bytes,
		Stored: d.Stored(), In: in}
}

// Answer is a set that was taken for a request.
type Answer struct {
	backup.Description
	// In are the stores that have it.
	In []AnswerPlace `json:"in,omitempty"`
}

// AnswerPlace is a store that has a set, with what reading it back gave.
type AnswerPlace struct {
	Store    string `json:"store"`
	Verified bool   `json:"verified,omitempty"`
	Damaged  bool   `json:"damaged,omitempty"`
}

// DatabaseStatus is what is known of a database's backups.
type DatabaseStatus struct {
	Name   string `json:"name"`
	Family string `json:"family"`
	// Here says that the engine has it, ONLINE.
	Here bool `json:"here,omitempty"`
	// Windows are between which moments it can be restored to any from the stores, or without any store from this server's
	// backup volume.
	Windows []backup.Window `json:"windows,omitempty"`
	// Full, Differential and Log are when the newest of each ended; zero is none.
	Full         time.Time `json:"full,omitzero"`
	Differential time.Time `json:"differential,omitzero"`
	Log          time.Time `json:"log,omitzero"`
	// Sets, and the bytes that they have; Damaged are those of them that were not read back as they were written,
	// Unverified those that were not read back yet.
	Sets       int   `json:"sets"`
	Bytes      int64 `json:"bytes"`
	Damaged    int   `json:"damaged,omitempty"`
	Unverified int   `json:"unverified,omitempty"`
	// Waiting are sets on this server's backup volume that some store lacks, with their bytes.
	Waiting      int   `json:"waiting,omitempty"`
	WaitingBytes int64 `json:"waitingBytes,omitempty"`
	// Stores say what each restores alone.
	Stores []StoredDatabase `json:"stores,omitempty"`
}

// StoredDatabase is what one store has of a database.
type StoredDatabase struct {
	Store string `json:"store"`
	// Verified is the newest moment to which it is restored by sets that were read back as they were written; zero is
	// none.
	Verified time.Time `json:"verified,omitzero"`
	// Damaged is when the newest set ended that was not.
	Damaged time.Time `json:"damaged,omitzero"`
}

// StoreStatus is what is known of a store.
type StoreStatus struct {
	Name       string    `json:"name"`
	Listed     time.Time `json:"listed,omitzero"`
	Error      string    `json:"error,omitempty"`
	Unreadable []string  `json:"unreadable,omitempty"`
	// Verification is how far a request to read everything back is; nil when there is none, or it was not listed yet.
	Verification *VerificationStatus `json:"verification,omitempty"`
	// OtherHub says whose the policy's folder there is, where it is not this hub's: nothing is sent there or removed.
	OtherHub *backup.Owner `json:"otherHub,omitempty"`
}

// VerificationStatus is how far a request to read everything back is.
type VerificationStatus struct {
	Request string `json:"request"`
	// Left are sets that are not read back yet, with their bytes; Damaged those that are known to be.
	Left      int   `json:"left"`
	LeftBytes int64 `json:"leftBytes"`
	Damaged   int   `json:"damaged"`
}

// TakingStatus is a backup that goes on.
type TakingStatus struct {
	Database string      `json:"database"`
	Kind     backup.Kind `json:"kind"`
	Since    time.Time   `json:"since"`
}

// SendingStatus is a set on its way to a store.
type SendingStatus struct {
	Store    string      `json:"store"`
	Database string      `json:"database"`
	Kind     backup.Kind `json:"kind"`
	Bytes    int64       `json:"bytes"`
	Of       int64       `json:"of"`
}

// Status of the policies, by name.
func (p *Part) Status() any {
	var all []Status
	p.mu.Lock()
	runners := slices.Collect(maps.Values(p.running))
	for name, why := range p.refused {
		all = append(all, Status{Policy: name, Refused: why})
	}
	p.mu.Unlock()
	for _, r := range runners {
		all = append(all, r.status())
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Policy, b.Policy) })
	return all
}
