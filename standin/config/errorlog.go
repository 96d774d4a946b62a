// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// ErrorLog is SQL Server's error log: a file and standard output, a line each of time, source and text. It is a
// slog.Handler; the attribute "source" (spid51, Server, Logon, ...) fills the source column.
type ErrorLog struct {
	out    *output
	source string
	attrs  string
	group  string
}

type output struct {
	mu   sync.Mutex
	path string
	keep int
	file *os.File
	also io.Writer
	now  func() time.Time
}

// sourceWidth is the width of the source column.
const sourceWidth = 12

// OpenErrorLog renames the logs of earlier starts to .1, .2 and so on, of which keep remain, and begins a new one.
func OpenErrorLog(path string, keep int, also io.Writer) (*ErrorLog, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o770); err != nil {
		return nil, fmt.Errorf("make directory of error log: %w", err)
	}
	o := &output{path: path, keep: keep, also: also, now: time.Now}
	if err := o.begin(); err != nil {
		return nil, err
	}
	return &ErrorLog{out: o, source: "Server"}, nil
}

// begin renames the logs that there are and opens a new one.
func (o *output) begin() error {
	for n := o.keep; n > 0; n-- {
		from := o.path
		if n > 1 {
			from = fmt.Sprintf("%s.%d", o.path, n-1)
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", o.path, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep old error log: %w", err)
		}
	}
	file, err := os.OpenFile(o.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o660)
	if err != nil {
		return fmt.Errorf("begin error log: %w", err)
	}
	if o.file != nil {
		_ = o.file.Close()
	}
	o.file = file
	return nil
}

// Cycle ends the log and begins a new one, as a start does.
func (l *ErrorLog) Cycle() error {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	return l.out.begin()
}

// Close closes the file.
func (l *ErrorLog) Close() error {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	return l.out.file.Close()
}

// Printf writes a line of source Server.
func (l *ErrorLog) Printf(format string, args ...any) {
	l.out.write(l.out.now(), l.source, fmt.Sprintf(format, args...))
}

// From is the log with another source.
func (l *ErrorLog) From(source string) *ErrorLog {
	other := *l
	other.source = source
	return &other
}

func (o *output) write(at time.Time, source, text string) {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n\t")
	line := fmt.Sprintf("%s %-*s%s\n", at.Format("2006-01-02 15:04:05.00"), sourceWidth, source, text)
	o.mu.Lock()
	defer o.mu.Unlock()
	// A full disk must not stop the server.
	_, _ = o.file.WriteString(line)
	if o.also != nil {
		_, _ = io.WriteString(o.also, line)
	}
}

// Enabled is slog.Handler's: all but debugging.
func (l *ErrorLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle is slog.Handler's.
func (l *ErrorLog) Handle(_ context.Context, r slog.Record) error {
	var text strings.Builder
	switch {
	case r.Level >= slog.LevelError:
		text.WriteString("Error: ")
	case r.Level >= slog.LevelWarn:
		text.WriteString("Warning: ")
	}
	text.WriteString(r.Message)
	text.WriteString(l.attrs)
	source := l.source
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "source" {
			source = a.Value.String()
		} else {
			fmt.Fprintf(&text, " %s%s=%v", l.group, a.Key, a.Value)
		}
		return true
	})
	at := r.Time
	if at.IsZero() {
		at = l.out.now()
	}
	l.out.write(at, source, text.String())
	return nil
}

// WithAttrs is slog.Handler's.
func (l *ErrorLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	other := *l
	for _, a := range attrs {
		if a.Key == "source" {
			other.source = a.Value.String()
		} else {
			other.attrs += fmt.Sprintf(" %s%s=%v", l.group, a.Key, a.Value)
		}
	}
	return &other
}

// WithGroup is slog.Handler's.
func (l *ErrorLog) WithGroup(name string) slog.Handler {
	other := *l
	other.group += name + "."
	return &other
}
