// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"geosql.dev/operator/internal/mssql/credentials"
)

// Faults after which the agents do not go by themselves, or not at once, because a person is to say something.

// ask gives a command of kubectl geosql about the group at the hub, whose site has no replica with data.
func (m *matrix) ask(command string, flags ...string) {
	m.groupTest.t.Helper()
	if out, err := m.groupTest.geosql(m.b.Hub().Name,
		append([]string{command, m.group.Name, "--wait"}, flags...)...); err != nil {
		m.groupTest.t.Fatalf("%s: %v: %s", command, err, out)
	}
}

// sayFenced says that the primary can write no more: nobody has to wait until its votes expire.
func (m *matrix) sayFenced() {
	m.ask(
		"failover",
		"--to",
		string(m.server(m.other())),
		"--confirm-fenced",
		credentials.HostName(m.server(m.primary)),
		"--yes",
	)
}

func killPrimaryNodeAndSaySo(m *matrix, f *injected) {
	killPrimaryNode(m, f)
	m.sayFenced()
}

func cutPrimaryAndSaySo(m *matrix, f *injected) {
	cutPrimaryFromAll(m, f)
	m.sayFenced()
}

// failOverWhilePaused cuts the primary's site off while the group is paused: no agent claims by itself, and one does
// when it is asked.
func failOverWhilePaused(m *matrix, f *injected) {
	to := m.server(m.other())
	m.ask("pause")
	cutPrimaryFromAll(m, f)
	uncut := f.heal
	f.heal = func() {
		uncut()
		m.ask("resume")
	}
	m.ask("failover", "--to", string(to))
}
