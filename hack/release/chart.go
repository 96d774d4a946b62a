// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	chartDir  = "charts/geosql-operator"
	chartName = "geosql-operator"
	namespace = "geosql-system"
	// placeholder stands in the install manifest of a release that was pushed nowhere. No kubelet takes it for an image.
	placeholder = "REGISTRY/" + imageName
	// kubeVersion is what the kustomize bases are rendered for, too (hack/manifests).
	kubeVersion = "1.36.0"
)

// edit is a line of a file of the chart that a release writes: lines that match become line.
type edit struct {
	file string
	old  *regexp.Regexp
	line string
}

// edits are the version, the image and its digest.
func (r *release) edits() []edit {
	version, digest := r.version.String(), r.digest.String()
	return []edit{
		{"Chart.yaml", regexp.MustCompile(`(?m)^version: .*$`), "version: " + version},
		{"Chart.yaml", regexp.MustCompile(`(?m)^appVersion: .*$`), `appVersion: "` + version + `"`},
		{"values.yaml", regexp.MustCompile(`(?m)^  repository: ""$`), `  repository: "` + r.repository + `"`},
		{"values.yaml", regexp.MustCompile(`(?m)^  digest: ""$`), `  digest: "` + digest + `"`},
	}
}

// edited is a file of the chart as the release has it. Each edit finds one line: the chart may have changed since the
// edits were written.
func edited(file string, data []byte, edits []edit) ([]byte, error) {
	for _, e := range edits {
		if e.file != file {
			continue
		}
		if n := len(e.old.FindAll(data, -1)); n != 1 {
			return nil, fmt.Errorf("%d lines of the chart's %s are %s; one should be", n, file, e.old)
		}
		data = e.old.ReplaceAllLiteral(data, []byte(e.line))
	}
	return data, nil
}

// makeChart packages the chart and renders the install manifest from the package.
func (r *release) makeChart(ctx context.Context, dir string) error {
	tracked, err := r.git(ctx, "ls-files", "-z", "--", chartDir)
	if err != nil {
		return err
	}
	var entries []entry
	for path := range strings.SplitSeq(strings.TrimRight(tracked, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(r.root, path))
		if err != nil {
			return err
		}
		file := strings.TrimPrefix(path, chartDir+"/")
		if data, err = edited(file, data, r.edits()); err != nil {
			return err
		}
		entries = append(entries, entry{name: chartName + "/" + file, data: data})
	}
	packaged := filepath.Join(dir, r.file(chartName, ".tgz"))
	if err := writeFile(packaged, func(w io.Writer) error { return writeTarGzip(w, r.at, entries) }); err != nil {
		return err
	}
	manifest, err := r.manifest(ctx, packaged)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "install.yaml"), func(w io.Writer) error {
		_, err := w.Write(manifest)
		return err
	})
}

// installer is what no manifest but the chart's has: who applies this one is no Helm, and hooks are Helm's alone.
var installer = regexp.MustCompile(`(?m)^(# Source: .*| *app\.kubernetes\.io/managed-by: Helm| *helm\.sh/chart: .*)\n`)

// manifest is what the packaged chart installs in the hub.
func (r *release) manifest(ctx context.Context, packaged string) ([]byte, error) {
	arguments := []string{
		"template", chartName, packaged, "--namespace", namespace, "--kube-version", kubeVersion, "--no-hooks",
	}
	repository, says := r.repository, "# geosql-operator "+r.version.String()+"\n"
	if repository == "" {
		repository = placeholder
		arguments = append(arguments, "--set", "image.repository="+placeholder)
		says += "# Write in place of REGISTRY/ where the image was put.\n"
	}
	rendered, err := r.output(ctx, r.helm, arguments...)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(rendered, r.reference(repository)) {
		return nil, fmt.Errorf("the chart installs another image than %s", r.reference(repository))
	}
	var all bytes.Buffer
	all.WriteString(says)
	all.WriteString("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + namespace + "\n")
	all.WriteString(installer.ReplaceAllString(rendered, ""))
	return all.Bytes(), nil
}
