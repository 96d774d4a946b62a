// SPDX-License-Identifier: Apache-2.0

package holder_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/election/keeper"
	"geosql.dev/operator/internal/election/votes"
)

// volumes are an agent's own and the data volume, with the file of one group's promises on each.
type volumes struct{ own, data string }

func newVolumes(dir string) volumes {
	return volumes{own: filepath.Join(dir, "own", "promises.json"), data: filepath.Join(dir, "data", "promises.json")}
}

// agent keeps promises there, and writes none when the test is over.
func (v volumes) agent(t cleaner) *holder.Promises { return promises(t, v.own, v.data) }

// cleaner is a test, or one example of a property.
type cleaner interface{ Cleanup(f func()) }

func promises(t cleaner, own, data string) *holder.Promises {
	p := holder.NewPromises(own, data, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { p.Close(context.Background()) })
	return p
}

// former is an agent of a release that knows the data volume alone.
func (v volumes) former() holder.FileMemory { return holder.FileMemory{Path: v.data} }

func promised(term int64, to string) keeper.Remembered {
	return keeper.Remembered{Promise: keeper.Promise{Term: term, To: to}}
}

// A promise moves from the data volume at the agent's first start, and a copy stays where former releases look.
func TestPromisesMoveToTheAgentsOwnVolume(t *testing.T) {
	g := NewWithT(t)
	v := newVolumes(t.TempDir())
	before := promised(7, "quisec-0")
	before.Followed, before.Cleared, before.Sent = 5, 4, "tukpub-0/pod/run"
	g.Expect(v.former().Save(before)).To(Succeed())
	p := v.agent(t)
	g.Expect(p.Load()).To(Equal(before))
	g.Expect(holder.FileMemory{Path: v.own}.Load()).To(Equal(before), "it is there before it is gone by")
	g.Expect(p.Save(promised(8, "dubasy-0"))).To(Succeed())
	g.Expect(holder.FileMemory{Path: v.own}.Load()).To(Equal(promised(8, "dubasy-0")))
	p.Close(t.Context())
	g.Expect(v.former().Load()).To(Equal(promised(8, "dubasy-0")))
	g.Expect(v.agent(t).Load()).To(Equal(promised(8, "dubasy-0")))
}

// Of two places that differ the newer one counts, whichever it is, and no promise of either is forgotten.
func TestTwoPlacesThatDiffer(t *testing.T) {
	older, newer := promised(7, "quisec-0"), promised(9, "tukpub-0")
	older.Followed, newer.Followed = 3, 6
	for name, tc := range map[string]struct {
		// spoil comes after the newer was saved by this release; outdated is the copy with the older.
		spoil func(g Gomega, v volumes, outdated []byte)
		want  func(r *keeper.Remembered)
	}{
		"ended before the copy": {func(g Gomega, v volumes, outdated []byte) {
			g.Expect(os.WriteFile(v.data, outdated, 0o600)).To(Succeed())
		}, func(r *keeper.Remembered) { r.Followed = 3 }},
		"the copy was given up": {func(g Gomega, v volumes, _ []byte) {
			g.Expect(os.WriteFile(v.data, nil, 0o600)).To(Succeed())
		}, func(*keeper.Remembered) {}},
		"the data were made anew": {func(g Gomega, v volumes, _ []byte) {
			g.Expect(os.Remove(v.data)).To(Succeed())
		}, func(r *keeper.Remembered) { r.Followed = 0 }},
		"the copy is torn": {func(g Gomega, v volumes, _ []byte) {
			g.Expect(os.WriteFile(v.data, []byte(`{"promise":{"term":12`), 0o600)).To(Succeed())
		}, func(r *keeper.Remembered) { r.Followed = 0 }},
		"the own volume was lost": {func(g Gomega, v volumes, _ []byte) {
			g.Expect(os.Remove(v.own)).To(Succeed())
		}, func(*keeper.Remembered) {}},
		"a former release went on": {func(g Gomega, v volumes, _ []byte) {
			r, err := v.former().Load()
			g.Expect(err).NotTo(HaveOccurred())
			r.Promise, r.Begun = keeper.Promise{Term: 11, To: "quisec-0"}, "f"
			g.Expect(v.former().Save(r)).To(Succeed())
		}, func(r *keeper.Remembered) { r.Promise, r.Begun = keeper.Promise{Term: 11, To: "quisec-0"}, "f" }},
		"a former release went on with an older copy": {func(g Gomega, v volumes, outdated []byte) {
			g.Expect(os.WriteFile(v.data, outdated, 0o600)).To(Succeed())
			r, err := v.former().Load()
			g.Expect(err).NotTo(HaveOccurred())
			r.Begun = "f"
			g.Expect(v.former().Save(r)).To(Succeed())
		}, func(r *keeper.Remembered) { r.Followed, r.Begun = 3, "f" }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v := newVolumes(t.TempDir())
			p := v.agent(t)
			g.Expect(p.Save(older)).To(Succeed())
			p.Close(t.Context())
			outdated, err := os.ReadFile(v.data)
			g.Expect(err).NotTo(HaveOccurred())
			p = v.agent(t)
			g.Expect(p.Save(newer)).To(Succeed())
			p.Close(t.Context())
			tc.spoil(g, v, outdated)
			want := newer
			tc.want(&want)
			for range 2 {
				p := v.agent(t)
				g.Expect(p.Load()).To(Equal(want))
				p.Close(t.Context())
				g.Expect(v.former().Load()).To(Equal(want), "the copy is as good")
			}
		})
	}
}

// Voters that a run made are remembered before they are in a vote: an older copy does not bring back the ones before.
func TestVotersAreNotForgotten(t *testing.T) {
	g := NewWithT(t)
	v := newVolumes(t.TempDir())
	p := v.agent(t)
	g.Expect(p.Save(promised(7, "quisec-0"))).To(Succeed())
	p.Close(t.Context())
	outdated, err := os.ReadFile(v.data)
	g.Expect(err).NotTo(HaveOccurred())
	p = v.agent(t)
	r := promised(7, "quisec-0")
	r.Voters = &votes.Configuration{Term: 7, Number: 2, Voters: []string{"a", "b", "c"}}
	r.VotersBy = "tukpub-0/pod/run"
	g.Expect(p.Save(r)).To(Succeed())
	p.Close(t.Context())
	g.Expect(os.WriteFile(v.data, outdated, 0o600)).To(Succeed())
	r.Begun = "f"
	g.Expect(v.former().Save(keeper.Remembered{Promise: r.Promise, Begun: "f"})).To(Succeed())
	g.Expect(v.agent(t).Load()).To(Equal(r))
}

// Nothing to go by is no beginning anew where something was: neither place can be read.
func TestPromisesThatNeitherPlaceHasAreAnError(t *testing.T) {
	g := NewWithT(t)
	v := newVolumes(t.TempDir())
	p := v.agent(t)
	g.Expect(p.Load()).To(BeZero(), "nothing was ever saved")
	g.Expect(p.Save(promised(7, "quisec-0"))).To(Succeed())
	p.Close(t.Context())
	g.Expect(os.Remove(v.own)).To(Succeed())
	g.Expect(os.WriteFile(v.data, nil, 0o600)).To(Succeed())
	_, err := v.agent(t).Load()
	g.Expect(err).To(MatchError(ContainSubstring("read the promises in " + v.data)))
	g.Expect(v.agent(t).Save(promised(6, "tukpub-0"))).NotTo(Succeed())
	g.Expect(os.WriteFile(v.own, []byte("{"), 0o600)).To(Succeed())
	_, err = v.agent(t).Load()
	g.Expect(err).To(MatchError(ContainSubstring("read the promises in " + v.own)))
}

// Agents of this release and of a former one take turns and end between any two steps, volumes are made anew one at a
// time: what was promised last is known to whoever of this release begins next.
func TestNoPromiseIsForgotten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := NewWithT(rt)
		dir, err := os.MkdirTemp(t.TempDir(), "")
		g.Expect(err).NotTo(HaveOccurred())
		v := newVolumes(dir)
		var highest int64
		// whole tells that the copy has all that was promised: losing the other place then loses nothing.
		whole := true
		copyOf := func() []byte { content, _ := os.ReadFile(v.data); return content }
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"promise", "promise", "interrupted", "full", "former", "lost", "anew"}).
				Draw(rt, "step") {
			case "promise":
				p := v.agent(rt)
				for range rapid.IntRange(0, 2).Draw(rt, "promises") {
					r, err := p.Load()
					g.Expect(err).NotTo(HaveOccurred())
					r.Promise.Term++
					g.Expect(p.Save(r)).To(Succeed())
					highest = r.Promise.Term
				}
				p.Close(rt.Context())
				whole = string(copyOf()) != ""
			case "interrupted", "full":
				// The agent ends after its own file is there and before the copy is, or that was given up.
				full := rapid.Bool().Draw(rt, "given up")
				p := v.agent(rt)
				r, err := p.Load()
				g.Expect(err).NotTo(HaveOccurred())
				before, readErr := os.ReadFile(v.data)
				r.Promise.Term++
				g.Expect(p.Save(r)).To(Succeed())
				highest, whole = r.Promise.Term, false
				p.Close(rt.Context())
				switch {
				case full:
					g.Expect(os.WriteFile(v.data, nil, 0o600)).To(Succeed())
				case readErr != nil:
					g.Expect(os.Remove(v.data)).To(Succeed())
				default:
					g.Expect(os.WriteFile(v.data, before, 0o600)).To(Succeed())
				}
			case "former":
				r, err := v.former().Load()
				if err != nil {
					break // It keeps out of elections.
				}
				r.Promise.Term++
				g.Expect(v.former().Save(r)).To(Succeed())
				highest = max(highest, r.Promise.Term)
				whole = whole && r.Promise.Term >= highest
			case "lost":
				if whole {
					g.Expect(os.RemoveAll(filepath.Dir(v.own))).To(Succeed())
				}
			case "anew":
				// Without the own file the data were the only place, as before there was one.
				if own, err := (holder.FileMemory{Path: v.own}).Load(); err == nil && own.Promise.Term == highest {
					g.Expect(os.RemoveAll(filepath.Dir(v.data))).To(Succeed())
					whole = highest == 0
				}
			}
			p := v.agent(rt)
			r, err := p.Load()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Promise.Term).To(Equal(highest))
			p.Close(rt.Context())
			whole = whole || len(copyOf()) > 0
		}
	})
}
