// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
)

// identified is an engine that tells which group it has.
type identified struct {
	*engine
	id atomic.Value
}

func (e *identified) GroupID(string) string { return e.id.Load().(string) }

// An agent says by which orders it goes, until it does nothing for the group any more; and it remembers which group of
// the name it has seen, so that the mark of a former one does not count after its restart either.
func TestAnAgentSaysWhatItHasHeard(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := &identified{engine: &engine{run: "run1", exists: true}}
	e.id.Store("6A8B")
	secret, dir := make(changing), t.TempDir()
	h, err := holder.New(holder.Options{Target: mssql.Target{Namespace: "web", Server: "tukpub"}, PodUID: "pod1",
		Process: e, Engine: e, Peers: acquaintances{make(chan string, 10)}, Source: secret, StateDir: dir,
		Log: slog.New(slog.DiscardHandler)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(h.Status()).To(BeNil(), "nothing was looked at, so it does not say that it does nothing")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() { cancel(); g.Eventually(done, patience).Should(Receive()) })
	tell := func(group orders.Group) {
		data, err := group.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		secret <- map[string][]byte{orders.Key("content"): data}
	}
	status := func() holder.GroupStatus { return h.Status().(map[string]holder.GroupStatus)["content"] }
	group := orders.Group{Name: "content", Namespace: "web",
		Voters: []orders.Voter{{Site: "tukwila", Server: "https://127.0.0.1:1"}}}
	tell(group)
	g.Eventually(func() orders.State { return status().Orders }, patience).Should(Equal(orders.StateGiven))
	group.Ending, group.EndingID = true, "6A8B"
	tell(group)
	g.Eventually(func() holder.GroupStatus { return status() }, patience).
		Should(And(HaveField("Orders", orders.StateEnding), HaveField("EndingID", "6A8B")))

	e.id.Store("7C9D")
	g.Eventually(func() orders.State { return status().Orders }, patience).
		Should(Equal(orders.StateGiven), "the group that ends was another one")
	g.Eventually(func() string {
		content, _ := os.ReadFile(filepath.Join(dir, "orders.json"))
		return string(content)
	}, patience).Should(ContainSubstring(`"seenID":"7C9D"`))
	secret <- map[string][]byte{orders.EndedKey("content"): []byte("true")}
	g.Eventually(h.Status, patience).Should(BeEmpty())
}
