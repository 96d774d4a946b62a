// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

const pageHead = `<!-- Written by make generate from internal/tsql/ledger; change it there. -->
# Certification

What shows that each statement and each read of the operator works on SQL Server. None of this comes from a run on
Microsoft's image unless a row says "run". "Document" is a page that gives the form; "field" is a public report or
source; "stand-in" is the engine that the tests run, alone. SQL Server 2019, 2022 and 2025 are meant where no version is
named. [standin/README.md](../standin/README.md) says what the stand-in is.

` + "`make certify ENGINE_IMAGE=...`" + ` asks a real engine on the bed, or ` + "`SERVERS=name=host:port,...`" + ` by address; the
settling statements that read alone are sent, the contract suite and the scenes of ` + "`hack/certify/run`" + ` are run. It
leaves a report and a patch of this page's data. The stand-in is the only engine with which the command has been tried.
`

const doubtsHead = `
## Doubts

"Wrong": a document or the field contradicted the operator or the stand-in when it was read. "Doubtful": nothing public
settles it. Mended: the operator does what documents and field say. Both: it works whichever way SQL Server does it.
Asked: it asks the engine and says what it found. Open: it has one way, and nobody has tried it. Settled: a run on SQL
Server showed that the operator is right. The statement under each settles it.
`

// Page is docs/certification.md.
func (l *Ledger) Page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	b.WriteString("\n## Counts\n\n")
	b.WriteString(l.table())
	b.WriteString("\n## Statements\n\n| statement | runs | page | versions | held by | doubts |\n")
	b.WriteString("|---|---|---|---|---|---|\n")
	for _, s := range l.Statements {
		fmt.Fprintf(&b, "| `%s` | %s | [%s](%s) | %s | %s | %s |\n", s.Name, coded(s.Runs),
			strings.TrimSuffix(path.Base(s.Page), ".md"), s.URL(), cmp.Or(s.Versions, "all"), s.Held, l.links(s.Name))
	}
	b.WriteString("\n## Reads\n\nWhat internal/mssql reads. Where no statement is named, the caller gives it.\n\n")
	b.WriteString("| read | statements | doubts |\n|---|---|---|\n")
	for _, r := range l.Reads {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, coded(r.Sends), l.links(r.Sends...))
	}
	b.WriteString(doubtsHead)
	for _, d := range l.Doubts {
		b.WriteString(d.section())
	}
	return b.String()
}

// table is the counts by themselves, for the page and the README.
func (l *Ledger) table() string {
	c := l.Count()
	var b strings.Builder
	fmt.Fprintf(&b, "| of %d statements | |\n|---|---|\n", c.Statements)
	fmt.Fprintf(&b, "| held by a document of Microsoft's | %d |\n", c.Held[HeldByDocument])
	fmt.Fprintf(&b, "| held by the field | %d |\n", c.Held[HeldByField])
	fmt.Fprintf(&b, "| held by the stand-in alone | %d |\n", c.Held[HeldByStandIn])
	fmt.Fprintf(&b, "| run on SQL Server | %d |\n", c.Held[HeldByRun])
	b.WriteString("\n| doubts | all | mended | works both ways | engine is asked | open | settled by a run |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	for _, v := range []Verdict{Wrong, Doubtful} {
		by := map[Status]int{}
		for _, d := range l.Doubts {
			if d.Verdict == v {
				by[d.Status]++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d |\n", v, c.Doubts[v], by[Mended], by[Both], by[Asked], by[Open],
			by[Settled])
	}
	return b.String()
}

func coded(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "`" + n + "`"
	}
	return strings.Join(out, ", ")
}

// links to the sections of the doubts about statements; those that no longer limit anything are left out.
func (l *Ledger) links(statements ...string) string {
	var out []string
	for _, d := range l.Doubts {
		if d.Stands() && slices.ContainsFunc(statements, func(s string) bool { return slices.Contains(d.Statements, s) }) {
			out = append(out, fmt.Sprintf("[%s](#%s)", d.ID, strings.ToLower(d.ID)))
		}
	}
	return strings.Join(out, ", ")
}

func (d Doubt) section() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n%s\n\n", d.ID, d.Doubt)
	state := string(d.Status)
	switch {
	case d.Test != "":
		state += ", held by `" + d.Test + "`"
	case d.Build != "":
		state += " on build " + d.Build
	}
	if d.Differs != "" {
		state += "; build " + d.Differs + " answered otherwise"
	}
	fmt.Fprintf(&b, "- %s; evidence: %s; %s\n", d.Verdict, d.Evidence, state)
	about := coded(d.Statements)
	if d.Other != "" {
		about = d.Other
	}
	fmt.Fprintf(&b, "- About %s\n- A user would see: %s\n- Settled on %s:\n\n", about, d.Seen, d.Settle.Where)
	fmt.Fprintf(&b, "  ```sql\n  %s\n  ```\n", d.Settle.SQL)
	return b.String()
}

// Marks around what README.md has of the ledger.
const (
	ReadmeBegin = "<!-- Written by make generate from internal/tsql/ledger: begin -->"
	ReadmeEnd   = "<!-- Written by make generate from internal/tsql/ledger: end -->"
)

// Readme is README.md with its part of the ledger as it is now.
func (l *Ledger) Readme(text string) (string, error) {
	before, rest, ok := strings.Cut(text, ReadmeBegin)
	_, after, closed := strings.Cut(rest, ReadmeEnd)
	if !ok || !closed {
		return "", fmt.Errorf("README.md has no %q and %q", ReadmeBegin, ReadmeEnd)
	}
	return before + ReadmeBegin + "\n" + l.table() + ReadmeEnd + after, nil
}
