// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/plugin/cli"
)

// errInterrupted says that a person pressed Ctrl-C instead of ending a line.
var errInterrupted = errors.New("interrupted")

// lines is where a person types.
type lines interface {
	// Line shows the prompt and returns what was typed behind it. The error is io.EOF when that is all, errInterrupted,
	// errTooLong, or that of ctx.
	Line(ctx context.Context, prompt string) (string, error)
	// Running has interrupt called each time that the person presses Ctrl-C, until what it returns is called.
	Running(interrupt func()) (done func())
}

// errTooLong says that of a line a part was lost.
var errTooLong = errors.New("a line of more than 4095 characters")

// conversation is a prompt.
type conversation struct {
	lines lines
	// connect makes a session.
	connect func(ctx context.Context) (*session, error)
	// newSink is for the answers to one batch.
	newSink func() mssql.Sink
	notes   io.Writer

	session *session
	batcher batcher
	// warned tells that the person has just heard that something is open.
	warned bool
}

// converse reads from the terminal until the person leaves.
func (f *flags) converse(cmd *cobra.Command, a asked, in, out *os.File) error {
	s, err := f.open(cmd.Context(), a)
	if err != nil {
		return err
	}
	// From here on an interrupt is for the batch that is executed; the process ends by other signals.
	ctx, stop := untilEnded(cmd.Context())
	defer stop()
	t, err := newTTY(in, out)
	if err != nil {
		s.close()
		return err
	}
	defer t.close()
	c := &conversation{lines: t, session: s, notes: cmd.ErrOrStderr(),
		connect: func(ctx context.Context) (*session, error) { return f.open(ctx, a) },
		newSink: func() mssql.Sink { return f.sink(out, cmd.ErrOrStderr()) }}
	defer func() { c.session.close() }()
	c.say("%s", s.banner())
	c.say("GO sends what was typed, :quit leaves, :help says the rest")
	return c.loop(ctx)
}

func (c *conversation) say(format string, args ...any) {
	fmt.Fprintf(c.notes, format+"\n", args...)
}

// fails says an error, of which a server or a kubelet may have chosen the words.
func (c *conversation) fails(err error) { c.say("error: %s", cli.Said(err.Error())) }

// loop takes lines until the person leaves.
func (c *conversation) loop(ctx context.Context) error {
	for {
		prompt := c.session.prompt()
		if c.batcher.lines > 0 {
			prompt = continued(prompt, &c.batcher)
		}
		line, err := c.lines.Line(ctx, prompt)
		switch {
		case errors.Is(err, errInterrupted):
			c.batcher.reset()
			c.say("what was typed is dropped; :quit leaves")
			continue
		case errors.Is(err, errTooLong):
			c.batcher.reset()
			c.fails(fmt.Errorf("%w: all that was typed is dropped; send it as a script, from a file", err))
			continue
		case errors.Is(err, io.EOF):
			c.say("")
			if c.leaves() {
				return nil
			}
			continue
		case err != nil:
			return err
		}
		if c.take(ctx, line) {
			return nil
		}
	}
}

// take does what a line asks for, and tells whether the person leaves by it.
func (c *conversation) take(ctx context.Context, line string) (left bool) {
	t := c.batcher.line(line)
	switch {
	case t.wrong != "":
		c.say("%s; nothing was sent", t.wrong)
	case t.command == "quit" && t.argument == "", t.command == "exit" && t.argument == "":
		return c.leaves()
	case t.command != "":
		c.command(ctx, t.command, t.argument)
	case t.batch != nil && c.session.console.Ended():
		c.say("not connected, and nothing was sent; :reconnect connects again")
	case t.batch != nil:
		c.execute(ctx, *t.batch)
	}
	c.warned = false
	return false
}

// leaves tells whether the person may go. What is open is said once before.
func (c *conversation) leaves() bool {
	n := c.session.open()
	if n == 0 || c.warned || c.session.console.Ended() {
		return true
	}
	c.say("%s: COMMIT or ROLLBACK it; whoever leaves now, by :quit once more, has it rolled back", transactions(n))
	c.warned = true
	return false
}

const helpText = `GO [n]      sends what was typed before it, n times
:reset      drops what was typed
:reconnect  ends the session, with what is open in it, and begins another; of a group with who is primary then
:help       says this
:quit       leaves; so do exit and Ctrl-D
Ctrl-C      ends the batch that is executed, or drops what was typed; a second one ends the connection
`

func (c *conversation) command(ctx context.Context, name, argument string) {
	known := map[string]func(){
		"reset":     func() { c.batcher.reset() },
		"help":      func() { c.say("%s", strings.TrimSuffix(helpText, "\n")) },
		"reconnect": func() { c.reconnect(ctx) },
		"quit":      nil, "exit": nil, // with an argument, or they would not come here
	}
	do, is := known[name]
	switch {
	case !is:
		c.say(":%s is not known here; :help says what is", name)
	case argument != "":
		c.say(":%s takes nothing here, and nothing was done", name)
	default:
		do()
	}
}

// reconnect ends the session and begins another one.
func (c *conversation) reconnect(ctx context.Context) {
	c.session.close()
	c.batcher.reset()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.lines.Running(cancel)()
	s, err := c.connect(ctx)
	if err != nil {
		c.fails(err)
		return
	}
	c.session = s
	c.say("%s", s.banner())
}

// execute sends a batch and looks where the session is then. The first interrupt asks the server to stop, a second one
// does not wait for it.
func (c *conversation) execute(ctx context.Context, b batch) {
	s, before := c.session, c.session.role()
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	presses := 0
	done := c.lines.Running(func() {
		if presses++; presses == 1 {
			cancel()
			return
		}
		s.console.Abort()
	})
	defer done()
	sink := c.newSink()
	for range b.times {
		failed, err := s.send(running, b, sink)
		if err != nil {
			c.fails(interrupted(running, err))
		}
		if err != nil || failed {
			break
		}
	}
	if running.Err() == nil {
		s.look(running)
	}
	if running.Err() != nil && !s.console.Ended() {
		s.settle(ctx)
	}
	switch {
	case s.console.Ended():
		c.say("the connection has ended, with what was open in its session; :reconnect makes another one")
	case s.roles != nil && s.role() != before:
		c.say("note: %s is now %s", s.goal.pod(), s.role())
	}
}
