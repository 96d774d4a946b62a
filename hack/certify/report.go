// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"geosql.dev/operator/internal/tsql/ledger"
)

// scene is a test of the whole and how it ended.
type scene struct{ name, ended, said string }

// readScenes reads the events of `go test -json`: top-level tests with how they ended, and of those that failed what
// they said last.
func readScenes(events io.Reader) (scenes []scene, err error) {
	said := map[string][]string{}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Test == "" {
			continue
		}
		top, _, sub := strings.Cut(e.Test, "/")
		switch e.Action {
		case "output":
			said[top] = append(said[top], e.Output)
		case "pass", "fail", "skip":
			if !sub {
				s := scene{name: top, ended: e.Action}
				if e.Action == "fail" {
					all := said[top]
					s.said = strings.Join(all[max(0, len(all)-30):], "")
				}
				scenes = append(scenes, s)
			}
		}
	}
	return scenes, lines.Err()
}

// run is everything that one certification found.
type run struct {
	servers  []Server
	contract string
	scenes   []scene
}

// of are the answers to a doubt's statement, those that differ first.
func (r run) of(id string) (answers []Answer) {
	for _, s := range r.servers {
		for _, a := range s.Answers {
			if a.ID == id {
				answers = append(answers, a)
			}
		}
	}
	rank := []Outcome{Differs, Holds, Nothing}
	slices.SortStableFunc(answers, func(a, b Answer) int {
		return slices.Index(rank, a.Outcome) - slices.Index(rank, b.Outcome)
	})
	return answers
}

// report is the run in Markdown. What the ledger does not ask is not in it.
func (r run) report(l *ledger.Ledger) string {
	var b strings.Builder
	b.WriteString("# Certification run\n\n")
	standIn := false
	for _, s := range r.servers {
		fmt.Fprintf(&b, "- %s: build %s, %s\n", s.Name, s.Build, s.Engine)
		standIn = standIn || s.IsStandIn()
	}
	if standIn {
		b.WriteString("\nThe engine is the stand-in: nothing here is about SQL Server, and no doubt is settled.\n")
	} else {
		b.WriteString("\nThe stand-in is the only engine with which this command had been tried when it was written: look\n" +
			"at what differs by hand, too.\n")
	}
	var held, differ, silent []string
	for _, d := range l.Doubts {
		answers := r.of(d.ID)
		if len(answers) == 0 {
			continue
		}
		switch a := answers[0]; a.Outcome {
		case Holds:
			held = append(held, fmt.Sprintf("- %s on %s: %s\n", d.ID, a.Server, d.Doubt))
		case Differs:
			differ = append(differ, difference(d, a))
		default:
			silent = append(silent, fmt.Sprintf("- %s: it is asked on %s\n", d.ID, d.Settle.Where))
		}
	}
	section(&b, "What differs", differ)
	section(&b, "What holds", held)
	section(&b, "What nobody could answer", silent)
	var scenes []string
	for _, s := range r.scenes {
		line := "- " + s.name + ": " + s.ended + "\n"
		if s.said != "" {
			line += "\n```text\n" + strings.TrimRight(s.said, "\n") + "\n```\n"
		}
		scenes = append(scenes, line)
	}
	section(&b, "Scenes", scenes)
	if r.contract != "" {
		section(&b, "Contract suite", []string{"```text\n" + strings.TrimRight(r.contract, "\n") + "\n```\n"})
	}
	return b.String()
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		lines = []string{"Nothing.\n"}
	}
	b.WriteString("\n## " + title + "\n\n" + strings.Join(lines, ""))
}

func difference(d ledger.Doubt, a Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s on %s, build %s\n\n%s A user would see: %s\n\n", d.ID, a.Server, a.Build, d.Doubt, d.Seen)
	fmt.Fprintf(&b, "```sql\n%s\n```\n\n", a.SQL)
	fmt.Fprintf(&b, "Expected: %s\n\n```text\n", expected(d.Settle))
	for _, row := range a.Rows[:min(len(a.Rows), 10)] {
		b.WriteString(row + "\n")
	}
	if a.Error != "" {
		b.WriteString(a.Error + "\n")
	}
	b.WriteString("```\n\n")
	return b.String()
}

func expected(s ledger.Settle) string {
	switch {
	case s.Columns > 0:
		return fmt.Sprintf("%d columns", s.Columns)
	case s.Never != "":
		return "no row like `" + s.Never + "`"
	}
	return "every row like `" + s.Expect + "`"
}

// secretText is what looks like a password beside its name: of a statement or a connection string, of JSON, of an
// agent's command line, of a URL.
var secretText = regexp.MustCompile(`(?i)((?:password|pwd)\w*"?\s*[=:]\s*|-\w*password\s+|://[^\s/:@]+:)` +
	`(N?'(?:[^']|'')*'|"[^"]*"|\[[^\]]*\]|[^\s'",;@]+)`)

// redact takes out the secrets that are known, and what looks like one.
func redact(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	return secretText.ReplaceAllString(text, "$1***")
}

// settled is a file of doubts as it is after the run: those whose answers all hold are settled on the build, those that
// differ say so. Of a stand-in's answers nothing is kept.
func (r run) settled(file string, l *ledger.Ledger) string {
	for _, d := range l.Doubts {
		answers := r.of(d.ID)
		if len(answers) == 0 || slices.ContainsFunc(r.servers, Server.IsStandIn) {
			continue
		}
		entry := regexp.MustCompile(`(?s)(- id: ` + regexp.QuoteMeta(d.ID) + `\n.*?)  status: \w+\n`)
		switch a := answers[0]; a.Outcome {
		case Holds:
			file = entry.ReplaceAllString(file, "${1}  status: settled\n  build: "+a.Build+"\n")
		case Differs:
			file = entry.ReplaceAllString(file, "${1}  status: "+string(d.Status)+"\n  differs: "+a.Build+"\n")
		}
	}
	return file
}
