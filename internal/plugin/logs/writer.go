// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"geosql.dev/operator/internal/plugin/cli"
)

// errClosed says that nobody reads what is written.
var errClosed = errors.New("nobody reads this any more")

// writer writes whole lines of many logs.
type writer struct {
	mu         sync.Mutex
	out, notes io.Writer
	width      int
	timestamps bool
	err        error
}

func newWriter(out, notes io.Writer, sources []source, timestamps bool) *writer {
	w := &writer{out: out, notes: notes, timestamps: timestamps}
	for _, s := range sources {
		w.width = max(w.width, len(s.label()))
	}
	return w
}

// write writes one line. After an error it writes nothing more.
func (w *writer) write(s source, e entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	stamp := ""
	if w.timestamps {
		stamp = e.at.UTC().Format(time.RFC3339Nano) + " "
	}
	_, w.err = fmt.Fprintf(w.out, "%-*s  %s%s\n", w.width, s.label(), stamp, cli.Said(e.text))
	return w.err
}

// complain says why there is no more of a log.
func (w *writer) complain(s source, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.notes, "error: %s: %s\n", s.label(), cli.Said(err.Error()))
}

// failed tells that nobody reads what is written.
func (w *writer) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil
}
