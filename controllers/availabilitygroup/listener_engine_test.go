// SPDX-License-Identifier: Apache-2.0

//go:build integration

package availabilitygroup

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	engines "geosql.dev/operator/test/support/engine"
)

// An engine gets its listener whichever of the addresses it takes, and says which one it has.
func TestAListenerForEveryEngine(t *testing.T) {
	for name, c := range map[string]struct {
		answers  []string
		ip, mask string
	}{
		"any address":       {ip: "10.96.7.7", mask: listenerMask},
		"one of a subnet":   {answers: []string{"hadr.listener-takes-a-subnet"}, ip: "10.96.7.7", mask: "255.255.255.0"},
		"no address at all": {answers: []string{"hadr.listener-takes-no-address"}, ip: anyAddress, mask: anyAddress},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := engines.Start(t, "web", "tukpub", engines.Answers(c.answers...))
			sa, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(sa.Exec(t.Context(), tsql.CreateGroup(tsql.Group{
				Name: "content", ClusterType: tsql.ClusterExternal, WriteLease: time.Hour,
				Replicas: []tsql.Replica{
					{Server: host("tukpub"), EndpointURL: endpointURL("tukpub"), Mode: tsql.SynchronousCommit},
				},
			}))).To(Succeed())
			step := AddListener{Server: "tukpub", Group: "content", Name: "content", IP: "10.96.7.7", Port: 1433}
			g.Expect(firstTaken(step.forms(), func(form mssql.Execute) error {
				return sa.Exec(t.Context(), form.Statement)
			})).To(Succeed())
			group, err := mssql.ReadGroup(t.Context(), sa, "content")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(group.Listeners).To(HaveExactElements(
				mssql.GroupListener{Name: "content", IP: c.ip, Mask: c.mask, Port: 1433}))
			g.Expect(group.ReplicaIDs).To(HaveKey("tukpub-0"))
			g.Expect(group.Replica("tukpub-0").Health).To(Equal("NOT_HEALTHY"), "an empty group")
			g.Expect(group.Lagging("tukpub-0")).To(BeEmpty())
			mirroring, err := mssql.ReadMirroring(t.Context(), sa)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(mirroring.EngineEdition).To(Equal(mssql.EngineEditionEnterprise))
			g.Expect(mirroring.Groups).To(Equal([]string{"content"}))
		})
	}
}
