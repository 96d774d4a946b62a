// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

// modes are sizes of snapshots above which no chunks are listed.
var modes = map[string]int64{"in chunks": maxChunked, "of a large snapshot": 1 << 20}

// attendant keeps mirrors whose files a person brings below a folder, into which it looks often.
func (p *pair) attendant(t *testing.T) *Mirrors {
	t.Helper()
	m := p.keeper()
	m.brought, m.look = t.TempDir(), 5*time.Millisecond
	return m
}

// manual is the order of such a mirror.
func (p *pair) manual() orders.Mirror {
	order := p.order
	order.Manual = "disks/articles"
	return order
}

// lacks are the files that a mirror says are not here.
func lacks(m *Mirrors) func() []Lack {
	return func() []Lack {
		if s := m.Statuses()[0]; s.State == Awaiting && s.Brought != nil {
			return s.Brought.Lacking
		}
		return nil
	}
}

// What a person brings is taken once it is the snapshot's. The source is asked for the list of the files alone, and
// once; what the person has brought stays as it is.
func TestFilesThatAPersonBrings(t *testing.T) {
	for name, chunked := range modes {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			p.server.chunked = chunked
			var mu sync.Mutex
			var asked []string
			p.before = func(_ http.ResponseWriter, r *http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, r.Method+" "+r.URL.Path)
				return false
			}
			contents := map[string][]byte{"Article_2.bcp": random(1, 6<<20), "Article_3.bcp": random(2, 3<<20),
				"sub/Article_2.sch": []byte("x")}
			p.snapshot(t, first, contents)
			m := p.attendant(t)
			m.Set(t.Context(), []orders.Mirror{p.manual()})
			g.Eventually(lacks(m), soon).Should(ConsistOf(Lack{"Article_2.bcp", Missing}, Lack{"Article_3.bcp", Missing},
				Lack{"sub/Article_2.sch", Missing}))
			folder := filepath.Join(m.brought, "disks", "articles")
			g.Expect(folder).To(BeADirectory(), "somebody is to fill it")
			list := sha256.New()
			for _, name := range slices.Sorted(maps.Keys(contents)) {
				fmt.Fprintf(list, "%x  %s\n", sha256.Sum256(contents[name]), name)
			}
			g.Expect(m.Statuses()[0]).To(And(HaveField("Total", int64(9<<20+1)), HaveField("Bytes", BeZero()),
				HaveField("Brought.Folder", "unc/pub_db_articles/"+first), HaveField("Brought.Files", 3),
				HaveField("Brought.LackingFiles", 3), HaveField("Brought.Manifest", fmt.Sprintf("%x", list.Sum(nil)))))

			flipped := bytes.Clone(contents["Article_3.bcp"])
			flipped[100] ^= 1
			disk := map[string][]byte{"Article_2.bcp": contents["Article_2.bcp"], "Article_3.bcp": flipped}
			put(t, filepath.Join(folder, "disk-1"), disk)
			g.Eventually(lacks(m), soon).Should(ConsistOf(Lack{"Article_3.bcp", Differs}, Lack{"sub/Article_2.sch", Missing}))
			g.Expect(m.Statuses()[0].Bytes).To(BeNumerically(">=", 6<<20), "what is whole is taken")
			g.Expect(p.at(first)).NotTo(BeAnExistingFile(), "an agent would apply it")
			for name, content := range disk {
				got, err := os.ReadFile(filepath.Join(folder, "disk-1", name))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(bytes.Equal(got, content)).To(BeTrue(), name)
			}
			g.Expect(os.RemoveAll(filepath.Join(folder, "disk-1"))).To(Succeed())
			g.Eventually(lacks(m), soon).Should(ConsistOf(Lack{"Article_3.bcp", Missing}, Lack{"sub/Article_2.sch", Missing}))

			put(t, folder, map[string][]byte{"under another name": contents["Article_3.bcp"], "sub/Article_2.sch": []byte("x")})
			status := p.mirrored(t, m, first, contents)
			g.Expect(status).To(And(HaveField("MovedBytes", BeZero()), HaveField("ReusedBytes", status.Total),
				HaveField("Bytes", status.Total), HaveField("Brought.LackingFiles", 0), HaveField("Brought.Lacking", BeEmpty())))
			g.Expect(filepath.Join(folder, "under another name")).To(BeARegularFile())
			entries, err := os.ReadDir(p.at(first))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(entries).To(HaveLen(3), "nothing but the snapshot's files")
			g.Eventually(m.index.Len, soon).Should(BeZero(), "nothing is remembered of what was brought")
			mu.Lock()
			defer mu.Unlock()
			g.Expect(asked).To(HaveExactElements("GET " + Pattern + "pub_db_articles"))
		})
	}
}

// What an older snapshot has, which the mirror has, is not waited for.
func TestOnlyWhatIsNewIsBrought(t *testing.T) {
	for name, chunked := range modes {
		for begun, folder := range map[string]string{"of a whole one": first, "of one that was begun": partialName(first)} {
			t.Run(name+" "+begun, func(t *testing.T) {
				g := NewWithT(t)
				p := newPair(t)
				p.server.chunked = chunked
				before := map[string][]byte{"Article_2.bcp": random(1, 8<<20), "Article_3.bcp": random(2, 1<<20)}
				put(t, p.at(folder), before)
				p.snapshot(t, first, before)
				contents := map[string][]byte{"Article_2.bcp": before["Article_2.bcp"], "Article_3.bcp": random(3, 1<<20)}
				p.snapshot(t, next, contents)
				order := p.manual()
				order.Generation = "2026-11-20T11:30:00"
				m := p.attendant(t)
				m.Set(t.Context(), []orders.Mirror{order})
				g.Eventually(lacks(m), soon).Should(ConsistOf(Lack{"Article_3.bcp", Missing}))
				put(t, filepath.Join(m.brought, order.Manual), map[string][]byte{"Article_3.bcp": contents["Article_3.bcp"]})
				p.mirrored(t, m, next, contents)
			})
		}
	}
}

// Wherever the sidecar is killed, the next one ends with the snapshot in place.
func TestAMirrorOfWhatIsBroughtThatIsKilledAtEachStep(t *testing.T) {
	steps := map[string][]string{"in chunks": {"found", "copied", "verified", "tidied", "recorded", "in place"},
		"of a large snapshot": {"taken", "recorded", "in place"}}
	for name, chunked := range modes {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			p.server.chunked = chunked
			contents := map[string][]byte{"a.bcp": random(1, 2<<20), "b.bcp": random(2, 2<<20), "c.sch": []byte("x")}
			p.snapshot(t, first, contents)
			brought := t.TempDir()
			put(t, filepath.Join(brought, p.manual().Manual), contents)
			killed := errors.New("killed")
			met := map[string]bool{}
			for life := 0; ; life++ {
				g.Expect(life).To(BeNumerically("<", 20))
				m := p.attendant(t)
				m.brought = brought
				m.at = func(step string) error {
					if !met[step] {
						met[step] = true
						return killed
					}
					return nil
				}
				one := &mirror{order: p.manual(), meter: transfer.NewMeter()}
				m.running["dublin"], m.statuses["dublin"] = one, Status{}
				v := &visit{mirrors: m}
				err := v.copy(t.Context(), one, 0)
				if errors.Is(err, errAwaited) {
					err = v.copy(t.Context(), one, 0) // the second look knows what is whole
				}
				if err == nil {
					p.mirrored(t, m, first, contents)
					break
				}
				g.Expect(err).To(MatchError(killed))
				if met["recorded"] {
					// All was whole, so that the disk may have gone on.
					g.Expect(os.RemoveAll(filepath.Join(brought, p.manual().Manual))).To(Succeed())
				}
			}
			for _, step := range steps[name] {
				g.Expect(met).To(HaveKey(step))
			}
			g.Expect(p.sent.Load()).To(BeNumerically("<", 1<<20), "lists alone")
		})
	}
}

// A file that is being written is not looked through, and hidden ones, as tools that copy make them, never are.
func TestFilesThatAreBeingWritten(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	v := &visit{mirrors: p.attendant(t)}
	folder := filepath.Join(v.mirrors.brought, p.manual().Manual)
	look := func() []string {
		t.Helper()
		f, err := v.look(p.manual())
		g.Expect(err).NotTo(HaveOccurred())
		return slices.Sorted(maps.Keys(f.whole))
	}
	g.Expect(look()).To(BeEmpty(), "nothing is there yet")
	put(t, folder, map[string][]byte{"a": []byte("1"), ".b.Xy12": []byte("2")})
	g.Expect(look()).To(BeEmpty())
	put(t, folder, map[string][]byte{"below/c": []byte("3")})
	g.Expect(look()).To(ConsistOf("a"))
	put(t, folder, map[string][]byte{"a": []byte("more of it")})
	g.Expect(look()).To(ConsistOf("below/c"))
	g.Expect(look()).To(ConsistOf("a", "below/c"))
}

// A file that may not be read is named as such, and of many the first.
func TestWhyFilesAreLacking(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	put(t, dir, map[string][]byte{"disk/b": []byte("x")})
	f := filled{dir: dir, whole: map[string]found{"disk/b": {1, 1}, "c": {1, 1}}}
	g.Expect(f.lacks([]string{"a", "b", "c"})).To(HaveExactElements(Lack{"a", Missing}, Lack{"b", Differs},
		Lack{"c", Unreadable}))
	g.Expect(f.lacks(make([]string, 100))).To(HaveLen(mostLacking))
}

// Orders name no folder but one below that for what people bring, and no link leads elsewhere.
func TestFoldersElsewhere(t *testing.T) {
	p := newPair(t)
	contents := map[string][]byte{"a": []byte("x")}
	p.snapshot(t, first, contents)
	elsewhere := t.TempDir()
	link := func(t *testing.T, name string) {
		t.Helper()
		NewWithT(t).Expect(os.Symlink(elsewhere, name)).To(Succeed())
	}
	const none = "no folder for files that a person brings"
	for name, c := range map[string]struct {
		change func(*testing.T, *Mirrors, *orders.Mirror)
		says   string
	}{
		"above":              {func(_ *testing.T, _ *Mirrors, o *orders.Mirror) { o.Manual = "../mirror" }, none},
		"from the root":      {func(_ *testing.T, _ *Mirrors, o *orders.Mirror) { o.Manual = "/etc" }, none},
		"nothing to look in": {func(_ *testing.T, m *Mirrors, _ *orders.Mirror) { m.brought = "" }, none},
		"by a link above": {func(t *testing.T, m *Mirrors, _ *orders.Mirror) {
			link(t, filepath.Join(m.brought, "disks"))
		}, "escapes"},
		"by a link in place of all": {func(t *testing.T, m *Mirrors, _ *orders.Mirror) {
			m.brought = filepath.Join(m.brought, "brought")
			link(t, m.brought)
		}, "escapes"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m, order := p.attendant(t), p.manual()
			c.change(t, m, &order)
			m.Set(t.Context(), []orders.Mirror{order})
			g.Eventually(failing(t, m), soon).Should(ContainSubstring(c.says))
			entries, err := os.ReadDir(elsewhere)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(entries).To(BeEmpty(), "nothing is made there")
		})
	}
}

// What was fetched of a file is not thrown away while a person is to bring it, and is not taken for all of it: a file
// of which parts are missing has its size.
func TestWhatWasFetchedInPartStays(t *testing.T) {
	g := NewWithT(t)
	p := newPair(t)
	p.server.chunked = modes["of a large snapshot"]
	content := random(1, 20<<20)
	p.snapshot(t, first, map[string][]byte{"a.bcp": content})
	dir := p.at(partialName(first))
	g.Expect(os.MkdirAll(dir, 0o770)).To(Succeed())
	file := File{Path: "a.bcp", Size: 20 << 20, SHA256: fmt.Sprintf("%x", sha256.Sum256(content))}
	f, err := openPartial(dir, file, nil)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = f.handle.WriteAt(content[:partSize], 0)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.mark(f.missing()[0])).To(Succeed())
	f.close()
	m := p.attendant(t)
	m.Set(t.Context(), []orders.Mirror{p.manual()})
	g.Eventually(lacks(m), soon).Should(ConsistOf(Lack{"a.bcp", Missing}))
	g.Expect(m.Statuses()[0].Bytes).To(BeZero())
	m.Set(t.Context(), []orders.Mirror{p.order})
	p.mirrored(t, m, first, map[string][]byte{"a.bcp": content})
	g.Expect(p.sent.Load()).To(BeNumerically("<", 20<<20-partSize+1<<20), "what was fetched is not sent again")
}

// On a volume on which backups of logs need what is free nothing is copied, and nothing makes room that was brought of
// an older snapshot. It goes on when there is room.
func TestWhatIsBroughtToAFullVolume(t *testing.T) {
	for name, chunked := range modes {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			p.server.chunked = chunked
			contents := map[string][]byte{"a.bcp": random(1, 4<<20), "b.bcp": random(2, 1<<20)}
			p.snapshot(t, next, contents)
			older := p.at(partialName(first))
			put(t, older, map[string][]byte{"b.bcp": contents["b.bcp"]})
			order := p.manual()
			order.Generation = "2026-11-20T11:30:00"
			m := p.attendant(t)
			var free atomic.Int64
			free.Store(5 << 30)
			m.volume = func(string) (int64, int64, error) { return 100 << 30, free.Load(), nil }
			put(t, filepath.Join(m.brought, order.Manual), map[string][]byte{"a.bcp": contents["a.bcp"]})
			m.Set(t.Context(), []orders.Mirror{order})
			g.Eventually(failing(t, m), soon).Should(ContainSubstring("backups of logs keep"))
			g.Expect(m.Statuses()[0].Bytes).To(BeZero())
			g.Expect(filepath.Join(older, "b.bcp")).To(BeARegularFile())
			free.Store(50 << 30)
			p.mirrored(t, m, next, contents)
			g.Expect(older).NotTo(BeADirectory())
		})
	}
}

// What was taken is put in place after a failure, also when the folder is again as it was before: the disk is gone.
func TestWhatWasTakenIsPutInPlace(t *testing.T) {
	for name, chunked := range modes {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPair(t)
			p.server.chunked = chunked
			contents := map[string][]byte{"a.bcp": random(1, 2<<20)}
			p.snapshot(t, first, contents)
			m := p.attendant(t)
			broken := errors.New("broken")
			failed := false
			m.at = func(step string) error {
				if step != "recorded" || failed {
					return nil
				}
				failed = true
				return broken
			}
			one := &mirror{order: p.manual(), meter: transfer.NewMeter()}
			m.running["dublin"], m.statuses["dublin"] = one, Status{}
			v := &visit{mirrors: m}
			folder := filepath.Join(m.brought, p.manual().Manual)
			g.Expect(v.copy(t.Context(), one, 0)).To(MatchError(errAwaited))
			put(t, folder, contents)
			g.Expect(v.copy(t.Context(), one, 0)).To(MatchError(errAwaited), "it may be being written")
			g.Expect(v.copy(t.Context(), one, 0)).To(MatchError(broken))
			g.Expect(os.RemoveAll(folder)).To(Succeed())
			g.Expect(v.copy(t.Context(), one, 0)).To(Succeed())
			p.mirrored(t, m, first, contents)
		})
	}
}

// A snapshot that another mirror of the server has fetched need not be brought, and one that is fetched after all goes
// on with what was brought.
func TestWhatIsFetchedNeedNotBeBrought(t *testing.T) {
	contents := map[string][]byte{"a.bcp": random(1, 8<<20), "b.bcp": random(2, 1<<20)}
	ways := map[string]func(p *pair) []orders.Mirror{
		"beside": func(p *pair) []orders.Mirror {
			other := p.order
			other.Subscription = "cork"
			return []orders.Mirror{p.manual(), other}
		},
		"after all": func(p *pair) []orders.Mirror { return []orders.Mirror{p.order} },
	}
	for mode, chunked := range modes {
		for name, then := range ways {
			t.Run(mode+" "+name, func(t *testing.T) {
				g := NewWithT(t)
				p := newPair(t)
				p.server.chunked = chunked
				p.snapshot(t, first, contents)
				m := p.attendant(t)
				put(t, filepath.Join(m.brought, p.manual().Manual), map[string][]byte{"a.bcp": contents["a.bcp"]})
				m.Set(t.Context(), []orders.Mirror{p.manual()})
				g.Eventually(lacks(m), soon).Should(ConsistOf(Lack{"b.bcp", Missing}))
				m.Set(t.Context(), then(p))
				g.Eventually(m.Statuses, soon).Should(HaveEach(HaveField("State", Verified)))
				p.mirrored(t, m, first, contents)
				g.Expect(p.sent.Load()).To(BeNumerically("<", 4<<20), "what was brought is not sent")
				entries, err := os.ReadDir(p.at(first))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(entries).To(HaveLen(2), "nothing but the snapshot's files")
			})
		}
	}
}
