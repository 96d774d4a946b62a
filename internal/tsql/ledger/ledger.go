// SPDX-License-Identifier: Apache-2.0

// Package ledger is what certifies each statement and each read: its page, who has seen it work, and which doubts there
// are. The data are the YAML files of this folder; docs/certification.md, README.md and `kubectl geosql plan` say it
// from them, and tests hold the names equal to those of internal/tsql and internal/mssql.
package ledger

import (
	"cmp"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"geosql.dev/operator/internal/tsql"
)

//go:embed *.yaml
var files embed.FS

// Held is what shows that a statement works as it is used.
type Held string

const (
	// HeldByDocument is a page of Microsoft's that gives the form.
	HeldByDocument Held = "document"
	// HeldByField is somebody's public report or source; no page gives the form or the use.
	HeldByField Held = "field"
	// HeldByStandIn is the stand-in alone.
	HeldByStandIn Held = "stand-in"
	// HeldByRun is a run on SQL Server.
	HeldByRun Held = "run"
)

// Statement is one constructor of internal/tsql.
type Statement struct {
	// Name of the constructor.
	Name string `json:"name"`
	// Runs names procedures, views or the statement's first words.
	Runs []string `json:"runs"`
	// Page of what comes first, a path of Microsoft's repository of documents.
	Page string `json:"page"`
	// Versions of SQL Server; empty for all that the operator supports.
	Versions string `json:"versions,omitempty"`
	Held     Held   `json:"held"`
	// Match is a pattern that the shown text of its statements has and no other's, where Runs does not tell them apart.
	Match string `json:"match,omitempty"`
}

// URL of the page.
func (s Statement) URL() string {
	return "https://learn.microsoft.com/en-us/sql/" + strings.TrimSuffix(strings.TrimPrefix(s.Page, "docs/"), ".md")
}

// Read is one function of internal/mssql that asks an engine.
type Read struct {
	Name string `json:"name"`
	// Sends are the constructors of its statements; empty when the caller gives the statement.
	Sends []string `json:"sends,omitempty"`
}

// Verdict says how strong a doubt is.
type Verdict string

const (
	// Wrong: a document or the field contradicted the operator or the stand-in.
	Wrong Verdict = "wrong"
	// Doubtful: nothing public settles it.
	Doubtful Verdict = "doubtful"
)

// Status says what has been done about a doubt.
type Status string

const (
	// Mended: the operator does what documents and field say.
	Mended Status = "mended"
	// Both: the operator works whichever way SQL Server does it.
	Both Status = "both"
	// Asked: the operator asks the engine and says what it found.
	Asked Status = "asked"
	// Open: nothing has been done.
	Open Status = "open"
	// Settled: a run on SQL Server showed that the operator is right.
	Settled Status = "settled"
)

// Settle is the one statement whose answer settles a doubt.
type Settle struct {
	SQL string `json:"sql"`
	// Where it is sent, and after what, in words.
	Where string `json:"where"`
	// Database in which a harmless one is sent; master when empty.
	Database string `json:"database,omitempty"`
	// Harmless statements read alone, and can be sent to any server at any time.
	Harmless bool `json:"harmless,omitempty"`
	// Expect is what each row matches, its values with | between them, where the operator's way holds.
	Expect string `json:"expect,omitempty"`
	// Never is what no row matches then.
	Never string `json:"never,omitempty"`
	// Columns is how many columns the result set has then; 0 when they are not counted.
	Columns int `json:"columns,omitempty"`
}

// Doubt is something that documents or the field say against the operator, or that nobody can tell.
type Doubt struct {
	ID      string  `json:"id"`
	Verdict Verdict `json:"verdict"`
	// Evidence is document, field, both or none.
	Evidence string `json:"evidence"`
	Status   Status `json:"status"`
	// Test holds a doubt that is mended, both or asked.
	Test string `json:"test,omitempty"`
	// Statements that it is about; Other when it is about something else than a statement.
	Statements []string `json:"statements,omitempty"`
	Other      string   `json:"other,omitempty"`
	Doubt      string   `json:"doubt"`
	// Seen is what a user sees when the doubt is true.
	Seen   string `json:"seen"`
	Settle Settle `json:"settle"`
	// Build is the engine's build whose answer settled it, Differs one that answered otherwise than the operator expects.
	Build   string `json:"build,omitempty"`
	Differs string `json:"differs,omitempty"`
}

// Statement is the settling statement.
func (s Settle) Statement() tsql.Statement {
	return tsql.Statement{Text: s.SQL}.Because("settle a doubt")
}

// Stands tells whether the doubt still limits what can be promised: the operator has only one way, and no run showed
// that SQL Server takes it.
func (d Doubt) Stands() bool { return d.Status == Open || d.Status == Asked }

// Ledger is all of it, sorted by name and ID.
type Ledger struct {
	Statements []Statement
	Reads      []Read
	Doubts     []Doubt
}

// All is the ledger of this release. The data are a part of the program and checked by its tests.
var All = sync.OnceValue(func() *Ledger {
	l, err := load()
	if err != nil {
		panic(err)
	}
	return l
})

func load() (*Ledger, error) {
	l := &Ledger{}
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the ledger's files: %w", err)
	}
	for _, e := range entries {
		data, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", e.Name(), err)
		}
		switch name := e.Name(); {
		case name == "statements.yaml":
			err = yaml.UnmarshalStrict(data, &l.Statements)
		case name == "reads.yaml":
			err = yaml.UnmarshalStrict(data, &l.Reads)
		case path.Ext(name) == ".yaml":
			var doubts []Doubt
			err = yaml.UnmarshalStrict(data, &doubts)
			l.Doubts = append(l.Doubts, doubts...)
		}
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", e.Name(), err)
		}
	}
	slices.SortFunc(l.Statements, func(a, b Statement) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(l.Reads, func(a, b Read) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(l.Doubts, func(a, b Doubt) int { return cmp.Compare(order(a.ID), order(b.ID)) })
	return l, nil
}

// order sorts R-W2 before R-W10.
func order(id string) string {
	letters := strings.TrimRight(id, "0123456789")
	return letters + strings.Repeat("0", max(0, 3-len(id)+len(letters))) + id[len(letters):]
}

// Statement by its constructor's name.
func (l *Ledger) Statement(name string) (Statement, bool) {
	i := slices.IndexFunc(l.Statements, func(s Statement) bool { return s.Name == name })
	if i < 0 {
		return Statement{}, false
	}
	return l.Statements[i], true
}

// About are the doubts about a statement.
func (l *Ledger) About(statement string) (about []Doubt) {
	for _, d := range l.Doubts {
		if slices.Contains(d.Statements, statement) {
			about = append(about, d)
		}
	}
	return about
}

// Counts are what the page and the README count.
type Counts struct {
	Statements, Reads int
	Held              map[Held]int
	// Doubts and those of them that stand.
	Doubts, Standing map[Verdict]int
	Status           map[Status]int
}

// Count counts the ledger.
func (l *Ledger) Count() Counts {
	c := Counts{Statements: len(l.Statements), Reads: len(l.Reads), Held: map[Held]int{}, Doubts: map[Verdict]int{},
		Standing: map[Verdict]int{}, Status: map[Status]int{}}
	for _, s := range l.Statements {
		c.Held[s.Held]++
	}
	for _, d := range l.Doubts {
		c.Doubts[d.Verdict]++
		c.Status[d.Status]++
		if d.Stands() {
			c.Standing[d.Verdict]++
		}
	}
	return c
}
