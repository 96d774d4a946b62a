// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/workload/history/listappend"
)

// format is the first line's mark.
const format = "geosql-history/1"

// suffix of the files of a folder of histories.
const suffix = ".history"

// line is one line of a history: a header, the beginning of an operation, its end, or the end of the run.
type line struct {
	Kind          string   `json:"k"`
	Format        string   `json:"format,omitempty"`
	Header        *Header  `json:"header,omitempty"`
	Number        int64    `json:"n,omitempty"`
	Function      Function `json:"f,omitempty"`
	Interaction   string   `json:"i,omitempty"`
	Key           int64    `json:"key,omitempty"`
	Value         int64    `json:"v,omitempty"`
	Monotonic     int64    `json:"t"`
	Wall          int64    `json:"w"`
	Server        string   `json:"s,omitempty"`
	Configuration int64    `json:"c,omitempty"`
	Reason        string   `json:"r,omitempty"`
	// Steps of a transaction at its beginning, and at its end what each that reads has read.
	Steps []listappend.Step `json:"x,omitempty"`
	Reads []listappend.List `json:"y,omitempty"`
	// Due is the intended start, by the monotonic clock, of the first operation of a schedule, from which the others
	// follow; at the end that of the operation that would have been next, and Asked when the client was asked to stop.
	Due   int64 `json:"d,omitempty"`
	Asked int64 `json:"u,omitempty"`
}

const (
	kindBegin  = "begin"
	kindInvoke = "invoke"
	kindEnd    = "end"
)

// Recorder appends to one run's file. It is for one goroutine, as a run is.
type Recorder struct {
	file *os.File
	next int64
	open *Operation
	// every is the time between two intended starts, due the next one, and unsaid that the file does not have it yet.
	every  time.Duration
	due    int64
	unsaid bool
	// asked is when the client was asked to stop; 0 where nobody says.
	asked int64
}

// Create begins the file of a run in the folder. The file must not exist.
func Create(folder string, h Header) (*Recorder, error) {
	if h.Run < 1 {
		return nil, fmt.Errorf("begin a history: run %d is not at least 1", h.Run)
	}
	name := filepath.Join(folder, fmt.Sprintf("%s-%d%s", h.Client, h.Run, suffix))
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("begin a history: %w", err)
	}
	r := &Recorder{file: file, next: 1, every: h.Every}
	now := Now()
	if err := r.write(line{Kind: kindBegin, Format: format, Header: &h, Monotonic: now.Monotonic,
		Wall: now.Wall}); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

// Next is the number that the next operation will have.
func (r *Recorder) Next() int64 { return r.next }

// Invoke records that an operation is about to be sent and returns it with its number. After an error it must not be
// sent.
func (r *Recorder) Invoke(f Function, key, value int64) (Operation, error) {
	return r.InvokeAs("", f, key, value)
}

// InvokeAs is Invoke for an interaction of the workload.
func (r *Recorder) InvokeAs(interaction string, f Function, key, value int64) (Operation, error) {
	return r.invoke(Operation{Function: f, Interaction: interaction, Key: key, Value: value})
}

// InvokeSteps is Invoke for an Insert that does steps on lists in the transaction of its row.
func (r *Recorder) InvokeSteps(interaction string, steps []listappend.Step) (Operation, error) {
	return r.invoke(Operation{Function: Insert, Interaction: interaction, Steps: steps})
}

func (r *Recorder) invoke(o Operation) (Operation, error) {
	if r.open != nil {
		return Operation{}, fmt.Errorf("record an operation: number %d has not ended", r.open.Number)
	}
	o.Number, o.Invoked = r.next, Now()
	var due int64
	if r.unsaid {
		due = r.due
	}
	if r.every > 0 {
		o.Late = time.Duration(max(o.Invoked.Monotonic-r.due, 0))
	}
	err := r.write(
		line{
			Kind:        kindInvoke,
			Number:      o.Number,
			Function:    o.Function,
			Interaction: o.Interaction,
			Key:         o.Key,
			Value:       o.Value,
			Steps:       o.Steps,
			Monotonic:   o.Invoked.Monotonic,
			Wall:        o.Invoked.Wall,
			Due:         due,
		},
	)
	if err != nil {
		return Operation{}, err
	}
	r.due, r.unsaid = r.due+int64(r.every), false
	r.next, r.open = r.next+1, &o
	return o, nil
}

// Complete records how the operation that was invoked last has ended: its Outcome, and Value, Server, Configuration,
// Reason and what its Steps read as far as they are known. The time is now.
func (r *Recorder) Complete(o Operation) error {
	if r.open == nil || r.open.Number != o.Number {
		return fmt.Errorf("record an outcome: operation %d is not under way", o.Number)
	}
	now := Now()
	l := line{
		Kind:          string(o.Outcome),
		Number:        o.Number,
		Monotonic:     now.Monotonic,
		Wall:          now.Wall,
		Server:        o.Server,
		Configuration: o.Configuration,
		Reason:        o.Reason,
	}
	if o.Function == Read {
		l.Value = o.Value
	}
	for _, s := range o.Steps {
		if s.Append == "" && o.Outcome == OK {
			l.Reads = append(l.Reads, s.Read)
		}
	}
	r.open = nil
	return r.write(l)
}

// End records that the client stopped in good order and closes the file.
func (r *Recorder) End() error {
	now := Now()
	l := line{Kind: kindEnd, Monotonic: now.Monotonic, Wall: now.Wall}
	if r.every > 0 && r.due > 0 && r.due <= r.asked {
		l.Due, l.Asked = r.due, r.asked
	}
	return errors.Join(r.write(l), r.file.Close())
}

// write hands a line to the kernel: it outlives the process, not the machine's power.
func (r *Recorder) write(l line) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a line of the history: %w", err)
	}
	if _, err := r.file.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}

// Export writes all histories of a folder, one after another, compressed by gzip. Clients may still be writing.
func Export(folder string, w io.Writer) error { return export(folder, suffix, w) }

func export(folder, suffix string, w io.Writer) error {
	names, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
	if err != nil {
		return fmt.Errorf("list the histories: %w", err)
	}
	slices.Sort(names)
	packed := gzip.NewWriter(w)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read a history: %w", err)
		}
		// A torn last line must not swallow the next history's header.
		if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
			data = append(data, '\n')
		}
		if _, err := packed.Write(data); err != nil {
			return fmt.Errorf("write the histories: %w", err)
		}
	}
	if err := packed.Close(); err != nil {
		return fmt.Errorf("write the histories: %w", err)
	}
	return nil
}

// Load reads what Export wrote, or the files that Recorders write. A compressed stream that breaks off is an error.
func Load(r io.Reader) ([]Run, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	if magic, err := buffered.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		packed, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("unpack the histories: %w", err)
		}
		defer packed.Close()
		buffered = bufio.NewReaderSize(packed, 64<<10)
	}
	var runs []Run
	for number := 1; ; number++ {
		text, err := buffered.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read line %d of the histories: %w", number, err)
		}
		if strings.TrimSpace(text) != "" {
			if bad := take(&runs, text); bad != nil {
				return nil, fmt.Errorf("line %d of the histories: %w", number, bad)
			}
		}
		if err != nil {
			return runs, nil
		}
	}
}

// take adds one line to the last run.
func take(runs *[]Run, text string) error {
	var l line
	torn := json.Unmarshal([]byte(text), &l) != nil
	if !torn && l.Kind == kindBegin {
		if l.Format != format || l.Header == nil {
			return fmt.Errorf("it begins no history of format %s", format)
		}
		*runs = append(*runs, Run{Header: *l.Header, Started: Instant{l.Monotonic, l.Wall}})
		return nil
	}
	if len(*runs) == 0 {
		return errors.New("it stands before the first header")
	}
	run := &(*runs)[len(*runs)-1]
	if torn {
		run.Torn++
		return nil
	}
	at := Instant{l.Monotonic, l.Wall}
	switch l.Kind {
	case kindInvoke:
		run.Operations = append(
			run.Operations,
			Operation{
				Number:      l.Number,
				Function:    l.Function,
				Interaction: l.Interaction,
				Key:         l.Key,
				Value:       l.Value,
				Steps:       l.Steps,
				Invoked:     at,
				Late:        run.late(l),
				Outcome:     Unknown,
				Reason:      "its end was not recorded",
			},
		)
	case kindEnd:
		run.Ended, run.Next, run.Asked = true, l.Due, l.Asked
	case string(OK), string(Fail), string(Unknown):
		if len(run.Operations) == 0 || run.Operations[len(run.Operations)-1].Number != l.Number {
			return fmt.Errorf("operation %d ends that was not the last to begin", l.Number)
		}
		o := &run.Operations[len(run.Operations)-1]
		o.Completed, o.Outcome, o.Server, o.Configuration, o.Reason = at, Outcome(l.Kind), l.Server, l.Configuration, l.Reason
		if o.Function == Read {
			o.Value = l.Value
		}
		return o.takeReads(l.Reads)
	default:
		return fmt.Errorf("unknown kind %q", l.Kind)
	}
	return nil
}

// takeReads gives what was read to the steps that read.
func (o *Operation) takeReads(reads []listappend.List) error {
	if o.Outcome != OK {
		return nil
	}
	for i := range o.Steps {
		if o.Steps[i].Append != "" {
			continue
		}
		if len(reads) == 0 {
			return fmt.Errorf("operation %d ends without all that it has read", o.Number)
		}
		o.Steps[i].Read, reads = reads[0], reads[1:]
	}
	return nil
}
