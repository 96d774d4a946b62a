// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// batch is what is sent to the server as one.
type batch struct {
	text string
	// times that it is executed.
	times int
}

// taken is what became of a line. All empty: it belongs to a batch that goes on.
type taken struct {
	// batch that the line has ended, nil when it has not.
	batch *batch
	// command without its colon, in lower case, and what follows it.
	command, argument string
	// wrong says what is wrong with the line, which was not taken.
	wrong string
}

// mode is what the end of a line is inside of.
type mode byte

const (
	plain   mode = 0
	quote   mode = '\''
	double  mode = '"'
	bracket mode = '['
	comment mode = '*'
)

var (
	// goLine ends a batch, as with sqlcmd (docs/tools/sqlcmd/sqlcmd-commands.md), with a semicolon or a comment behind it or
	// without.
	goLine = regexp.MustCompile(`(?i)^\s*GO(?:\s+([^\s;-]\S*?))?\s*;?\s*(?:--.*)?$`)
	// colonLine is a command: no statement begins with a colon.
	colonLine = regexp.MustCompile(`^\s*:([A-Za-z!]+)\s*(.*?)\s*$`)
	// bareLine are the commands that sqlcmd takes without a colon, too.
	bareLine = regexp.MustCompile(`(?i)^\s*(quit|exit|reset)\s*;?\s*$`)
)

// maxTimes bounds how often GO executes a batch.
const maxTimes = 100_000

// batcher makes batches of lines. A GO within a string, a quoted name or a comment over several lines ends none.
type batcher struct {
	text  strings.Builder
	mode  mode
	depth int
	lines int
}

// line takes one, without its end.
func (b *batcher) line(text string) taken {
	text = strings.TrimSuffix(text, "\r")
	if b.mode == plain {
		if m := goLine.FindStringSubmatch(text); m != nil {
			return b.goes(m[1])
		}
		if m := colonLine.FindStringSubmatch(text); m != nil {
			return taken{command: strings.ToLower(m[1]), argument: m[2]}
		}
		if m := bareLine.FindStringSubmatch(text); m != nil && b.empty() {
			return taken{command: strings.ToLower(m[1])}
		}
	}
	b.lines++
	b.text.WriteString(text)
	b.text.WriteByte('\n')
	b.follow(text + "\n")
	return taken{}
}

// goes ends the batch at a GO.
func (b *batcher) goes(count string) taken {
	times := 1
	if count != "" {
		var err error
		if times, err = strconv.Atoi(count); err != nil || times < 1 || times > maxTimes {
			return taken{wrong: fmt.Sprintf("GO takes a number of times from 1 to %d, and not %q", maxTimes, count)}
		}
	}
	text := b.text.String()
	empty := b.empty()
	b.reset()
	if empty {
		return taken{}
	}
	return taken{batch: &batch{text: text, times: times}}
}

// empty tells that nothing but white space was taken since the last batch.
func (b *batcher) empty() bool { return strings.TrimSpace(b.text.String()) == "" }

// reset drops what was taken since the last batch.
func (b *batcher) reset() { *b = batcher{} }

// follow keeps the mode over a text.
func (b *batcher) follow(text string) {
	for i := 0; i < len(text); i++ {
		c, rest := text[i], text[i:]
		switch b.mode {
		case plain:
			switch {
			case c == '\'' || c == '"' || c == '[':
				b.mode = mode(c)
			case strings.HasPrefix(rest, "--"):
				i += strings.IndexByte(rest, '\n') // every text ends with one
			case strings.HasPrefix(rest, "/*"):
				b.mode, b.depth = comment, 1
				i++
			}
		case comment:
			switch {
			case strings.HasPrefix(rest, "/*"):
				b.depth++
				i++
			case strings.HasPrefix(rest, "*/"):
				i++
				if b.depth--; b.depth == 0 {
					b.mode = plain
				}
			}
		default:
			end := byte(b.mode)
			if b.mode == bracket {
				end = ']'
			}
			if c == end {
				if len(rest) > 1 && rest[1] == end {
					i++ // it stands for one of itself
				} else {
					b.mode = plain
				}
			}
		}
	}
}

// script makes batches of a whole text before anything of it is executed. What follows the last GO is a batch, too,
// where rest says so; else the text must end with GO: of one that was cut off nobody knows what the statement was to
// be.
func script(text string, rest bool) ([]batch, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, fmt.Errorf("the text is not UTF-8: convert it first (iconv -f UTF-16 -t UTF-8)")
	}
	var batches []batch
	b := &batcher{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		t := b.line(strings.TrimSuffix(line, "\n"))
		switch {
		case t.wrong != "":
			return nil, fmt.Errorf("line %d: %s", number, t.wrong)
		case t.command == "quit", t.command == "exit":
			if t.argument != "" {
				return nil, fmt.Errorf("line %d: :%s takes nothing here", number, t.command)
			}
			return batches, nil
		case t.command == "reset":
			b.reset()
		case t.command != "":
			return nil, fmt.Errorf("line %d: :%s is not known here; :quit and :reset are", number, t.command)
		case t.batch != nil:
			batches = append(batches, *t.batch)
		}
	}
	switch {
	case b.empty():
	case rest:
		batches = append(batches, batch{text: b.text.String(), times: 1})
	default:
		return nil, fmt.Errorf("the text ends within the batch that begins at line %d: end it with GO", number-b.lines+1)
	}
	return batches, nil
}
