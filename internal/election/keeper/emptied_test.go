// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// The agent of a replica that follows a forced failover begins again after its copy on a full data volume was given up.
// The data are the same: the replica is not quarantined for the log that it has from the new primary, and can be
// elected.
func TestAReplicaWhoseCopyWasGivenUpGoesOn(t *testing.T) {
	w, g, line := forced(t)
	back := w.servers[0]
	w.ask(votes.Request{ID: "j", Kind: votes.RequestRejoin, To: names[0]})
	w.live(20)
	g.Expect(back.memory).To(And(HaveField("Cleared", line.Term), HaveField("Followed", line.Term)))
	dir := t.TempDir()
	own, data := filepath.Join(dir, "own", "promises.json"), filepath.Join(dir, "data", "promises.json")
	p := holder.NewPromises(own, data, slog.New(slog.DiscardHandler))
	g.Expect(p.Save(back.memory)).To(Succeed())
	p.Close(t.Context())
	g.Expect(os.Truncate(data, 0)).To(Succeed())
	p = holder.NewPromises(own, data, slog.New(slog.DiscardHandler))
	recalled, err := p.Load()
	g.Expect(err).NotTo(HaveOccurred())
	p.Close(t.Context())

	back.memory = recalled
	back.startAgent()
	w.live(5)
	g.Expect(back.memory.Quarantined).To(BeZero())
	w.ask(votes.Request{ID: "s", Kind: votes.RequestSwitchover, To: names[0]})
	w.live(10)
	g.Expect(back.run.role).To(Equal(ballot.RolePrimary))
}
