// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"

	mssql "github.com/microsoft/go-mssqldb"
)

// entry is a statement and its answer, as `make certify` compares them (hack/certify-report).
type entry struct {
	Test, Statement, Answer string
	// Question and Document are those of a probe.
	Question, Document string `json:",omitempty"`
}

// transcript writes what the tests ask and what the server answers to the file that GEOSQL_CONTRACT_TRANSCRIPT names,
// one JSON object to a line; without it, nowhere.
type transcript struct {
	mu   sync.Mutex
	file *os.File
	// names are those that uniqueName gave; they differ from run to run and are written by their prefixes.
	names []string
}

var recorded transcript

func (r *transcript) open() error {
	name := os.Getenv("GEOSQL_CONTRACT_TRANSCRIPT")
	if name == "" {
		return nil
	}
	var err error
	r.file, err = os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	return err
}

func (r *transcript) name(prefix, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		r.names = append(r.names, name, prefix+"_*")
	}
}

// statement writes one line. The password of the server under test never stands in it.
func (r *transcript) statement(text string, params []any, rows [][]any, err error) {
	if r.file == nil {
		return
	}
	if len(params) > 0 {
		text += fmt.Sprintf(" -- parameters %v", params)
	}
	r.write(entry{Test: runningTest(), Statement: text, Answer: answerText(rows, err)})
}

func (r *transcript) write(e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return
	}
	plain := strings.NewReplacer(append(r.names, shared.password, "(password)")...)
	e.Statement, e.Answer = plain.Replace(e.Statement), plain.Replace(e.Answer)
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "write the transcript:", err)
	}
}

// answerText is an answer in one text: rows, or the errors in their order as number, severity, state, line and message.
func answerText(rows [][]any, err error) string {
	var e mssql.Error
	switch {
	case err == nil && len(rows) == 0:
		return "no rows"
	case err == nil:
		return rowsText(rows)
	case !errors.As(err, &e):
		return err.Error()
	}
	all := e.All
	if len(all) == 0 {
		all = []mssql.Error{e}
	}
	lines := make([]string, len(all))
	for i, one := range all {
		lines[i] = fmt.Sprintf(
			"error %d, severity %d, state %d, line %d: %s",
			one.Number,
			one.Class,
			one.State,
			one.LineNo,
			one.Message,
		)
	}
	return strings.Join(lines, "; ")
}

var testFunction = regexp.MustCompile(`contract_test\.(Test\w+)`)

// runningTest is the test function that the caller runs in, "" in a goroutine that a helper started.
func runningTest() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if m := testFunction.FindStringSubmatch(frame.Function); m != nil {
			return m[1]
		}
		if !more {
			return ""
		}
	}
}
