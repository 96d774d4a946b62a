// SPDX-License-Identifier: Apache-2.0

// Command firewall-restore stands before iptables-restore for the bed's firewall (hack/bed/tools/firewall): of the
// table that kube-router has read, changed and writes back, it lets through kube-router's own chains alone. Others
// write into that table too (kube-proxy, hack/bed, tests that open a way out for a moment): what they add or take away
// between kube-router's reading and its writing would be undone.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// FIREWALL_RESTORE is the program that it stands before, FIREWALL_SAVE the one that prints the present table.
const (
	restoreVariable = "FIREWALL_RESTORE"
	saveVariable    = "FIREWALL_SAVE"
	// written is there once rules have been written: the pod is ready then.
	written = "/run/firewall/written"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	present, err := exec.Command(os.Getenv(saveVariable), "-t", "filter").Output()
	if err != nil {
		return fmt.Errorf("read the table: %w", err)
	}
	var table bytes.Buffer
	if _, err := table.ReadFrom(os.Stdin); err != nil {
		return fmt.Errorf("read what is to be written: %w", err)
	}
	command := exec.Command(os.Getenv(restoreVariable), append([]string{"--noflush"}, args...)...)
	command.Stdin = strings.NewReader(own(table.String(), string(present)))
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("write the table: %w: %s", err, out)
	}
	if err := os.WriteFile(written, nil, 0o644); err != nil {
		return fmt.Errorf("say that rules are written: %w", err)
	}
	return nil
}

// prefixes of kube-router's chains.
var prefixes = []string{"KUBE-ROUTER-", "KUBE-POD-FW-", "KUBE-NWPLCY-"}

func ours(chain string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(chain, prefix) {
			return true
		}
	}
	return false
}

// own is what of a table is kube-router's, in the form of iptables-save, and removes the chains of its that are present
// and no longer wanted. kube-router accepts what no policy forbids, and no later rule would see it: the bed's, which
// refuse what would leave it, come later, so that acceptance is left out.
func own(table, present string) string {
	var chains, rules []string
	wanted := map[string]bool{}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case strings.HasPrefix(fields[0], ":") && ours(fields[0][1:]):
			if name := fields[0][1:]; !wanted[name] {
				wanted[name] = true
				chains = append(chains, ":"+name+" - [0:0]")
			}
		case len(fields) > 1 && strings.HasPrefix(fields[0], "-") && ours(fields[1]):
			if rule := strings.TrimSpace(line); !accepts(rule) {
				rules = append(rules, rule)
			}
		}
	}
	for line := range strings.Lines(present) {
		if name, found := strings.CutPrefix(strings.Fields(line + " .")[0], ":"); found && ours(name) && !wanted[name] {
			chains = append(chains, ":"+name+" - [0:0]")
			rules = append(rules, "-X "+name)
		}
	}
	return strings.Join(append(append(append([]string{"*filter"}, chains...), rules...), "COMMIT", ""), "\n")
}

func accepts(rule string) bool {
	return strings.HasPrefix(rule, "-A KUBE-ROUTER-") && strings.Contains(rule, "0x20000/0x20000") &&
		strings.HasSuffix(rule, "-j ACCEPT")
}
