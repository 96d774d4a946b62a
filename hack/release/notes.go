// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// heading is that of a version in the changelog: ## 0.2.0, ## [0.2.0] or ## 0.2.0 - 2027-01-31.
var heading = regexp.MustCompile(`^## \[?([^\] ]+)\]?(?: .*)?$`)

// section is what the changelog says of a version. What comes before a version is what is not released yet; a version
// itself has a section of its own.
func section(changelog string, version *semver.Version) (string, error) {
	sections, current := map[string]string{}, ""
	for line := range strings.Lines(changelog) {
		if m := heading.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			current = m[1]
		} else if current != "" {
			sections[current] += line
		}
	}
	named := []string{version.String()}
	if version.Prerelease() != "" {
		named = append(named, "Unreleased")
	}
	for _, name := range named {
		if text := strings.TrimSpace(sections[name]); text != "" {
			return text, nil
		}
	}
	return "", fmt.Errorf("CHANGELOG.md says nothing under ## %s", strings.Join(named, " or ## "))
}

// makeNotes writes what the changelog says, and what the image is called.
func (r *release) makeNotes(_ context.Context, dir string) error {
	repository := r.repository
	if repository == "" {
		repository = placeholder
	}
	return writeFile(filepath.Join(dir, "NOTES.md"), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "# geosql-operator %s\n\nImage: `%s`\n\nCommit: `%s`\n\n%s\n",
			r.version, r.reference(repository), r.commit, r.notes)
		return err
	})
}
