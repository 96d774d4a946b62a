// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// versionVariable is what a release says of itself.
const versionVariable = "geosql.dev/operator/internal/version.version"

// decided are the variables of the environment that change what Go builds, and that a release decides itself.
var decided = []string{
	"CGO_ENABLED=0", "GO111MODULE=on", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off",
	"GOAMD64=v1", "GOARM64=v8.0",
}

// build builds the operator and the plugin for their platforms.
func (r *release) build(ctx context.Context, scratch string, out io.Writer) error {
	for _, p := range r.images {
		built, err := r.buildOne(ctx, scratch, "geosql", p, out)
		if err != nil {
			return err
		}
		r.operators = append(r.operators, built)
	}
	for _, p := range r.plugins {
		built, err := r.buildOne(ctx, scratch, "kubectl-geosql", p, out)
		if err != nil {
			return err
		}
		r.clients = append(r.clients, built)
	}
	return nil
}

// buildOne builds a program of cmd/ for a platform. No path of the checkout and no state of the repository is in it.
func (r *release) buildOne(ctx context.Context, scratch, name string, p platform, out io.Writer) (binary, error) {
	_, _ = fmt.Fprintf(out, "release: building %s for %s\n", name, p)
	file := name
	if p.os == "windows" {
		file += ".exe"
	}
	built := binary{name: name, platform: p, path: filepath.Join(scratch, p.os+"-"+p.arch, file)}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -buildid= -X "+versionVariable+"="+r.version.String(), "-o", built.path, "./cmd/"+name)
	cmd.Dir = r.root
	cmd.Env = append(slices.DeleteFunc(os.Environ(), isDecided), append(decided, "GOOS="+p.os, "GOARCH="+p.arch)...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return binary{}, fmt.Errorf("build %s for %s: %w\n%s", name, p, err, said)
	}
	return built, nil
}

// isDecided says whether a variable of the environment is one that a release decides.
func isDecided(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return name == "GOOS" || name == "GOARCH" || name == "PWD" ||
		slices.ContainsFunc(decided, func(d string) bool { return strings.HasPrefix(d, name+"=") })
}
