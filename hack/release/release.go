// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/Masterminds/semver/v3"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// release is one on its way. Nothing in it depends on where the checkout lies, on the time, or on who makes it.
type release struct {
	version *semver.Version
	// root is the checkout, dir the folder that is made, helm the program.
	root, dir, helm string
	// changed lets files differ from the commit.
	changed bool
	// repository is that of the image, empty where it is pushed nowhere; downloads where the plugin's archives will be.
	repository, downloads string
	images, plugins       []platform

	// commit is what is checked out, at its time or the one that SOURCE_DATE_EPOCH says. notes are the changelog's.
	commit string
	at     time.Time
	notes  string
	// operators and clients are the programs that were built.
	operators, clients []binary
	index              v1.ImageIndex
	digest             v1.Hash
}

// binary is a program that was built.
type binary struct {
	name string
	platform
	path string
}

// run makes the release and, where a registry is given, pushes the image.
func (o options) run(ctx context.Context, out io.Writer) error {
	r, err := o.checked()
	if err != nil {
		return err
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	if err := r.make(ctx, out); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "release: %s is made of commit %s\n", r.dir, r.commit)
	if r.repository == "" {
		_, _ = fmt.Fprintf(out, "release: image digest %s, pushed nowhere (REGISTRY says where to)\n", r.digest)
		return nil
	}
	return r.push(ctx, out)
}

// begin looks at what the release is made of, before anything is built.
func (r *release) begin(ctx context.Context) (err error) {
	if r.commit, r.at, err = r.source(ctx); err != nil {
		return err
	}
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return fmt.Errorf("read the changelog: %w", err)
	}
	r.notes, err = section(string(changelog), r.version)
	return err
}

// make makes the folder. It is there under its name when all is in it, or as it was before.
func (r *release) make(ctx context.Context, out io.Writer) error {
	scratch, err := os.MkdirTemp("", "geosql-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	if err := os.MkdirAll(filepath.Dir(r.dir), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(r.dir), ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if err := r.build(ctx, scratch, out); err != nil {
		return err
	}
	for _, part := range []struct {
		says string
		do   func(ctx context.Context, dir string) error
	}{
		{"the image", r.makeImage},
		{"the chart and the install manifest", r.makeChart},
		{"the plugin's archives", r.makePlugins},
		{"the bill of materials", r.makeSBOM},
		{"the notes", r.makeNotes},
		{"the checksums", makeChecksums},
	} {
		_, _ = fmt.Fprintln(out, "release: "+part.says)
		if err := part.do(ctx, dir); err != nil {
			return fmt.Errorf("make %s: %w", part.says, err)
		}
	}
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	return os.Rename(dir, r.dir)
}

// file is the name of a file of the release, with the version in it.
func (r *release) file(before, after string) string { return before + "-" + r.version.String() + after }

// reference names the image below a repository for good: by the version, for people, and the digest, which counts.
func (r *release) reference(repository string) string {
	return repository + ":" + r.version.String() + "@" + r.digest.String()
}
