// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/storage"
)

// The failure states of automatic seeding (docs/relational-databases/system-dynamic-management-objects/
// sys-dm-hadr-automatic-seeding.md); at the target 200 is added, at the source 100.
const (
	seedInternal  = 0
	seedSQLError  = 2
	seedDenied    = 3
	seedPrimary   = 5
	seedTransport = 6
	seedStream    = 15
	seedExists    = 23
)

var seedFailureNames = map[int]string{
	seedInternal:  "Internal Error",
	seedSQLError:  "SQL Error",
	seedDenied:    "Request Denied",
	seedPrimary:   "Primary Failure",
	seedTransport: "Transport",
	seedStream:    "Seeding",
	seedExists:    "Database With Name Already Exists",
}

// Seeding is one operation of automatic seeding, at its source or at its target.
type Seeding struct {
	ID                      uuid.UUID
	Group, Database, Remote uuid.UUID
	Name, RemoteServer      string
	Source                  bool
	Started                 time.Time
	// Ended is zero while it runs.
	Ended time.Time
	// Streaming is set once data flow.
	Streaming bool
	Attempts  int
	// Failure is the failure_state, -1 for none; Code an error number; Message the words.
	Failure           int
	Code              int
	Message           string
	Transferred, Size int64
}

// State is current_state.
func (s *Seeding) State() string {
	switch {
	case s.Failure >= 0:
		return "FAILED"
	case !s.Ended.IsZero():
		return "COMPLETED"
	case s.Streaming:
		return "SEEDING"
	}
	return "CHECK_IF_SEEDING_NEEDED"
}

// FailureName is failure_state_desc; empty when it did not fail.
func (s *Seeding) FailureName() string {
	if s.Failure < 0 {
		return ""
	}
	return seedFailureNames[s.Failure%100]
}

// maxSeedings bounds how many ended operations are remembered.
const maxSeedings = 100

// Seedings are the operations since the start, oldest first, as copies.
func (m *Manager) Seedings() []Seeding {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Seeding, 0, len(m.seeding))
	for _, s := range m.seeding {
		out = append(out, *s)
	}
	return out
}

// beginSeeding records an operation; a repeated attempt that failed the same way before is counted in its row.
func (m *Manager) beginSeeding(s Seeding) *Seeding {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.Started, s.Failure, s.Attempts = time.Now().UTC(), -1, 1
	for i, old := range slices.Backward(m.seeding) {
		if old.Group == s.Group && old.Database == s.Database && old.Remote == s.Remote && old.Source == s.Source &&
			old.Failure >= 0 {
			s.Attempts = old.Attempts + 1
			m.seeding = slices.Delete(m.seeding, i, i+1)
			break
		}
	}
	m.seeding = append(m.seeding, &s)
	if len(m.seeding) > maxSeedings {
		m.seeding = m.seeding[1:]
	}
	return &s
}

func (m *Manager) changeSeeding(s *Seeding, change func(*Seeding)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(s)
}

func (m *Manager) failSeeding(s *Seeding, state, code int, message string) {
	m.changeSeeding(s, func(s *Seeding) {
		s.Failure, s.Code, s.Message, s.Ended = state, code, message, time.Now().UTC()
	})
}

// seed sends a full copy of the database to a secondary that has none, or none that the log could continue.
func (p *peer) seed(ctx context.Context, db *storage.Database, id uuid.UUID, again bool) error {
	l, g := p.l, p.l.g
	g.mu.Lock()
	spec, d := l.committed.Replica(p.id), l.committed.Database(id)
	if spec == nil || d == nil {
		g.mu.Unlock()
		return errNotLeading
	}
	url, server, timeout, name := spec.EndpointURL, spec.Server, spec.Timeout(), d.Name
	rem := l.remoteLocked(p.id, id)
	waiting := rem.seedFailed != "" && rem.seedFailed == p.seedCondition()
	g.mu.Unlock()
	if waiting {
		// Denied: nothing has changed since.
		return nil
	}
	if full, _ := db.BackupPositions(); full.IsZero() {
		return fmt.Errorf("there is no full backup of database %q", name)
	}
	op := g.m.beginSeeding(
		Seeding{ID: uuid.New(), Group: g.id, Database: id, Remote: p.id, Name: name, RemoteServer: server, Source: true},
	)
	err := p.sendSeed(ctx, db, id, name, url, timeout, again, op)
	var denied *seedError
	switch {
	case err == nil:
		g.m.changeSeeding(op, func(s *Seeding) { s.Ended = time.Now().UTC() })
		g.mu.Lock()
		rem.seedFailed = ""
		g.mu.Unlock()
	case errors.As(err, &denied):
		g.m.failSeeding(op, 200+denied.Failure, denied.Code, denied.Message)
		g.mu.Lock()
		if denied.Failure == seedDenied || denied.Failure == seedExists {
			rem.seedFailed = p.seedCondition()
		}
		g.mu.Unlock()
	default:
		g.m.failSeeding(op, 100+seedTransport, 0, err.Error())
	}
	return err
}

// seedCondition is what has to change before a refused seeding is tried again: the grant at the secondary, or the
// configuration (SEEDING_MODE set once more). mu must be held.
func (p *peer) seedCondition() string {
	spec := p.l.committed.Replica(p.id)
	if spec == nil {
		return "removed"
	}
	return fmt.Sprintf("grant %t, modified %s", p.reply.CreateAnyDatabase, spec.Modified.Format(time.RFC3339Nano))
}

// seedError is the secondary's refusal.
type seedError struct{ seedReply }

// Error makes it an error.
func (e *seedError) Error() string {
	return fmt.Sprintf("the secondary could not be seeded: %s (%s)", e.Message, seedFailureNames[e.Failure])
}

func (p *peer) sendSeed(
	ctx context.Context,
	db *storage.Database,
	id uuid.UUID,
	name, url string,
	timeout time.Duration,
	again bool,
	op *Seeding,
) error {
	g := p.l.g
	if err := db.HoldLog(holdOwner(p.id), db.AppliedEnd()); err != nil {
		return err
	}
	dial, cancel := context.WithTimeout(ctx, min(timeout, dialTimeout))
	info := &seedInfo{Name: name, Files: db.Files(), Reseed: again, ID: op.ID}
	data, log := g.host.DefaultFolders()
	info.DataDefault, info.LogDefault = filepath.Dir(info.Files.Data) == filepath.Clean(data),
		filepath.Dir(info.Files.Log) == filepath.Clean(log)
	conn, err := g.m.dial(
		dial,
		url,
		hello{Purpose: purposeSeed, Group: g.id, Name: g.name, From: g.self, Epoch: p.l.epoch, Database: id, Seed: info},
	)
	cancel()
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	_ = conn.SetDeadline(time.Now().Add(timeout))
	var reply seedReply
	if err := conn.ReceiveValue(msgSeedReply, &reply); err != nil {
		return err
	}
	if !reply.OK {
		return &seedError{reply}
	}
	_ = conn.SetDeadline(time.Time{})
	w := &seedWriter{conn: conn, timeout: timeout}
	_, err = db.Backup(
		ctx,
		w,
		storage.BackupOptions{CopyOnly: true, WithLog: true, Server: g.host.ServerName(), Progress: func(done, total int64) {
			g.m.changeSeeding(op, func(s *Seeding) { s.Streaming, s.Transferred, s.Size = true, done, total })
		}},
	)
	if err == nil {
		err = conn.Send(msgSeedData, nil)
	}
	if err != nil {
		return err
	}
	// The secondary puts the copy on its disk now.
	if err := conn.ReceiveValue(msgSeedReply, &reply); err != nil {
		return err
	}
	if !reply.OK {
		return &seedError{reply}
	}
	return nil
}

// seedWriter sends the copy as messages; an empty one ends it.
type seedWriter struct {
	conn    *endpoint.Conn
	timeout time.Duration
}

// Write sends one message.
func (w *seedWriter) Write(b []byte) (int, error) {
	_ = w.conn.SetWriteDeadline(time.Now().Add(w.timeout))
	if len(b) == 0 {
		return 0, nil
	}
	if err := w.conn.Send(msgSeedData, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

type seedReader struct {
	conn *endpoint.Conn
	left []byte
	note func(n int)
}

// Read gives the copy's bytes; io.EOF at the empty message.
func (r *seedReader) Read(b []byte) (int, error) {
	if len(r.left) == 0 {
		kind, payload, err := r.conn.Receive()
		if err != nil {
			return 0, err
		}
		if kind != msgSeedData {
			return 0, fmt.Errorf("message %d instead of a database's copy", kind)
		}
		if len(payload) == 0 {
			return 0, io.EOF
		}
		r.left = payload
		r.note(len(payload))
	}
	n := copy(b, r.left)
	r.left = r.left[n:]
	return n, nil
}

// serveSeed makes the local copy of a database from the primary's.
func (g *Group) serveSeed(ctx context.Context, conn *endpoint.Conn, h hello) error {
	if h.Seed == nil {
		return fmt.Errorf("no database to seed is named")
	}
	op := g.m.beginSeeding(
		Seeding{ID: h.Seed.ID, Group: g.id, Database: h.Database, Remote: h.From, Name: h.Seed.Name, RemoteServer: h.Server},
	)
	h.Seed.Files = g.seedFiles(h.Seed)
	refusal := g.admitSeed(h)
	if refusal == nil {
		ctx = g.beginSeed(ctx, conn, h.Database)
		defer g.endSeed(h.Database)
		if err := conn.SendValue(msgSeedReply, seedReply{OK: true}); err != nil {
			g.m.failSeeding(op, 200+seedTransport, 0, err.Error())
			return err
		}
		refusal = g.takeSeed(ctx, conn, h, op)
	}
	if refusal != nil {
		g.m.failSeeding(op, 200+refusal.Failure, refusal.Code, refusal.Message)
		return conn.SendValue(msgSeedReply, refusal)
	}
	g.m.changeSeeding(op, func(s *Seeding) { s.Ended = time.Now().UTC() })
	return conn.SendValue(msgSeedReply, seedReply{OK: true})
}

// admitSeed checks the preconditions at the target, and marks the copy as being seeded.
func (g *Group) admitSeed(h hello) *seedReply {
	g.mu.Lock()
	defer g.mu.Unlock()
	cs := g.copyStateLocked(h.Database)
	refuse := func(state, code int, format string, args ...any) *seedReply {
		return &seedReply{Failure: state, Code: code, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case h.Epoch < g.st.Promised || !g.followsLocked(h.From) || g.stopped:
		return refuse(seedPrimary, 0, "the replica does not follow this primary")
	case !g.st.CreateAnyDatabase:
		return refuse(seedDenied, 19506, "the availability group has no CREATE ANY DATABASE permission on this server")
	case cs.seeding:
		return refuse(seedInternal, 0, "the database is being seeded already")
	case !h.Seed.Reseed && g.host.Exists(h.Seed.Name) &&
		(g.st.Databases[h.Database] == nil || g.st.Databases[h.Database].Joined):
		return refuse(seedExists, 1801, "a database of that name exists")
	}
	for _, path := range []string{h.Seed.Files.Data, h.Seed.Files.Log} {
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return refuse(seedSQLError, 5133, "there is no folder %s", filepath.Dir(path))
		}
	}
	// From here on what the operation leaves behind, should the process end, is known to be the group's own.
	err := g.updateLocked(func(d *durable) { d.Databases[h.Database] = &localCopy{Name: h.Seed.Name} })
	if err != nil {
		return refuse(seedInternal, 0, "%v", err)
	}
	cs.seeding = true
	return nil
}

// beginSeed lets a change of the replica's role end the seeding.
func (g *Group) beginSeed(ctx context.Context, conn *endpoint.Conn, id uuid.UUID) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.copyStateLocked(id).stopSeed = func() {
		cancel()
		conn.Close()
	}
	return ctx
}

// stopSeedsLocked ends all seedings that are under way: OFFLINE and SET (ROLE = SECONDARY) do.
func (g *Group) stopSeedsLocked() {
	for _, c := range g.copies {
		if c.stopSeed != nil {
			c.stopSeed()
		}
	}
}

func (g *Group) endSeed(id uuid.UUID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if cs := g.copyStateLocked(id); cs.stopSeed != nil {
		cs.stopSeed()
		cs.stopSeed = nil
	}
	g.copyStateLocked(id).seeding = false
	g.broadcastLocked()
}

// takeSeed receives the copy and joins it. An interrupted one is begun again.
func (g *Group) takeSeed(ctx context.Context, conn *endpoint.Conn, h hello, op *Seeding) *seedReply {
	in, err := storage.OpenBackup(&seedReader{conn: conn, note: func(n int) {
		g.m.changeSeeding(op, func(s *Seeding) { s.Streaming = true; s.Transferred += int64(n) })
	}})
	if err != nil {
		return &seedReply{Failure: seedStream, Message: err.Error()}
	}
	g.m.changeSeeding(op, func(s *Seeding) { s.Size = in.Header.Size })
	g.mu.Lock()
	owner := g.st.GrantedBy
	g.mu.Unlock()
	spec := SeedSpec{Name: h.Seed.Name, Files: h.Seed.Files, OwnerSID: owner}
	err = g.host.Seed(ctx, spec, func(files storage.Files, opts storage.Options) (*storage.Database, error) {
		// What an earlier attempt left has no other owner.
		if err := storage.Remove(files); err != nil {
			return nil, err
		}
		return storage.Seed(ctx, in, files, opts)
	})
	if err != nil {
		return &seedReply{Failure: seedStream, Message: strings.TrimSpace(err.Error())}
	}
	g.attach(h.Database, h.Seed.Name)
	err = g.update(func(d *durable) { d.Databases[h.Database].Joined = true })
	if err == nil && !g.distributed() {
		err = g.host.Member(ctx, h.Seed.Name, g.Self(), h.Database)
	}
	if err != nil {
		return &seedReply{Failure: seedInternal, Message: err.Error()}
	}
	return nil
}

// seedFiles are the files of a seeded database here: at the same places as at the primary, files in its default folders
// in the default folders here.
func (g *Group) seedFiles(info *seedInfo) storage.Files {
	data, log := g.host.DefaultFolders()
	files := info.Files
	if info.DataDefault {
		files.Data = filepath.Join(data, filepath.Base(files.Data))
	}
	if info.LogDefault {
		files.Log = filepath.Join(log, filepath.Base(files.Log))
	}
	return files
}
