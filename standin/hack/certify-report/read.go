// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// entry is a statement and its answer (contract/transcript_test.go).
type entry struct{ Test, Statement, Answer, Question, Document string }

// side is what one server did: verdicts (pass, fail, skip) and output by test, and the transcript in its order.
type side struct {
	verdicts map[string]string
	said     map[string][]string
	order    []string
	entries  []entry
}

// readSide reads FILE.json, the events of the tests, and FILE.jsonl, the transcript.
func readSide(file string) (side, error) {
	s := side{verdicts: map[string]string{}, said: map[string][]string{}}
	err := eachLine(file+".json", func(d *json.Decoder) error {
		var e struct{ Action, Test, Output string }
		if err := d.Decode(&e); err != nil {
			return err
		}
		test, _, below := strings.Cut(e.Test, "/")
		switch e.Action {
		case "run":
			if !below {
				s.order = append(s.order, test)
			}
		case "output":
			if line := strings.TrimSpace(e.Output); test != "" && line != "" && !strings.HasPrefix(line, "===") &&
				!strings.HasPrefix(line, "--- ") {
				s.said[test] = append(s.said[test], line)
			}
		case "pass", "fail", "skip":
			if !below && test != "" {
				s.verdicts[test] = e.Action
			}
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	return s, eachLine(file+".jsonl", func(d *json.Decoder) error {
		var e entry
		if err := d.Decode(&e); err != nil {
			return err
		}
		s.entries = append(s.entries, e)
		return nil
	})
}

// eachLine calls read until the file ends.
func eachLine(file string, read func(*json.Decoder) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		if err := read(d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
	}
}

var documentName = regexp.MustCompile(`docs/[\w./-]*[\w]|[\w-]+\.md|\[MS-TDS\][ \d.]*\d`)

// readDocuments gives the documents that the comment of each test of a package names.
func readDocuments(dir string) (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no tests in %s: %w", dir, fs.ErrNotExist))
	}
	out := map[string][]string{}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Doc != nil && strings.HasPrefix(f.Name.Name, "Test") {
				out[f.Name.Name] = documentName.FindAllString(f.Doc.Text(), -1)
			}
		}
	}
	return out, nil
}
