// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

// State of a mirror.
type State string

const (
	// Waiting: nothing is known to copy yet.
	Waiting State = "Waiting"
	// Copying: files are being copied.
	Copying State = "Copying"
	// Awaiting: a person brings the files; those that are there are taken.
	Awaiting State = "Awaiting"
	// Verified: every file of the snapshot is here, with its checksum.
	Verified State = "Verified"
	// Failing: the last attempt failed; it is tried again from where it was.
	Failing State = "Failing"
	// Made: the folder is there into which the engine writes a backup; Total are the bytes that it has there by now.
	Made State = "Made"
	// Removed: nothing of a backup whose order has ended is here any more.
	Removed State = "Removed"
)

const (
	// retryPause is the time after a failed attempt. After one that brought nothing it is twice that of the one before, up
	// to longestPause.
	retryPause   = 3 * time.Second
	longestPause = 30 * time.Second
	// keep is how many snapshots of a publication stay in the mirror: an agent may be applying the one before.
	keep = 2
)

// Status of one mirror, as /status shows it.
type Status struct {
	Subscription string `json:"subscription"`
	// Generation that was asked for.
	Generation string `json:"generation,omitempty"`
	// Snapshot is the folder's name.
	Snapshot string `json:"snapshot,omitempty"`
	State    State  `json:"state"`
	// Bytes that are here of Total.
	Bytes int64 `json:"bytes"`
	Total int64 `json:"total"`
	// MovedBytes came over the link, as they were sent: compressed, and again where an attempt failed.
	MovedBytes int64 `json:"movedBytes"`
	// ReusedBytes are those of Bytes that were not sent: an older snapshot, an interrupted attempt or a person's folder
	// had them.
	ReusedBytes int64 `json:"reusedBytes"`
	// Rate of MovedBytes in bytes per second: of the last ten seconds, or of all the time once the mirror is verified.
	Rate int64 `json:"rate,omitempty"`
	// Seconds that copying has taken.
	Seconds float64 `json:"seconds,omitempty"`
	// RemainingSeconds until all is here, at the pace of the last ten seconds; 0 while that cannot be told.
	RemainingSeconds float64 `json:"remainingSeconds,omitempty"`
	Message          string  `json:"message,omitempty"`
	// Brought is what a person brings; absent of other mirrors, and until it is known.
	Brought *Brought `json:"brought,omitempty"`
}

// Mirrors keeps the mirrors that are asked for below a folder.
type Mirrors struct {
	dir, namespace string
	log            *slog.Logger
	limits         *transfer.Limits
	index          *transfer.Index
	// stall is how long a source may send nothing of a listing that it has begun; tests have less.
	stall time.Duration
	// answer is how long an answer is waited for at first; tests have less.
	answer time.Duration
	// reading has one listing understood at a time, and room are the chunks of listings that may be in memory.
	reading, room *semaphore.Weighted
	// removeAll removes a folder, and volume says what room one has; tests have their own.
	removeAll func(name string) error
	volume    func(dir string) (capacity, free int64, err error)
	// brought is the folder with those that people fill, empty where there is none; look is the time between two looks
	// into one.
	brought string
	look    time.Duration
	// listFolder lists a folder for what staging takes; tests have their own.
	listFolder func(dir string) ([]os.DirEntry, error)
	// at, unless nil, is told of each step when it is done; an error ends the attempt there, for tests.
	at func(step string) error
	// staging keeps what they all take below a quota.
	staging *staging

	mu       sync.Mutex
	running  map[string]*mirror
	statuses map[string]Status
	// folders are those into which a mirror copies: two of one publication copy one after the other, and the second finds
	// all there.
	folders map[string]chan struct{}
}

type mirror struct {
	order  orders.Mirror
	cancel context.CancelFunc
	done   chan struct{}
	meter  *transfer.Meter
}

// NewMirrors keeps mirrors below dir, one folder for each distributor of the namespace.
func NewMirrors(dir, namespace string, log *slog.Logger) *Mirrors {
	return &Mirrors{dir: dir, namespace: namespace, log: log, limits: transfer.NewLimits(), index: transfer.NewIndex(),
		reading: semaphore.NewWeighted(1), room: semaphore.NewWeighted(maxChunks),
		stall: stall, answer: answerTime, removeAll: os.RemoveAll, volume: backups.FileSystem, look: lookPause,
		listFolder: os.ReadDir,
		staging:    newStaging(), running: map[string]*mirror{}, statuses: map[string]Status{},
		folders: map[string]chan struct{}{}}
}

// Set replaces what is asked for. A mirror whose order changed begins again, with what is here already; one that is no
// longer asked for ends, and its files stay.
func (m *Mirrors) Set(ctx context.Context, list []orders.Mirror) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted := map[string]orders.Mirror{}
	var settings []transfer.Settings
	for _, order := range list {
		settings = append(settings, order.Transfers)
		// They hold over all mirrors, at once: none begins again for them.
		order.Transfers = transfer.Settings{}
		wanted[order.Subscription] = order
	}
	m.limits.Set(transfer.Strictest(settings))
	m.staging.heed(m.running, list)
	// A mirror that begins again takes its own place: in a map that is being walked it may be met once more.
	for name, old := range maps.Clone(m.running) {
		if order, ok := wanted[name]; ok && reflect.DeepEqual(order, old.order) {
			delete(wanted, name)
			continue
		}
		old.cancel()
		delete(m.running, name)
		delete(m.statuses, name)
		if order, again := wanted[name]; again {
			m.start(ctx, order, old.done)
			delete(wanted, name)
		}
	}
	for _, order := range wanted {
		m.start(ctx, order, nil)
	}
}

// start begins a mirror after the one before has ended. m.mu is held.
func (m *Mirrors) start(ctx context.Context, order orders.Mirror, before chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	one := &mirror{order: order, cancel: cancel, done: make(chan struct{}), meter: transfer.NewMeter()}
	m.running[order.Subscription] = one
	m.statuses[order.Subscription] = Status{Subscription: order.Subscription, Generation: order.Generation, State: Waiting}
	go func() {
		defer close(one.done)
		if before != nil {
			<-before
		}
		m.run(ctx, one)
	}()
}

// Statuses of all mirrors, sorted by subscription.
func (m *Mirrors) Statuses() []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Status{}
	for name, s := range m.statuses {
		s.count(m.running[name].meter.Progress())
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.Subscription, b.Subscription) })
	return list
}

// count says how far a mirror is.
func (s *Status) count(p transfer.Progress) {
	if s.State == Waiting {
		return
	}
	s.Bytes, s.MovedBytes, s.ReusedBytes = min(p.Here, s.Total), p.Moved, p.Reused
	s.Seconds, s.Rate = p.Seconds, int64(p.Rate)
	if s.State == Copying && p.Pace > 0 {
		s.RemainingSeconds = float64(s.Total-s.Bytes) / p.Pace
	}
}

// say changes a mirror's status, unless another order has taken its place.
func (m *Mirrors) say(one *mirror, change func(*Status)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running[one.order.Subscription] != one {
		return
	}
	s := m.statuses[one.order.Subscription]
	change(&s)
	m.statuses[one.order.Subscription] = s
}

// run copies until everything is here.
func (m *Mirrors) run(ctx context.Context, one *mirror) {
	work := m.copy
	switch {
	case one.order.Ended:
		work = func(ctx context.Context, one *mirror, _ int) error { return m.remove(ctx, one) }
	case one.order.Generation == "":
		return
	case one.order.Manual != "":
		work = (&visit{mirrors: m}).copy
	}
	defer m.release(one)
	most := int64(0)
	for failed := 0; ; failed++ {
		err := work(ctx, one, failed)
		if err == nil || ctx.Err() != nil {
			return
		}
		if blocked := (*BlockedError)(nil); !errors.As(err, &blocked) {
			m.unblock(one)
		}
		if errors.Is(err, errAwaited) {
			failed = -1
			if !pause(ctx, m.look) {
				return
			}
			continue
		}
		m.log.Warn("a snapshot is not mirrored yet", "subscription", one.order.Subscription, "error", err)
		m.say(one, func(s *Status) { s.State, s.Message = Failing, err.Error() })
		if here := one.meter.Progress().Here; here > most {
			most, failed = here, 0
		}
		if !pause(ctx, pauseAfter(failed)) {
			return
		}
	}
}

// pauseAfter is the time after an attempt that failed, after so many that did and brought nothing.
func pauseAfter(failed int) time.Duration {
	return min(retryPause<<min(failed, 8), longestPause)
}

// pause waits until it is time for another attempt. False says that ctx has ended before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// list asks for a snapshot's listing, and takes room for it until leave is called. One for which there is none is not
// kept while it waits: it is asked for again.
func (m *Mirrors) list(
	ctx context.Context,
	ask func(context.Context) (*Listing, error),
) (listing *Listing, leave func(), err error) {
	held := int64(0)
	for {
		listing, err := ask(ctx)
		if err != nil {
			m.room.Release(held)
			return nil, nil, err
		}
		more := int64(listing.chunks()) - held
		if more <= 0 || m.room.TryAcquire(more) {
			held += max(0, more)
			return listing, func() { m.room.Release(held) }, nil
		}
		m.room.Release(held)
		held += more
		if err := m.room.Acquire(ctx, held); err != nil {
			return nil, nil, err
		}
	}
}

// copy brings the newest whole snapshot here. Files gather in a folder beside, which gets its name when all of them
// have their checksums: a folder under its own name is whole. failed are the attempts that brought nothing before.
func (m *Mirrors) copy(ctx context.Context, one *mirror, failed int) error {
	source, err := m.source(one.order, one.meter, failed)
	if err != nil {
		return err
	}
	defer source.close()
	listing, done, err := m.list(ctx, source.list)
	if err != nil {
		return err
	}
	defer done()
	return m.settle(ctx, one, listing, Copying, func(p place) error { return m.bring(ctx, one, source, listing, p) })
}

// settle has a snapshot be in its place by what bring does, and older ones go. The mirror has the state meanwhile.
func (m *Mirrors) settle(
	ctx context.Context,
	one *mirror,
	listing *Listing,
	state State,
	bring func(place) error,
) error {
	p := m.placeOf(one, listing)
	leave, entered := m.enterNow(p.parent)
	if !entered {
		if m.unblock(one) {
			m.say(one, func(s *Status) { s.Message = "another mirror copies into the folder, for which this one waits" })
		}
		var err error
		if leave, err = m.enter(ctx, p.parent); err != nil {
			return err
		}
	}
	defer leave()
	total := listing.total()
	m.say(one, func(s *Status) { s.Snapshot, s.State, s.Total, s.Message = listing.Snapshot, state, total, "" })
	// Before anything is brought: what is too old may be what fills the volume.
	m.warn(one, stays, p.prune(keep))
	if err := bring(p); err != nil {
		if transfer.Full(err) && one.order.Manual == "" {
			err = errors.Join(err, m.searched(one, p))
		}
		return err
	}
	// Of a person's files the chunks are asked for again with each snapshot; what was whole has a record.
	below := p.parent + string(filepath.Separator)
	m.index.Forget(func(name string) bool { return strings.HasPrefix(name, below) })
	one.meter.End()
	err := errors.Join(p.prune(keep-1), m.searched(one, p))
	m.warn(one, stays, err)
	message := ""
	if err != nil {
		message = err.Error()
	}
	m.release(one)
	m.say(one, func(s *Status) { s.State, s.Message = Verified, message })
	m.log.Info("snapshot mirrored", "subscription", one.order.Subscription, "snapshot", listing.Snapshot, "bytes", total)
	return nil
}

// placeOf is where a mirror has a snapshot.
func (m *Mirrors) placeOf(one *mirror, listing *Listing) place {
	return m.placeAt(spot{one.order.Host, listing.Folder, listing.Snapshot})
}

// stays says that something old is not removed.
const stays = "not all is removed that is too old"

// warn tells of what keeps no snapshot from being brought.
func (m *Mirrors) warn(one *mirror, what string, err error) {
	if err != nil {
		m.log.Warn(what, "subscription", one.order.Subscription, "error", err)
	}
}

// bring has a snapshot be in its place, whole.
func (m *Mirrors) bring(ctx context.Context, one *mirror, source *source, listing *Listing, p place) error {
	if there, err := m.inPlace(ctx, one, listing, p); err != nil || there {
		return err
	}
	if err := m.claim(one, p, listing); err != nil {
		return err
	}
	if !listing.Chunked {
		// Before as well: one after another that is superseded before it is whole would fill the volume.
		m.warn(one, stays, m.prunePartial(one, p, ""))
		if err := source.fetchRanges(ctx, listing, p.partial()); err != nil {
			return err
		}
		return p.finish(listing, m.step, m.unrecorded(one))
	}
	job, err := m.transfer(one, listing, p)
	if err != nil {
		return err
	}
	job.Remote = remote{source, listing}
	if err := job.Run(ctx); err != nil {
		return err
	}
	return p.finish(listing, m.step, m.unrecorded(one))
}

// inPlace tells that the snapshot is in its place already.
func (m *Mirrors) inPlace(ctx context.Context, one *mirror, listing *Listing, p place) (bool, error) {
	there, err := p.whole(ctx, m.limits, one.order.Host, listing, m.unrecorded(one))
	if there {
		one.meter.Attempt(listing.total())
	}
	return there, err
}

// unrecorded is told of a snapshot without a record.
func (m *Mirrors) unrecorded(one *mirror) func(error) {
	return func(err error) { m.warn(one, "what was brought is not recorded, and is read again", err) }
}

// transfer of a snapshot, with what is on this side to look through.
func (m *Mirrors) transfer(one *mirror, listing *Listing, p place) (*transfer.Transfer, error) {
	seeds, err := m.seeds(one, p, listing.total())
	if err != nil {
		return nil, err
	}
	return &transfer.Transfer{Dir: p.partial(), Files: listing.Files, Seeds: seeds, Index: m.index,
		Searched: func() { m.warn(one, stays, m.searched(one, p)) }, At: m.at,
		Source: one.order.Host, Limits: m.limits, Meter: one.meter}, nil
}

// seeds are the folders of the mirror to look through for a snapshot of so many bytes. Where a person brings the files
// none of them makes room: what was brought of an older snapshot would have to be brought again.
func (m *Mirrors) seeds(one *mirror, p place, total int64) ([]transfer.Seed, error) {
	if one.order.Manual == "" {
		m.makeRoom(one, p, total)
	}
	begun, err := p.begun()
	if err != nil {
		return nil, err
	}
	m.warn(one, stays, m.prunePartial(one, p, begun))
	return p.seeds(begun)
}

func (m *Mirrors) step(name string) error {
	if m.at == nil {
		return nil
	}
	return m.at(name)
}

// searched removes what was there for its chunks alone.
func (m *Mirrors) searched(one *mirror, p place) error {
	return errors.Join(m.prunePartial(one, p, ""), p.pruneAside())
}

// prunePartial removes what was begun of snapshots older than one, but that which is kept for its chunks, unless
// another mirror of this server is at it.
func (m *Mirrors) prunePartial(one *mirror, p place, kept string) error {
	all, err := p.partials()
	if err != nil {
		return err
	}
	for _, begun := range all {
		if begun >= p.snapshot || begun == kept || m.copying(one, begun) {
			continue
		}
		if removed := p.remove([]string{partialName(begun)}); removed != nil {
			err = errors.Join(err, removed)
			continue
		}
		m.log.Info("what was begun of a snapshot that was superseded is removed", "snapshot", begun)
	}
	return err
}

// copying tells that another mirror copies the snapshot.
func (m *Mirrors) copying(one *mirror, snapshot string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, s := range m.statuses {
		busy := s.State == Copying || s.State == Awaiting || s.State == Failing
		if name != one.order.Subscription && s.Snapshot == snapshot && busy {
			return true
		}
	}
	return false
}
