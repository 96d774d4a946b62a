// SPDX-License-Identifier: Apache-2.0

// Command platforms checks the types of programs, and of all that they consist of, as they are compiled for other
// systems: a file that is for one system alone breaks a build for another. A build from nothing takes minutes a
// system, since it makes code of a thousand packages that are other people's; of those the declarations alone are
// looked at here. What the linker refuses shows in `make release` alone. make verify runs it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

func main() {
	if err := run(context.Background(), ".", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run takes platforms, such as windows/amd64, each with the programs for it behind a colon, with commas.
func run(ctx context.Context, root string, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("usage: platforms SYSTEM/PROCESSOR:PROGRAM[,PROGRAM]...")
	}
	errs := make([]error, len(args))
	var checking sync.WaitGroup
	for i, arg := range args {
		platform, programs, _ := strings.Cut(arg, ":")
		system, processor, is := strings.Cut(platform, "/")
		if !is || programs == "" {
			errs[i] = fmt.Errorf("%q names no platform and programs", arg)
			continue
		}
		_, _ = fmt.Fprintf(out, "verify: types for %s\n", platform)
		checking.Go(func() {
			if err := check(ctx, root, system, processor, strings.Split(programs, ",")); err != nil {
				errs[i] = fmt.Errorf("for %s: %w", platform, err)
			}
		})
	}
	checking.Wait()
	return errors.Join(errs...)
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
	Error           *struct{ Err string }
}

func check(ctx context.Context, root, system, processor string, programs []string) error {
	packages, err := list(ctx, root, system, processor, programs)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	parsed := parse(files, packages)
	known := map[string]*types.Package{"unsafe": types.Unsafe}
	var errs []error
	for i, p := range packages { // each after those that it imports
		if p.ImportPath == "unsafe" {
			continue
		}
		all, err := parsed[i].files, parsed[i].err
		if err == nil {
			known[p.ImportPath], err = typed(files, p, all, known, types.SizesFor("gc", processor))
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// list are the packages that programs consist of.
func list(ctx context.Context, root, system, processor string, programs []string) (all []listed, err error) {
	command := exec.CommandContext(ctx, "go", append([]string{"list", "-deps",
		"-json=ImportPath,Dir,GoFiles,ImportMap,Module,Error"}, programs...)...)
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list what the programs consist of: %w: %s", err, complaint.String())
	}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read what the programs consist of: %w", err)
		case p.Error != nil:
			return nil, errors.New(p.Error.Err)
		}
		all = append(all, p)
	}
}

// own tells a package of the module that is checked.
func (p listed) own() bool { return p.Module != nil && p.Module.Main }

type syntax struct {
	files []*ast.File
	err   error
}

// parse reads the files of all packages at once.
func parse(files *token.FileSet, packages []listed) []syntax {
	all := make([]syntax, len(packages))
	var reading sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i, p := range packages {
		reading.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			for _, name := range p.GoFiles {
				file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
				all[i].err = errors.Join(all[i].err, err)
				if !p.own() && err == nil {
					forget(file)
				}
				all[i].files = append(all[i].files, file)
			}
		})
	}
	reading.Wait()
	return all
}

// forget takes out of a file what its functions do, which is most of it and is not looked at.
func forget(file *ast.File) {
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Body != nil {
			f.Body.List = nil
		}
	}
}

// typed checks a package. Only of the module's own are functions looked into.
func typed(
	files *token.FileSet, p listed, syntax []*ast.File, known map[string]*types.Package, sizes types.Sizes,
) (*types.Package, error) {
	var errs []error
	config := types.Config{
		IgnoreFuncBodies: !p.own(), Sizes: sizes, FakeImportC: true,
		Error: func(err error) { errs = append(errs, err) },
		Importer: importer(func(path string) (*types.Package, error) {
			if real, mapped := p.ImportMap[path]; mapped {
				path = real
			}
			if found := known[path]; found != nil {
				return found, nil
			}
			return nil, fmt.Errorf("%s is not among what the programs consist of", path)
		}),
	}
	done, _ := config.Check(p.ImportPath, files, syntax, nil) // every error is told of
	return done, errors.Join(slices.Clip(errs)...)
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
