// SPDX-License-Identifier: Apache-2.0

// Package wan makes the network between the bed's sites a wide-area one: each
// ordered pair of sites is a link with delay, jitter, loss and a rate, put in
// force on the kind nodes of the site that sends.
package wan

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// Site is one cluster of the bed, as hack/bed/sites.env has it.
type Site struct {
	// Name is the name of the kind cluster too.
	Name string
	// PodSubnet holds the addresses of all pods of the site.
	PodSubnet netip.Prefix
}

// sitesVariable is the shell variable whose value is the table of sites: one
// line each, the first column the name, the second the pod subnet.
const sitesVariable = "BED_SITES"

// ReadSites reads the table of sites from hack/bed/sites.env.
func ReadSites(path string) ([]Site, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the table of sites: %w", err)
	}
	sites, err := parseSites(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sites, nil
}

func parseSites(text string) ([]Site, error) {
	_, table, found := strings.Cut("\n"+text, "\n"+sitesVariable+`="`)
	table, _, closed := strings.Cut(table, `"`)
	if !found || !closed {
		return nil, fmt.Errorf("there is no %s=\"...\"", sitesVariable)
	}
	var sites []Site
	seen := map[string]bool{}
	for line := range strings.Lines(table) {
		columns := strings.Fields(line)
		if len(columns) == 0 {
			continue
		}
		if len(columns) < 2 || seen[columns[0]] {
			return nil, fmt.Errorf(
				"%s: line %q needs a name of its own and a pod subnet",
				sitesVariable,
				strings.TrimSpace(line),
			)
		}
		subnet, err := netip.ParsePrefix(columns[1])
		if err != nil || !subnet.Addr().Is4() {
			return nil, fmt.Errorf("%s: pod subnet %q of %s is not an IPv4 prefix", sitesVariable, columns[1], columns[0])
		}
		seen[columns[0]] = true
		sites = append(sites, Site{Name: columns[0], PodSubnet: subnet.Masked()})
	}
	if len(sites) == 0 {
		return nil, fmt.Errorf("%s has no line", sitesVariable)
	}
	return sites, nil
}

func siteNames(sites []Site) string {
	names := make([]string, 0, len(sites))
	for _, site := range sites {
		names = append(names, site.Name)
	}
	return strings.Join(names, ", ")
}
