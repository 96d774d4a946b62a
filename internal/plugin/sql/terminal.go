// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"unicode/utf8"

	"golang.org/x/term"
)

// keyInterrupt and keyTab are what the keys Ctrl-C and Tab send.
const (
	keyInterrupt = 3
	keyTab       = '\t'
)

// longestLine is how many characters the editor takes. What is typed or pasted beyond is dropped without a word.
const longestLine = 4096

// tty is a terminal. It edits lines, and remembers them for as long as it lasts: statements may have secrets, and no
// file gets them.
type tty struct {
	in, out *os.File
	saved   settings
	editor  *term.Terminal
	keys    *keys
}

// keys are what is typed. It notes an interrupt, which the editor does not tell from the end.
type keys struct {
	io.Reader
	io.Writer
	interrupted bool
}

// Read reads.
func (k *keys) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p)
	k.interrupted = k.interrupted || bytes.IndexByte(p[:n], keyInterrupt) >= 0
	return n, err
}

// descriptor is a file's number.
func descriptor(f *os.File) int { return int(f.Fd()) }

// newTTY takes the terminal over until it is closed.
func newTTY(in, out *os.File) (*tty, error) {
	saved, err := settingsOf(in, out)
	if err != nil {
		return nil, fmt.Errorf("read the terminal's settings: %w", err)
	}
	t := &tty{in: in, out: out, saved: saved}
	t.edit(nil)
	return t, t.set(false)
}

// edit begins with another editor. What the one before had read and not returned is dropped.
func (t *tty) edit(history term.History) {
	t.keys = &keys{Reader: t.in, Writer: t.out}
	t.editor = term.NewTerminal(t.keys, "")
	if history != nil {
		t.editor.History = history
	}
	// The editor would drop tabs that are typed or pasted.
	t.editor.AutoCompleteCallback = func(line string, at int, key rune) (string, int, bool) {
		if key != keyTab {
			return "", 0, false
		}
		return line[:at] + "\t" + line[at:], at + 1, true
	}
	if width, height, err := term.GetSize(descriptor(t.out)); err == nil {
		_ = t.editor.SetSize(width, height)
	}
}

// set takes keys as they are typed, without an echo. With signals, Ctrl-C is a signal.
func (t *tty) set(signals bool) error {
	if err := t.saved.typed(signals).apply(t.in, t.out); err != nil {
		return fmt.Errorf("change the terminal's settings: %w", err)
	}
	return nil
}

// close leaves the terminal as it was found.
func (t *tty) close() { _ = t.saved.apply(t.in, t.out) }

// Line implements lines.
func (t *tty) Line(ctx context.Context, prompt string) (string, error) {
	if err := t.set(false); err != nil {
		return "", err
	}
	type typed struct {
		line string
		err  error
	}
	t.editor.SetPrompt(prompt)
	read := make(chan typed, 1)
	go func() {
		// Nothing ends this but a line or the end of the input; who leaves does not wait for it.
		line, err := t.editor.ReadLine()
		read <- typed{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case got := <-read:
		if errors.Is(got.err, io.EOF) && t.keys.interrupted {
			_, _ = io.WriteString(t.out, "^C\r\n")
			// The editor would find the same key again.
			t.edit(t.editor.History)
			return "", errInterrupted
		}
		if utf8.RuneCountInString(got.line) >= longestLine {
			return "", errTooLong
		}
		return got.line, got.err
	}
}

// Running implements lines.
func (t *tty) Running(interrupt func()) func() {
	_ = t.set(true)
	pressed, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(pressed, os.Interrupt)
	go func() {
		for {
			select {
			case <-pressed:
				interrupt()
			case <-ended:
				return
			}
		}
	}()
	return func() {
		signal.Stop(pressed)
		close(ended)
	}
}

// untilEnded is a context that does not end with an interrupt, as that of the program does, but with what ends programs
// otherwise, and with the terminal.
func untilEnded(ctx context.Context) (context.Context, context.CancelFunc) {
	// Without somebody who takes it, an interrupt that comes between two batches would end the program.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, os.Interrupt)
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	return ctx, func() {
		stop()
		signal.Stop(ignored)
	}
}
