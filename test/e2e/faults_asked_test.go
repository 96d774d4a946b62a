// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"strings"

	"geosql.dev/operator/internal/credentials"
)

// Faults after which the agents do not go by themselves, or not at once, because a person is to say something.

// ask gives a command of kubectl geosql about the group at a site.
func (m *matrix) ask(site, command string, flags ...string) {
	m.groupTest.t.Helper()
	if out, err := m.groupTest.geosql(site, append([]string{command, m.group.Name, "--wait"}, flags...)...); err != nil {
		m.groupTest.t.Fatalf("%s: %v: %s", command, err, out)
	}
}

// killPrimaryNodeAndSaySo kills the node and says that the primary is fenced: nobody has to wait until its votes expire. It is said at
// the hub, or where the hub's API server is on that node at a site that is a voter.
func killPrimaryNodeAndSaySo(m *matrix, f *injected) {
	primary, to := m.server(m.primary), m.server(m.other())
	killPrimaryNode(m, f)
	at := m.b.Hub().Name
	if strings.HasSuffix(f.Target, "-control-plane") && m.primary == at {
		at = "dublin"
	}
	m.ask(at, "failover", "--to", string(to), "--confirm-fenced", credentials.HostName(primary), "--yes")
}

// failOverWhilePaused cuts the primary's site off while the group is paused: no agent claims by itself, and one does when it is asked.
func failOverWhilePaused(m *matrix, f *injected) {
	to := m.server(m.other())
	m.ask("dublin", "pause")
	cutPrimaryFromAll(m, f)
	uncut := f.heal
	f.heal = func() {
		uncut()
		m.ask("dublin", "resume")
	}
	m.ask("dublin", "failover", "--to", string(to))
}
