// SPDX-License-Identifier: Apache-2.0

// Package archive keeps what a drill's verdict was made of: the histories of its clients, the rows that the replicas
// had afterwards, the faults, and samples of roles, queues and links over time. An archive is one tape archive of
// compressed parts, cut into ConfigMaps beside the drill, so that a report can be made again, and a verdict checked
// again, long after the run.
//
// Everything that is read back is checked against SHA-256 sums; an archive that lacks a part is no archive.
package archive

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/internal/workload/history/listappend"
)

// Run names one run of one drill.
type Run struct {
	Namespace string `json:"namespace"`
	Drill     string `json:"drill"`
	// UID of the Drill object: one that was deleted and made again is another.
	UID string `json:"uid"`
	// ID is the drill's spec.runID.
	ID string `json:"runID"`
}

// String for people: namespace/drill and the run.
func (r Run) String() string { return fmt.Sprintf("%s/%s, run %q", r.Namespace, r.Drill, r.ID) }

// Archive is what one run left behind.
type Archive struct {
	Run Run
	// Histories of the clients by a name each, such as the client's: the lines that a history.Recorder wrote, or those
	// compressed by gzip as history.Export writes them. Out of an archive they come compressed.
	Histories map[string][]byte
	// Replicas with the rows that they had when everything was over, in all tables that clients wrote.
	Replicas []history.Replica
	// Arrivals are what readers at secondaries and subscribers saw, by the server that was read, as history.ExportArrivals
	// writes them.
	Arrivals map[string][]byte
	// Payloads are the rows whose payloads the publisher had when everything was over, and then those that each subscriber
	// had; none where no subscription was followed.
	Payloads []history.Replica
	// Faults as they were injected, healed and proved.
	Faults []history.Fault
	// Bounds of what the histories can say.
	Bounds Bounds
	// Samples over the time of the run.
	Samples Samples
	// Files that belong to the evidence beside this, such as the objects that injected the faults, by name.
	Files map[string][]byte

	// packed are the bytes that it was unpacked from.
	packed []byte
}

// Packed are the bytes that the archive was read from, whose sum the drill's status has; of one that was not read, what
// Pack makes of it.
func (a Archive) Packed() ([]byte, error) {
	if a.packed != nil {
		return a.packed, nil
	}
	return Pack(a)
}

// Bounds are the fields of history.Evidence of the same names, which decide what the histories prove, the sites whose
// clients were not seen to stop before their histories were fetched, and the servers that should have been read and
// were not.
type Bounds struct {
	AcknowledgedAtLeast int           `json:"acknowledgedAtLeast,omitempty"`
	AllowLost           int           `json:"allowLost,omitempty"`
	ClockError          time.Duration `json:"clockError,omitempty"`
	FaultsBoot          string        `json:"faultsBoot,omitempty"`
	Unstopped           []string      `json:"unstopped,omitempty"`
	Unread              []string      `json:"unread,omitempty"`
	// Served is what counted as being served again; archives of earlier releases have none, and the first acknowledgement
	// counted.
	Served history.Served `json:"served,omitzero"`
	// Baseline of history.Evidence.
	Baseline history.Instant `json:"baseline,omitzero"`
}

// Samples are what was looked at again and again while the drill ran. Times are by the clock of the one that looked.
type Samples struct {
	Replicas   []ReplicaSample  `json:"replicas,omitempty"`
	Links      []LinkSample     `json:"links,omitempty"`
	Deliveries []DeliverySample `json:"deliveries,omitempty"`
	// Clocks of the clients' machines as they were compared with the clock of the one that looked.
	Clocks []history.ClockReading `json:"clocks,omitempty"`
	// OwnClock are readings of the clocks of the one that looked.
	OwnClock []history.ClockReading `json:"ownClock,omitempty"`
}

// ReplicaSample is the state of one replica at one moment, over all databases of the group.
type ReplicaSample struct {
	At     time.Time `json:"at"`
	Server string    `json:"server"`
	Site   string    `json:"site,omitempty"`
	// Role is PRIMARY, SECONDARY or RESOLVING as in sys.dm_hadr_availability_replica_states.role_desc; empty when the
	// server did not answer.
	Role string `json:"role,omitempty"`
	// Synchronization is the worst synchronization_state_desc of its databases, such as SYNCHRONIZED; empty when not
	// known.
	Synchronization string `json:"synchronization,omitempty"`
	// SendQueueKB and RedoQueueKB are the greatest log_send_queue_size and redo_queue_size of its databases, in KB, as in
	// sys.dm_hadr_database_replica_states; nil when not known.
	SendQueueKB *int64 `json:"sendQueueKB,omitempty"`
	RedoQueueKB *int64 `json:"redoQueueKB,omitempty"`
}

// LinkSample is one look at the way from one place to another, through the name that the engines use.
type LinkSample struct {
	At   time.Time `json:"at"`
	From string    `json:"from"`
	To   string    `json:"to"`
	// Sent probes and Lost ones among them.
	Sent int `json:"sent"`
	Lost int `json:"lost"`
	// RTT is the median round-trip time of the probes that were answered; nil when none was.
	RTT *time.Duration `json:"rtt,omitempty"`
}

// DeliverySample is how far one subscription was at one moment.
type DeliverySample struct {
	At           time.Time `json:"at"`
	Subscription string    `json:"subscription"`
	// Undelivered commands in the distribution database (sp_replmonitorsubscriptionpendingcmds); nil when not known.
	Undelivered *int64 `json:"undelivered,omitempty"`
	// Latency of the newest row that arrived, from the row itself; nil when none did.
	Latency *time.Duration `json:"latency,omitempty"`
}

// Runs are the clients' histories, read. Runs of a client that was restarted come one after another.
func (a Archive) Runs() ([]history.Run, error) {
	var runs []history.Run
	for _, name := range slices.Sorted(maps.Keys(a.Histories)) {
		loaded, err := history.Load(bytes.NewReader(a.Histories[name]))
		if err != nil {
			return nil, fmt.Errorf("read history %s of %s: %w", name, a.Run, err)
		}
		runs = append(runs, loaded...)
	}
	return runs, nil
}

// Arrived are the readers' records, read, by the server that was read.
func (a Archive) Arrived() (map[string]history.Arrivals, error) {
	read := map[string]history.Arrivals{}
	for name, data := range a.Arrivals {
		one, err := history.LoadArrivals(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("read the arrivals at %s of %s: %w", name, a.Run, err)
		}
		read[name] = one
	}
	return read, nil
}

// Evidence is all that history.Check needs to judge the run again.
func (a Archive) Evidence() (history.Evidence, error) {
	runs, err := a.Runs()
	if err != nil {
		return history.Evidence{}, err
	}
	return history.Evidence{
		Runs: runs, Replicas: a.Replicas, Subscribers: a.subscribers(), Faults: a.Faults,
		AcknowledgedAtLeast: a.Bounds.AcknowledgedAtLeast, AllowLost: a.Bounds.AllowLost, ClockError: a.Bounds.ClockError,
		Served: a.Bounds.Served, FaultsBoot: a.Bounds.FaultsBoot, Baseline: a.Bounds.Baseline,
		Clocks: a.Samples.Clocks, OwnClock: a.Samples.OwnClock,
	}, nil
}

// subscribers are the copies that were compared with their publisher's, which comes before them.
func (a Archive) subscribers() []history.Replica {
	if len(a.Payloads) < 2 {
		return nil
	}
	return a.Payloads[1:]
}

// rows is a replica with its rows written as spans, since most rows of a run are there, once.
type rows struct {
	Server    string                    `json:"server"`
	Spans     []span                    `json:"spans"`
	Tables    []table                   `json:"tables,omitempty"`
	Registers []history.RegisterValue   `json:"registers,omitempty"`
	Lists     map[int64]listappend.List `json:"lists,omitempty"`
	Moved     bool                      `json:"moved,omitempty"`
}

// table is one of a replica's.
type table struct {
	history.Table
	// Whole says that each row of dbo.Recorded has all of its rows in the table, and that no others are there: its spans
	// are left out.
	Whole bool `json:"whole,omitempty"`
}

func foldTables(r history.Replica) []table {
	var list []table
	for _, t := range r.Tables {
		one := table{Table: t}
		if t.Each > 0 && r.Table(history.TableRecorded) != nil && wholly(t, r.Rows) {
			one.Whole, one.Spans = true, nil
		}
		list = append(list, one)
	}
	return list
}

// wholly says that a table has as many rows of each of these, and no others.
func wholly(t history.Table, recorded []history.RowID) bool {
	want := map[history.RowID]bool{}
	for _, id := range recorded {
		want[id] = true
	}
	for _, s := range t.Spans {
		if s.Times != t.Each {
			return false
		}
		for number := s.First; number <= s.Last; number++ {
			id := history.RowID{Run: s.Run, Number: number}
			if !want[id] {
				return false
			}
			delete(want, id)
		}
	}
	return len(want) == 0
}

func (r rows) unfoldTables() []history.Table {
	var list []history.Table
	for _, t := range r.Tables {
		if t.Whole {
			t.Spans = nil
			for _, s := range r.Spans {
				t.Spans = append(t.Spans, history.Span{Run: s.Run, First: s.First, Last: s.Last, Times: t.Each})
			}
		}
		list = append(list, t.Table)
	}
	return list
}

// span is a run's rows from the first number to the last, each of them there Times times.
type span struct {
	Run   int64 `json:"run"`
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	Times int   `json:"times"`
}

// maxRows bounds what the spans of an archive may unfold to, over all copies: an archive that is damaged, or made up,
// must not fill the memory. It is as many as sixteen copies of what an archive's histories can write.
const maxRows = 16 * MaxOperations

func fold(r history.Replica) rows {
	counts := map[history.RowID]int{}
	for _, id := range r.Rows {
		counts[id]++
	}
	folded := rows{Server: r.Server, Spans: []span{}, Tables: foldTables(r), Registers: r.Registers, Lists: r.Lists,
		Moved: r.Moved}
	for _, id := range slices.SortedFunc(maps.Keys(counts), compareRows) {
		times := counts[id]
		if n := len(folded.Spans); n > 0 {
			if last := &folded.Spans[n-1]; last.Run == id.Run && last.Last+1 == id.Number && last.Times == times {
				last.Last = id.Number
				continue
			}
		}
		folded.Spans = append(folded.Spans, span{Run: id.Run, First: id.Number, Last: id.Number, Times: times})
	}
	return folded
}

func foldAll(list []history.Replica) []rows {
	folded := make([]rows, len(list))
	for i, r := range list {
		folded[i] = fold(r)
	}
	return folded
}

// unfoldAll takes the rows from those that are left.
func unfoldAll(list []rows, left *int64) ([]history.Replica, error) {
	var replicas []history.Replica
	for _, r := range list {
		replica, err := r.unfold(left)
		if err != nil {
			return nil, err
		}
		replicas = append(replicas, replica)
	}
	return replicas, nil
}

func compareRows(x, y history.RowID) int {
	return cmp.Or(cmp.Compare(x.Run, y.Run), cmp.Compare(x.Number, y.Number))
}

// take counts a span's rows; an error when it cannot be.
func (r rows) take(left *int64, run, first, last, times int64) error {
	if first > last || times < 1 || times > *left || last-first < 0 || last-first >= *left ||
		(last-first+1)*times > *left {
		return fmt.Errorf("the rows of %s from %d/%d to %d, %d times, cannot be", r.Server, run, first, last, times)
	}
	*left -= (last - first + 1) * times
	return nil
}

func (r rows) unfold(left *int64) (history.Replica, error) {
	for _, t := range r.Tables {
		// They stay spans, and whoever compares them goes through them.
		of := int64(maxRows)
		for _, s := range t.Spans {
			// A span that bounds rows by whose they are does not count them: each is there.
			if err := r.take(&of, s.Run, s.First, s.Last, max(1, int64(s.Times))); err != nil {
				return history.Replica{}, fmt.Errorf("table %s: %w", t.Name, err)
			}
		}
	}
	replica := history.Replica{Server: r.Server, Tables: r.unfoldTables(), Registers: r.Registers, Lists: r.Lists,
		Moved: r.Moved}
	for _, s := range r.Spans {
		if err := r.take(left, s.Run, s.First, s.Last, int64(s.Times)); err != nil {
			return history.Replica{}, err
		}
		for number := s.First; number <= s.Last; number++ {
			for range s.Times {
				replica.Rows = append(replica.Rows, history.RowID{Run: s.Run, Number: number})
			}
		}
	}
	return replica, nil
}
