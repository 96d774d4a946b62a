// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"reflect"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/durable"
	"geosql.dev/operator/internal/election/keeper"
)

// copyAgainAfter is how long after a copy on the data volume could not be written that is tried again.
const copyAgainAfter = 10 * time.Second

// Promises keeps what an agent remembers of one group on the agent's own volume, where no database takes the room, and
// has a copy of it on the data volume. A promise counts once it is on the own volume; the copy follows, and nobody
// waits for it. By the copy an agent of a former release goes on, which knows that place alone, and one whose own
// volume was lost.
//
// What is said of the data (Cleared, Followed, Quarantined) counts only as far as the copy beside the data has it: data
// that were made anew, or put back from a backup, are not what was said of them later. What is missing there is decided
// again. A copy that was emptied, since it could not be brought up to date, shows that the volume is the same one: then
// the agent's own file counts.
type Promises struct {
	own, data string
	log       *slog.Logger

	mu sync.Mutex
	// saved is the number of what is on the own volume; 0 while nothing was loaded.
	saved  int64
	loaded bool
	// former is the digest of what a former release left on the data volume and this one has taken over.
	former string

	// copies are written by one goroutine at a time; next is what it has still to write, nil for nothing, and copied is
	// closed when it ends; nil while there is none.
	copies sync.Mutex
	next   []byte
	copied chan struct{}
	// closed once by Close.
	closed  chan struct{}
	closing sync.Once
}

// NewPromises keeps them in the file own, and a copy in the file data.
func NewPromises(own, data string, log *slog.Logger) *Promises {
	return &Promises{own: own, data: data, log: log, closed: make(chan struct{})}
}

// kept is what is in the files: what is remembered, and what tells which of two is the newer one. Agents of former
// releases write the first alone.
type kept struct {
	keeper.Remembered
	// Saved counts up with each that is saved; 0 of a former release.
	Saved int64 `json:"saved,omitempty"`
	// Former is the digest of the file of a former release that is in this.
	Former string `json:"former,omitempty"`
	// digest of the file.
	digest string
}

// errEmptied is of a copy that was given up, since it could not be brought up to date.
var errEmptied = errors.New("it was emptied, as it could not be brought up to date")

// readKept reads a file; nil where there is none.
func readKept(file string) (*kept, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && len(content) == 0 {
		err = errEmptied
	}
	var k kept
	if err == nil {
		err = json.Unmarshal(content, &k)
	}
	if err != nil {
		return nil, fmt.Errorf("read the promises in %s: %w", file, err)
	}
	sum := sha256.Sum256(content)
	k.digest = hex.EncodeToString(sum[:])
	return &k, nil
}

// Load implements keeper.Memory. The first time it brings both files together: the own volume's is written where the
// other has what it lacks. That it cannot be written keeps nobody from reading; the next Save says it.
func (p *Promises) Load() (keeper.Remembered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	own, err := readKept(p.own)
	if err != nil {
		return keeper.Remembered{}, err
	}
	if p.loaded {
		// Nobody else writes these files while this agent runs.
		if own == nil {
			return keeper.Remembered{}, fmt.Errorf("read the promises in %s: the file is gone", p.own)
		}
		return own.Remembered, nil
	}
	data, err := readKept(p.data)
	if err != nil {
		if own == nil {
			return keeper.Remembered{}, err
		}
		p.log.Warn("the copy of the promises cannot be read, and is made again", "error", err)
		data = nil
	}
	r, found := join(own, data, errors.Is(err, errEmptied))
	if own != nil {
		p.saved, p.former = own.Saved, own.Former
	}
	if data != nil {
		p.saved = max(p.saved, data.Saved)
		if data.Saved == 0 {
			p.former = data.digest
		}
	}
	switch {
	case !found:
	case own != nil && data != nil && own.Saved == data.Saved && reflect.DeepEqual(r, own.Remembered):
		p.loaded = true
	default:
		if err := p.save(r); err != nil {
			p.log.Warn("what two volumes have of the promises cannot be kept on the agent's own", "error", err)
		}
	}
	return r, nil
}

// join makes one of what both files have; emptied tells of a copy that was given up, which is nil then. It never knows
// of less than either has promised.
func join(own, data *kept, emptied bool) (r keeper.Remembered, found bool) {
	switch {
	case own == nil && data == nil:
		return r, false
	case own == nil:
		return data.Remembered, true
	case emptied:
		return own.Remembered, true
	case data == nil:
		r = own.Remembered
		r.Cleared, r.Followed, r.Quarantined = 0, 0, 0
		return r, true
	case data.Saved > own.Saved, data.Saved == 0 && data.digest != own.Former:
		// A former release went on with the copy, or the own volume is an older one. Its voters may lack one that the own
		// file has, if that one was never copied: of one term and number there must not be two.
		r = data.Remembered
		if o := own.Voters; o != nil && (r.Voters == nil || o.Newer(*r.Voters)) {
			r.Voters, r.VotersBy = o, own.VotersBy
		}
		if own.Promise.Term > r.Promise.Term {
			r.Promise = own.Promise
		}
	default:
		r = own.Remembered
		r.Cleared, r.Followed, r.Quarantined = data.Cleared, data.Followed, data.Quarantined
		if data.Promise.Term > r.Promise.Term {
			r.Promise = data.Promise
		}
	}
	return r, true
}

// Save implements keeper.Memory: what is saved is on the own volume when it returns nil.
func (p *Promises) Save(r keeper.Remembered) error {
	p.mu.Lock()
	loaded := p.loaded || p.saved > 0
	p.mu.Unlock()
	if !loaded {
		if _, err := p.Load(); err != nil {
			return fmt.Errorf("keep the promises: %w", err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.save(r); err != nil {
		return fmt.Errorf("keep the promises: %w", err)
	}
	return nil
}

func (p *Promises) save(r keeper.Remembered) error {
	content, err := json.Marshal(kept{Remembered: r, Saved: p.saved + 1, Former: p.former})
	if err != nil {
		return err
	}
	// A number that may be on disk is not given again.
	p.saved++
	if err := durable.Replace(p.own, content); err != nil {
		return err
	}
	p.loaded = true
	p.copy(content)
	return nil
}

// copy has the copy written.
func (p *Promises) copy(content []byte) {
	p.copies.Lock()
	defer p.copies.Unlock()
	p.next = content
	if p.copied == nil {
		p.copied = make(chan struct{})
		go p.write()
	}
}

// write writes copies until there is none left to write.
func (p *Promises) write() {
	told := false
	for {
		content := p.left()
		if content == nil {
			return
		}
		err := p.writeOne(content)
		if err == nil {
			continue
		}
		if !told {
			p.log.Warn("the promises cannot be copied to the data volume; they are on the agent's own", "error", err)
			told = true
		}
		p.copies.Lock()
		if p.next == nil {
			p.next = content
		}
		p.copies.Unlock()
		select {
		case <-time.After(copyAgainAfter):
		case <-p.closed:
			p.copies.Lock()
			p.next = nil
			p.copies.Unlock()
		}
	}
}

// left is what is to be written next. With nil the goroutine ends.
func (p *Promises) left() []byte {
	p.copies.Lock()
	defer p.copies.Unlock()
	content := p.next
	p.next = nil
	if content == nil {
		close(p.copied)
		p.copied = nil
	}
	return content
}

// writeOne writes the copy. Of one that cannot be written nothing stays: an agent that knows that place alone must not
// go by what is out of date.
func (p *Promises) writeOne(content []byte) error {
	err := durable.Replace(p.data, content)
	if err == nil {
		return nil
	}
	return errors.Join(err, durable.Remove(p.data+".next"), durable.Empty(p.data))
}

// Close waits until the copy is written, for as long as ctx and its volume allow. Nothing may be saved after it; to
// close twice is no fault.
func (p *Promises) Close(ctx context.Context) {
	p.closing.Do(func() { close(p.closed) })
	p.copies.Lock()
	copied := p.copied
	p.copies.Unlock()
	if copied == nil {
		return
	}
	select {
	case <-copied:
	case <-ctx.Done():
	}
}
