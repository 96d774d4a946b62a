// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sql

import (
	"context"
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
)

// typist types lines, and presses Ctrl-C where it is told to.
type typist struct {
	t *testing.T
	// lines are what is left to be typed; each prompt is kept beside the line that was typed behind it.
	lines, prompts []string
	interrupt      func()
}

const ctrlC, ctrlD = "^C", "^D"

func (p *typist) Line(_ context.Context, prompt string) (string, error) {
	if len(p.lines) == 0 {
		p.t.Error("the prompt comes again though all was typed")
		return "", context.Canceled
	}
	line := p.lines[0]
	p.lines, p.prompts = p.lines[1:], append(p.prompts, prompt)
	switch line {
	case ctrlC:
		return "", errInterrupted
	case ctrlD:
		return "", io.EOF
	}
	return line, nil
}

func (p *typist) Running(interrupt func()) func() {
	p.interrupt = interrupt
	return func() { p.interrupt = func() { p.t.Error("nothing goes on") } }
}

// pressing is a sink that presses Ctrl-C so many times when the server says "begun".
type pressing struct {
	mssql.Sink
	typist *typist
	times  int
}

func (p pressing) Message(m mssql.Message) error {
	if m.Text == "begun" {
		for range p.times {
			p.typist.interrupt()
		}
	}
	return p.Sink.Message(m)
}

// types has a person type lines at a prompt of the server, and returns what was shown, with the prompts before it.
func (w *world) types(t *testing.T, presses int, lines ...string) (prompts []string, shown string) {
	t.Helper()
	g := NewWithT(t)
	f := &flags{}
	g.Expect(newCommand(f).ParseFlags([]string{"--kubeconfig", w.kubeconfig, "-n", "web", "-d", "Content"})).To(Succeed())
	var screen strings.Builder
	p := &typist{t: t, lines: lines}
	a, err := parse("content", false)
	g.Expect(err).NotTo(HaveOccurred())
	connect := func(ctx context.Context) (*session, error) { return f.open(ctx, a) }
	s, err := connect(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	c := &conversation{lines: p, session: s, notes: &screen, connect: connect, newSink: func() mssql.Sink {
		return pressing{newSink(outputCSV, &screen, &screen), p, presses}
	}}
	defer func() { c.session.close() }()
	g.Expect(c.loop(t.Context())).To(Succeed())
	g.Expect(p.lines).To(BeEmpty(), "the person has left before all was typed")
	w.printed.WriteString(screen.String() + strings.Join(p.prompts, ""))
	return p.prompts, screen.String()
}

// begun is a batch that says so and then goes on for longer than any test.
const begun = "RAISERROR(N'begun', 0, 1) WITH NOWAIT; WAITFOR DELAY '01:00:00'"

// attempts at keeping a session whose batch is interrupted: the driver gives one up whose server takes five seconds to
// confirm, as it may on a busy machine.
const attempts = 3

// prompt is what a person sees at one.
func (w *world) prompt(t *testing.T) {
	const at = "sa@tukpub-0 (PRIMARY of content) "
	t.Run("says where one is", func(t *testing.T) {
		g := NewWithT(t)
		prompts, shown := w.types(t, 0, "SELECT 'a", "GO", "' AS x", "GO", "BEGIN TRANSACTION", "GO", "USE tempdb", "GO",
			":quit", "ROLLBACK", "GO", "quit")
		g.Expect(prompts).To(Equal([]string{at + "Content> ", pad(at+"Content> ", "2'> "), pad(at+"Content> ", "3'> "),
			pad(at+"Content> ", "4> "), at + "Content> ", pad(at+"Content> ", "2> "),
			at + "Content [1 open transaction]> ", pad(at+"Content [1 open transaction]> ", "2> "),
			at + "tempdb [1 open transaction]> ", at + "tempdb [1 open transaction]> ",
			pad(at+"tempdb [1 open transaction]> ", "2> "), at + "tempdb> "}))
		g.Expect(shown).To(ContainSubstring("x\n\"a\nGO\n\"\n(1 row affected)\n"))
		g.Expect(shown).To(ContainSubstring("1 open transaction: COMMIT or ROLLBACK it; whoever leaves now"))
	})
	t.Run("goes on after an error, and drops what is not wanted", func(t *testing.T) {
		g := NewWithT(t)
		prompts, shown := w.types(t, 0, "DELETE FROM dbo.nowhere", "GO", "DELETE FROM dbo.Article", ctrlC,
			"DELETE FROM dbo.Article", ":reset", ":setvar a b", ":exit now", ":help", "GO x",
			"SELECT COUNT(*) AS n FROM dbo.Article", "GO", ctrlD)
		g.Expect(prompts).To(HaveLen(13))
		g.Expect(shown).To(ContainSubstring("Msg 208, Level 16"))
		g.Expect(shown).To(ContainSubstring("what was typed is dropped; :quit leaves"))
		g.Expect(shown).To(ContainSubstring(":setvar is not known here; :help says what is"))
		g.Expect(shown).To(ContainSubstring(":exit takes nothing here, and nothing was done"))
		g.Expect(shown).To(ContainSubstring(":reconnect  ends the session"))
		g.Expect(shown).To(ContainSubstring(`and not "x"; nothing was sent`))
		g.Expect(shown).To(ContainSubstring("n\n3\n"))
	})
	t.Run("ends a batch", func(t *testing.T) {
		g := NewWithT(t)
		kept := false
		for range attempts {
			prompts, shown := w.types(t, 1, "SELECT 7 AS i INTO #kept", "GO", begun, "GO", "SELECT i FROM #kept", "GO", ctrlD)
			g.Expect(shown).To(ContainSubstring("outcome unknown: context canceled: it was interrupted, and what it had done " +
				"before stands unless a transaction was open"))
			if kept = prompts[6] == at+"Content> " && strings.Contains(shown, "i\n7\n"); kept {
				break
			}
		}
		g.Expect(kept).To(BeTrue(), "the session is the same")
	})
	t.Run("ends a connection, and makes another when it is told to", func(t *testing.T) {
		g := NewWithT(t)
		prompts, shown := w.types(t, 2, "BEGIN TRANSACTION", "GO", begun, "GO", "DELETE FROM dbo.Article", "GO",
			":reconnect", "SELECT @@TRANCOUNT AS n", "GO", ctrlD)
		g.Expect(prompts[4:7]).To(Equal([]string{"not connected> ", pad("not connected> ", "2> "), "not connected> "}))
		g.Expect(prompts[7]).To(Equal(at + "Content> "))
		g.Expect(shown).To(ContainSubstring("the connection has ended, with what was open in its session"))
		g.Expect(shown).To(ContainSubstring("not connected, and nothing was sent; :reconnect connects again"))
		g.Expect(shown).To(ContainSubstring("connected to tukpub-0 at site tukwila"))
		g.Expect(shown).To(ContainSubstring("n\n0\n"))
	})
}

// pad is a prompt under another one.
func pad(first, second string) string { return strings.Repeat(" ", len(first)-len(second)) + second }
