// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// arrivalsFormat is the first line's mark, arrivalsSuffix that of the files.
const (
	arrivalsFormat = "geosql-arrivals/1"
	arrivalsSuffix = ".arrivals"
)

// Arrival is a row that was seen to come.
type Arrival struct {
	RowID
	// Written is when the server that took it wrote it, by that server's clock; Seen when it was first seen here.
	Written, Seen time.Time
	// Early rows were there at the first look: nobody saw them come.
	Early bool
}

// ClockSample is one look at the clock of the server that takes the rows.
type ClockSample struct {
	// Offset by which that clock was ahead of the reader's, within half of RoundTrip.
	Offset, RoundTrip time.Duration
}

// Arrivals are what one reader saw.
type Arrivals struct {
	// Server that was read.
	Server string
	Rows   []Arrival
	Clocks []ClockSample
	// First and Last successful look. A reader that was restarted has the first of all.
	First, Last time.Time
	// Ended says that the reader has looked a last time when all was over.
	Ended bool
}

// arrivalLine is one line of a reader's file.
type arrivalLine struct {
	Kind      string `json:"k"`
	Format    string `json:"format,omitempty"`
	Server    string `json:"server,omitempty"`
	Run       int64  `json:"run,omitempty"`
	Number    int64  `json:"n,omitempty"`
	Written   int64  `json:"at,omitempty"`
	Early     bool   `json:"early,omitempty"`
	Offset    int64  `json:"offset,omitempty"`
	RoundTrip int64  `json:"rtt,omitempty"`
	Wall      int64  `json:"w"`
}

const (
	kindLook  = "look"
	kindRow   = "row"
	kindClock = "clock"
)

// ArrivalRecorder appends to a reader's file.
type ArrivalRecorder struct {
	mu   sync.Mutex
	file *os.File
}

// CreateArrivals begins, or goes on with, the file of a reader of that server in the folder.
func CreateArrivals(folder, server string) (*ArrivalRecorder, error) {
	file, err := os.OpenFile(filepath.Join(folder, server+arrivalsSuffix), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("begin to record arrivals: %w", err)
	}
	r := &ArrivalRecorder{file: file}
	if err := r.write(arrivalLine{Kind: kindBegin, Format: arrivalsFormat, Server: server,
		Wall: time.Now().UnixNano()}); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

// Row records a row that was seen for the first time.
func (r *ArrivalRecorder) Row(a Arrival) error {
	return r.write(
		arrivalLine{
			Kind:    kindRow,
			Run:     a.Run,
			Number:  a.Number,
			Written: a.Written.UnixNano(),
			Early:   a.Early,
			Wall:    a.Seen.UnixNano(),
		},
	)
}

// Looked records a successful look that ended at that time.
func (r *ArrivalRecorder) Looked(at time.Time) error {
	return r.write(arrivalLine{Kind: kindLook, Wall: at.UnixNano()})
}

// Clock records a look at the clock of the server that takes the rows.
func (r *ArrivalRecorder) Clock(s ClockSample) error {
	return r.write(
		arrivalLine{Kind: kindClock, Offset: int64(s.Offset), RoundTrip: int64(s.RoundTrip), Wall: time.Now().UnixNano()},
	)
}

// End records that all was looked at a last time, and closes the file.
func (r *ArrivalRecorder) End() error {
	return errors.Join(r.write(arrivalLine{Kind: kindEnd, Wall: time.Now().UnixNano()}), r.Close())
}

// Close closes the file.
func (r *ArrivalRecorder) Close() error { return r.file.Close() }

func (r *ArrivalRecorder) write(l arrivalLine) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a line of arrivals: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.file.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write arrivals: %w", err)
	}
	return nil
}

// FirstLook is when the reader of a folder has first looked with success; zero when it has not.
func FirstLook(folder string) (time.Time, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*"+arrivalsSuffix))
	if err != nil {
		return time.Time{}, fmt.Errorf("list the arrivals: %w", err)
	}
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return time.Time{}, fmt.Errorf("read arrivals: %w", err)
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			var l arrivalLine
			if json.Unmarshal(lines.Bytes(), &l) == nil && l.Kind == kindLook {
				return time.Unix(0, l.Wall).UTC(), nil
			}
		}
	}
	return time.Time{}, nil
}

// ExportArrivals writes the arrivals of a folder, compressed by gzip.
func ExportArrivals(folder string, w io.Writer) error { return export(folder, arrivalsSuffix, w) }

// LoadArrivals reads what ExportArrivals wrote. The last line of a reader that was killed may be torn.
func LoadArrivals(r io.Reader) (Arrivals, error) {
	var a Arrivals
	packed, err := gzip.NewReader(r)
	if err != nil {
		return a, fmt.Errorf("unpack arrivals: %w", err)
	}
	defer packed.Close()
	seen := map[RowID]bool{}
	lines := bufio.NewScanner(packed)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l arrivalLine
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue
		}
		if err := a.take(l, seen); err != nil {
			return a, err
		}
	}
	if err := lines.Err(); err != nil {
		return a, fmt.Errorf("read arrivals: %w", err)
	}
	return a, nil
}

// take adds a line. A row that was seen again, by a reader that was restarted, counts as it was first seen.
func (a *Arrivals) take(l arrivalLine, seen map[RowID]bool) error {
	at := time.Unix(0, l.Wall).UTC()
	switch l.Kind {
	case kindBegin:
		if l.Format != arrivalsFormat {
			return fmt.Errorf("arrivals have format %q, and this version reads %s", l.Format, arrivalsFormat)
		}
		a.Server = l.Server
	case kindRow:
		id := RowID{l.Run, l.Number}
		if !seen[id] {
			seen[id] = true
			a.Rows = append(a.Rows, Arrival{RowID: id, Written: time.Unix(0, l.Written).UTC(), Seen: at, Early: l.Early})
		}
	case kindLook:
		if a.First.IsZero() {
			a.First = at
		}
		a.Last = at
	case kindClock:
		a.Clocks = append(a.Clocks, ClockSample{time.Duration(l.Offset), time.Duration(l.RoundTrip)})
	case kindEnd:
		a.Ended = true
	}
	return nil
}

// ArrivalFigures are how the acknowledged rows came to one server.
type ArrivalFigures struct {
	// Due are the acknowledged rows that had to come there: taken by another server, and not there at the first look. Seen
	// are those of them that were seen to come.
	Due, Seen int
	// Times that they took, of those that were seen, in order; AtLeast the times that the others took at least: until the
	// last thing that their client did, since the reader looks once more when all clients have ended. 0 where it did not,
	// and of those that were there at the first look of one that was started again.
	Times, AtLeast []time.Duration
	// Uncertainty by which the clock of the server that writes and the reader's differ, as it was measured; nil when it
	// was not.
	Uncertainty *time.Duration
}

// Percentile of the times of all rows that were due, above 0 up to 1: those that were not seen count as the latest. Nil
// when so many were not seen that it cannot be told.
func (f ArrivalFigures) Percentile(p float64) *time.Duration {
	rank := max(int(math.Ceil(p*float64(f.Due))), 1)
	if rank > len(f.Times) {
		return nil
	}
	return &f.Times[rank-1]
}

// Floor is what the percentile is at least, since rows that were not seen took until the last look at least.
func (f ArrivalFigures) Floor(p float64) time.Duration {
	return Percentile(slices.Concat(f.Times, f.AtLeast), p)
}

// MeasureArrivals compares what clients were acknowledged with what a reader saw come. local says whether the server
// that acknowledged is the one that is read: what it writes itself does not come to it. The clock of a client is never
// compared with the reader's: nobody knows how they lie to each other.
func MeasureArrivals(a Arrivals, runs []Run, local func(server string) bool) ArrivalFigures {
	f := ArrivalFigures{Uncertainty: uncertainty(a.Clocks)}
	came := map[RowID]Arrival{}
	for _, row := range a.Rows {
		came[row.RowID] = row
	}
	for _, run := range runs {
		last := run.lastMonotonic()
		for _, o := range run.Operations {
			if o.Function != Insert || o.Outcome != OK || local(o.Server) {
				continue
			}
			row, ok := came[RowID{run.Header.Run, o.Number}]
			switch {
			case ok && !row.Early:
				f.Seen++
				f.Times = append(f.Times, row.Seen.Sub(row.Written))
			case ok && !row.Seen.After(a.First):
				continue // it was there before anybody looked
			case ok, !a.Ended:
				// It was there at the first look of a reader that was started again, and may have come at once; or came when the
				// reader was no more.
				f.AtLeast = append(f.AtLeast, 0)
			default:
				f.AtLeast = append(f.AtLeast, max(time.Duration(last-o.Completed.Monotonic), 0))
			}
			f.Due++
		}
	}
	slices.SortFunc(f.Times, cmp.Compare)
	return f
}

// lastMonotonic is when the client did its last thing, by its own monotonic clock.
func (r Run) lastMonotonic() (last int64) {
	for _, o := range r.Operations {
		last = max(last, o.Invoked.Monotonic, o.Completed.Monotonic)
	}
	return last
}

// uncertainty is a bound of how far the clocks differ: by the quickest look at the other clock, and by what any of them
// proves.
func uncertainty(clocks []ClockSample) *time.Duration {
	if len(clocks) == 0 {
		return nil
	}
	best := slices.MinFunc(clocks, func(x, y ClockSample) int { return cmp.Compare(x.RoundTrip, y.RoundTrip) })
	bound := best.Offset.Abs() + best.RoundTrip/2
	for _, c := range clocks {
		bound = max(bound, c.Offset.Abs()-c.RoundTrip/2)
	}
	return &bound
}

// Delivery is what of the acknowledged rows is at a subscriber at the end.
type Delivery struct {
	// Acknowledged rows, Delivered ones of them, and those that are not there: Lost where a later row of the same run is,
	// since rows come in their order, Undelivered where none is.
	Acknowledged, Delivered, Undelivered, Lost int
	// Phantom rows are there, and the publisher does not have them.
	Phantom int
	// Examples of lost and phantom rows.
	Examples []RowID
}

// CheckDelivery compares the rows of a subscriber with the publisher's and with what was acknowledged.
func CheckDelivery(runs []Run, publisher, subscriber Replica) Delivery {
	var d Delivery
	at, there, newest := map[RowID]bool{}, map[RowID]bool{}, map[int64]int64{}
	for _, id := range publisher.Rows {
		at[id] = true
	}
	example := func(id RowID) {
		if len(d.Examples) < examples {
			d.Examples = append(d.Examples, id)
		}
	}
	for _, id := range subscriber.Rows {
		there[id] = true
		newest[id.Run] = max(newest[id.Run], id.Number)
		if !at[id] {
			d.Phantom++
			example(id)
		}
	}
	for _, run := range runs {
		for _, o := range run.Operations {
			if o.Function != Insert || o.Outcome != OK {
				continue
			}
			d.Acknowledged++
			id := RowID{run.Header.Run, o.Number}
			switch {
			case there[id]:
				d.Delivered++
			case newest[id.Run] > id.Number:
				d.Lost++
				example(id)
			default:
				d.Undelivered++
			}
		}
	}
	return d
}
