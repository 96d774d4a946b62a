// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// source is a package whose conditions are to be changed: its files without tests, and the types in them.
type source struct {
	folder, dir, path, name string
	set                     *token.FileSet
	files                   map[string]*ast.File // by name
	text                    map[string][]byte
	info                    types.Info
}

// readSource reads the package in a folder of the module of the current one. What it imports comes out of Go's build
// cache.
func readSource(folder string) (*source, error) {
	type listed struct {
		ImportPath, Export, Dir, Name string
		GoFiles                       []string
	}
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,Name,GoFiles",
		"./"+folder).Output()
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", folder, withOutput(err))
	}
	exports, it := map[string]string{}, listed{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		it = listed{} // the last is the package itself
		if err := d.Decode(&it); err != nil {
			return nil, fmt.Errorf("reading what go list says of %s: %w", folder, err)
		}
		exports[it.ImportPath] = it.Export
		if !d.More() {
			break
		}
	}
	s := &source{folder: folder, dir: it.Dir, path: it.ImportPath, name: it.Name, set: token.NewFileSet(),
		files: map[string]*ast.File{}, text: map[string][]byte{},
		info: types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
	var parsed []*ast.File
	for _, name := range it.GoFiles {
		if s.text[name], err = os.ReadFile(filepath.Join(it.Dir, name)); err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(s.set, path.Join(folder, name), s.text[name], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files[name], parsed = f, append(parsed, f)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	imports := importer.ForCompiler(s.set, "gc", open)
	if _, err := (&types.Config{Importer: imports}).Check(it.ImportPath, s.set, parsed, &s.info); err != nil {
		return nil, fmt.Errorf("types of %s: %w", folder, err)
	}
	return s, nil
}

// withOutput adds what a command said.
func withOutput(err error) error {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return fmt.Errorf("%w: %s", err, ended.Stderr)
	}
	return err
}
