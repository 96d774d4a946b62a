// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// Who is primary the engines say; the group's status, which another controller writes later, counts where they say
// nothing. Where they disagree nobody is, and nobody is a secondary.
func TestRolesOfTheMoment(t *testing.T) {
	silent := replicaState{err: errors.New("silent")}
	for name, c := range map[string]struct {
		tukpub, quisec     replicaState
		status             string
		primary, secondary v1alpha1.ServerName
	}{
		"all agree":                   {role("PRIMARY"), role("SECONDARY"), "tukpub-0", "tukpub", "quisec"},
		"the status is late":          {role("SECONDARY"), role("PRIMARY"), "tukpub-0", "quisec", "tukpub"},
		"there is no status yet":      {role("SECONDARY"), role("PRIMARY"), "", "quisec", "tukpub"},
		"the former one is resolving": {role("RESOLVING"), role("PRIMARY"), "tukpub-0", "quisec", ""},
		"two say so":                  {role("PRIMARY"), role("PRIMARY"), "tukpub-0", "", ""},
		"nobody does":                 {role("SECONDARY"), role("SECONDARY"), "tukpub-0", "", ""},
		"it does not answer":          {silent, role("SECONDARY"), "tukpub-0", "tukpub", "quisec"},
		"nobody answers":              {silent, silent, "tukpub-0", "tukpub", "quisec"},
		"nobody knows":                {silent, role("SECONDARY"), "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t)
			s.w.replicas = map[v1alpha1.ServerName]replicaState{"tukpub": c.tukpub, "quisec": c.quisec}
			s.w.target.group.Status.Primary = c.status
			s.pass(time.Second)
			g.Expect(s.w.resolved.Roles[v1alpha1.RolePrimary]).To(Equal(c.primary))
			g.Expect(s.w.resolved.Roles[v1alpha1.RoleSecondary]).To(Equal(c.secondary))
		})
	}
}

// A fault of the primary strikes the one that is it when its time comes.
func TestAFaultOfThePrimary(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, kill())
	s.until(v1alpha1.DrillRunning)
	s.w.replicas = map[v1alpha1.ServerName]replicaState{"tukpub": role("SECONDARY"), "quisec": role("PRIMARY")}
	f := s.at(v1alpha1.FaultActive)
	g.Expect(f.Targets).To(ConsistOf("quisec"))
}
