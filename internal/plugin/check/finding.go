// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"geosql.dev/operator/internal/plugin/cli"
)

// Level says what a finding means for whoever wants servers at a site.
type Level string

const (
	// OK needs nothing.
	OK Level = "ok"
	// Warning works, but not as well as it could, or not for everybody.
	Warning Level = "warning"
	// Problem keeps servers from running, or sites from each other.
	Problem Level = "problem"
	// Unknown could not be looked at.
	Unknown Level = "unknown"
)

// Finding is what one check found in one cluster.
type Finding struct {
	// Cluster is the site's name, or "hub" for the hub that is no site.
	Cluster string `json:"cluster"`
	// Check is what was looked at: version, clock, nodes and so on.
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Says is what was found.
	Says string `json:"says"`
	// Change is what to do about it; empty where nothing is to be done.
	Change string `json:"change,omitempty"`
}

// notSeen is what no API server tells, notProbed what probes do not find out either.
const (
	notSeen = "not looked at, since no API server tells: MTU, DNS, kernel parameters of nodes, and whether pods of one " +
		"site reach those of another; --probe looks, but for the kernel's"
	notProbed = "not looked at, since no API server tells: kernel parameters of nodes"
)

// write shows the findings to a person, and what was not looked at; without that only those that need something.
func write(out io.Writer, findings []Finding, unseen string) error {
	var b strings.Builder
	for _, f := range findings {
		if f.Level == OK && unseen == "" {
			continue
		}
		fmt.Fprintf(&b, "%-8s %-10s %s: %s\n", f.Level, f.Cluster, f.Check, f.Says)
		if f.Change != "" {
			fmt.Fprintf(&b, "%20schange: %s\n", "", f.Change)
		}
	}
	if unseen != "" {
		fmt.Fprintln(&b, unseen)
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("print the findings: %w", err)
	}
	return nil
}

// writeJSON shows all findings to a program.
func writeJSON(out io.Writer, findings []Finding) error {
	if findings == nil {
		findings = []Finding{}
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(map[string]any{"findings": findings}); err != nil {
		return fmt.Errorf("print the findings: %w", err)
	}
	return nil
}

// verdict is an error when there are problems, or, where that is asked for, anything that is not well.
func verdict(findings []Finding, strict bool) error {
	found := map[Level]int{}
	for _, f := range findings {
		found[f.Level]++
	}
	switch {
	case found[Problem] > 0:
		return fmt.Errorf("problems: %d, warnings: %d, unknown: %d", found[Problem], found[Warning], found[Unknown])
	case strict && found[Warning]+found[Unknown] > 0:
		return fmt.Errorf("warnings: %d, unknown: %d", found[Warning], found[Unknown])
	case len(findings) == 0:
		return errors.New("nothing was looked at")
	}
	return nil
}

// findings collects those of one cluster.
type findings struct {
	cluster string
	list    []Finding
}

func (f *findings) ok(check, says string, args ...any) { f.add(OK, check, "", says, args...) }

func (f *findings) warn(check, change, says string, args ...any) {
	f.add(Warning, check, change, says, args...)
}

func (f *findings) problem(check, change, says string, args ...any) {
	f.add(Problem, check, change, says, args...)
}

// unknown says why something could not be looked at.
func (f *findings) unknown(check string, err error) {
	f.add(Unknown, check, "", "%s", strings.TrimSpace(err.Error()))
}

// add keeps what is said on one line: clusters have chosen some of the words.
func (f *findings) add(level Level, check, change, says string, args ...any) {
	f.list = append(f.list, Finding{Cluster: f.cluster, Check: check, Level: level,
		Says: cli.Shown(fmt.Sprintf(says, args...)), Change: cli.Shown(change)})
}
