// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

const mebibyte = 1 << 20

// bound bounds staging by so many MiB, with watermarks of 80 and 40 %.
func (s *stage) bound(t *testing.T, quota int64) {
	t.Helper()
	s.m.Bound(transfer.Staging{Quota: quota * mebibyte, High: 80, Low: 40})
}

// claims are so many mirrors that have been promised room.
func (s *stage) claims() int {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return len(s.m.staging.claims)
}

// stage is a folder of mirrors with a clock, at which an order for another publication has been told, with a quota.
type stage struct {
	*pair

	m     *Mirrors
	now   time.Time
	order orders.Mirror
}

func newStage(t *testing.T, quota int64) *stage {
	t.Helper()
	s := &stage{pair: newPair(t), now: time.Now()}
	s.m = s.keeper()
	s.m.staging.now = func() time.Time { return s.now }
	s.order = s.pair.order
	s.order.Generation = ""
	s.bound(t, quota)
	s.m.Set(t.Context(), []orders.Mirror{s.order})
	return s
}

// gone is a path in the mirror of a publication that no order names.
func (s *stage) gone(name ...string) string {
	return filepath.Join(append([]string{s.mirrors, "dist-0", tree, "gone_db_articles"}, name...)...)
}

// brought puts a whole snapshot, with its record, so many MiB large.
func (s *stage) brought(t *testing.T, stamp string, size int) {
	t.Helper()
	g := NewWithT(t)
	put(t, s.gone(stamp), map[string][]byte{"sub/Article_2.bcp": random(3, size*mebibyte)})
	record, err := transfer.NewRecord(s.gone(stamp), []File{{Path: "sub/Article_2.bcp", Size: int64(size * mebibyte)}})
	g.Expect(err).NotTo(HaveOccurred())
	content, err := record.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	put(t, s.gone(), map[string][]byte{recordName(stamp): content})
}

// later has time pass; what was written was written before.
func (s *stage) later(d time.Duration) { s.now = s.now.Add(d) }

// Above the high watermark what no order has named for an hour goes, the oldest first, down to the low one. All else
// stays: what orders name, what a person put there, and what others have there.
func TestMirrorsAreCleaned(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, 10)
	s.brought(t, first, 2)
	put(t, s.gone(partialName(next)), map[string][]byte{"Article_2.bcp": random(4, 2*mebibyte)})
	old := s.now.Add(-30 * time.Minute)
	g.Expect(os.Chtimes(s.gone(partialName(next), "Article_2.bcp"), old, old)).To(Succeed())
	g.Expect(os.Chtimes(s.gone(partialName(next)), old, old)).To(Succeed())
	kept := []string{
		s.at(partialName(first)), s.at(partialName(next)), // an order names them
		s.gone("20261120070000"), s.gone(".20261120070000.aside0"), // nobody knows that a sidecar brought them
		s.gone("theirs"), filepath.Join(s.mirrors, "dist-0", seedFolder, "disk"),
		filepath.Join(s.mirrors, "dist-0", "other", "x"),
		filepath.Join(s.snapshots, tree, "own_db", partialName(first)), // the server's own, by a link
	}
	for _, dir := range kept {
		put(t, dir, map[string][]byte{"Article_2.bcp": random(1, 2*mebibyte)})
	}
	g.Expect(os.Symlink(s.snapshots, filepath.Join(s.mirrors, "quisec-0"))).To(Succeed())

	s.later(time.Second) // by now all is written
	g.Expect(s.m.Staging()).To(BeNil(), "nobody has looked")
	g.Expect(s.m.tendOnce()).To(Succeed())
	g.Expect(s.m.Staging()).To(And(HaveField("UsedBytes", BeNumerically("~", 10*mebibyte, 64<<10)),
		HaveField("WaitingBytes", BeNumerically("~", 4*mebibyte, 64<<10)), HaveField("Cleaned", BeNil())))
	s.later(59 * time.Minute)
	g.Expect(s.m.tendOnce()).To(Succeed())
	g.Expect(s.gone(first)).To(BeADirectory(), "an order may come yet")

	s.later(2 * time.Minute)
	s.m.doubt()
	g.Expect(s.m.tendOnce()).To(Succeed())
	g.Expect(s.gone(first)).To(BeADirectory(), "an order that cannot be read may name it")

	s.m.Set(t.Context(), []orders.Mirror{s.order})
	s.later(61 * time.Minute)
	s.m.staging.bounds.Low = 80
	g.Expect(s.m.tendOnce()).To(Succeed())
	g.Expect(s.gone(partialName(next))).NotTo(BeADirectory(), "the oldest goes")
	g.Expect(s.gone(first)).To(BeADirectory(), "the low watermark is kept")
	g.Expect(s.m.Staging().Cleaned).To(HaveField("Bytes", BeNumerically("~", 2*mebibyte, 64<<10)))

	s.m.staging.bounds.High, s.m.staging.bounds.Low = 50, 40
	g.Expect(s.m.tendOnce()).To(Succeed())
	g.Expect(s.gone(first)).NotTo(BeADirectory())
	g.Expect(s.gone(recordName(first))).NotTo(BeAnExistingFile())
	g.Expect(s.gone(partialName(first))).NotTo(BeADirectory())
	for _, dir := range kept {
		g.Expect(filepath.Join(dir, "Article_2.bcp")).To(BeARegularFile(), dir)
	}
	g.Expect(s.m.Staging()).To(And(HaveField("UsedBytes", BeNumerically(">", 5*mebibyte)),
		HaveField("WaitingBytes", BeZero())), "and the alarm goes on")
	s.later(cleanedFor)
	g.Expect(s.m.Staging().Cleaned).To(BeNil())
}

// Without a quota nothing is looked at, and nothing goes.
func TestMirrorsWithoutAQuota(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, 0)
	s.brought(t, first, 2)
	s.later(5 * time.Hour)
	g.Expect(s.m.tendOnce()).To(Succeed())
	g.Expect(s.m.Staging()).To(BeNil())
	g.Expect(s.gone(first)).To(BeADirectory())
	g.Expect(testutil.CollectAndCount(stagingMetrics{s.m})).To(Equal(1))
}

// A whole snapshot in which anything is not as a sidecar left it is somebody's.
func TestWhatWasChangedSinceStays(t *testing.T) {
	for name, change := range map[string]func(s *stage) error{
		"a file more": func(s *stage) error { return os.WriteFile(s.gone(first, "theirs"), []byte("x"), 0o600) },
		"another time": func(s *stage) error {
			return os.Chtimes(s.gone(first, "sub", "Article_2.bcp"), s.now.Add(-9*time.Hour), s.now.Add(-9*time.Hour))
		},
		"another size": func(s *stage) error { return os.Truncate(s.gone(first, "sub", "Article_2.bcp"), 5) },
		"a record that cannot be read": func(s *stage) error {
			return os.WriteFile(s.gone(recordName(first)), []byte("{"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, 2)
			s.brought(t, first, 2)
			put(t, s.gone(partialName(next)), map[string][]byte{"Article_2.bcp": random(4, 2*mebibyte)})
			g.Expect(change(s)).To(Succeed())
			s.later(5 * time.Hour)
			g.Expect(s.m.tendOnce()).To(Succeed())
			g.Expect(s.gone(first)).To(BeADirectory())
			g.Expect(s.gone(partialName(next))).NotTo(BeADirectory(), "it keeps nothing else")
		})
	}
}

// What is left of a removal that was broken off is not taken for a snapshot, and goes with the next look.
func TestARemovalThatIsBrokenOff(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, 1)
	s.brought(t, first, 2)
	s.later(5 * time.Hour)
	s.m.removeAll = func(string) error { return errors.New("killed") }
	g.Expect(s.m.tendOnce()).To(Succeed())
	g.Expect(s.gone(first)).NotTo(BeADirectory())
	g.Expect(s.gone(recordName(first))).NotTo(BeAnExistingFile())
	g.Expect(s.gone(partialName(first))).To(BeADirectory())
	g.Expect(s.m.Staging().Cleaned).To(BeNil())
	s.m.removeAll = os.RemoveAll
	s.later(5 * time.Hour)
	g.Expect(s.m.tendOnce()).To(Succeed())
	g.Expect(s.gone(partialName(first))).NotTo(BeADirectory())
}

// An order that comes between the choice and the removal keeps what it names, and so does a mirror that is at it.
func TestAnOrderThatComesMeanwhile(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, 1)
	put(t, s.gone(partialName(first)), map[string][]byte{"Article_2.bcp": random(4, 2*mebibyte)})
	s.later(5 * time.Hour)
	all, err := s.m.see()
	g.Expect(err).NotTo(HaveOccurred())
	chosen := choose(all, s.m.naming, s.now, 0)
	g.Expect(chosen).To(HaveLen(1))
	leave, err := s.m.enter(t.Context(), s.gone())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.m.discard(chosen[0])).To(BeFalse())
	leave()
	other := s.order
	other.Subscription, other.Folder = "quincy", strings.ToUpper("gone_db_articles")
	s.m.Set(t.Context(), []orders.Mirror{s.order, other})
	g.Expect(s.m.discard(chosen[0])).To(BeFalse())
	g.Expect(s.gone(partialName(first))).To(BeADirectory())
	s.m.Set(t.Context(), []orders.Mirror{s.order})
	g.Expect(s.m.discard(chosen[0])).To(BeFalse(), "an order named it a moment ago")
	s.later(2 * time.Hour)
	g.Expect(s.m.discard(chosen[0])).To(BeTrue())
	g.Expect(s.gone(partialName(first))).NotTo(BeADirectory())
}

// A snapshot that does not fit waits, says which quota would have it, and comes by itself when that is given.
func TestATransferThatIsBlocked(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, 5)
	contents := map[string][]byte{"Article_2.bcp": random(1, 6*mebibyte)}
	s.snapshot(t, first, contents)
	put(t, s.at(partialName(first)), map[string][]byte{"Article_2.bcp": contents["Article_2.bcp"][:mebibyte]})
	s.order.Generation = s.pair.order.Generation
	s.m.Set(t.Context(), []orders.Mirror{s.order})
	g.Eventually(s.m.Statuses, soon).Should(ContainElement(And(HaveField("State", Failing),
		HaveField("Message", ContainSubstring("stagingQuota of the subscriber's Site to 1Gi at least")))))
	g.Expect(s.m.Staging().Blocked).To(ConsistOf(And(HaveField("Subscription", "dublin"), HaveField("Snapshot", first),
		HaveField("Bytes", int64(6*mebibyte)), HaveField("QuotaBytes", int64(5*mebibyte)),
		HaveField("NeededBytes", BeNumerically("~", 6*mebibyte, 64<<10)))))
	g.Expect(s.at(partialName(first), "Article_2.bcp")).To(BeARegularFile(), "it is gone on with")
	g.Expect(testutil.CollectAndCount(stagingMetrics{s.m}, stagingBlocked.Name)).To(Equal(1))
	g.Expect(testutil.CollectAndCompare(stagingMetrics{s.m}, strings.NewReader(`
# HELP geosql_agent_staging_high_watermark_bytes Bytes above which what no order needs is removed from the mirrors.
# TYPE geosql_agent_staging_high_watermark_bytes gauge
geosql_agent_staging_high_watermark_bytes 4.194304e+06
`), stagingHigh.Name)).To(Succeed())

	s.bound(t, 7)
	s.mirrored(t, s.m, first, contents)
	g.Expect(s.m.Staging().Blocked).To(BeEmpty())
	g.Expect(s.claims()).To(BeZero())
}

// A transfer that has no room takes that of what no order needs, and of what was begun of older snapshots; but not that
// of what a person has brought.
func TestRoomForATransfer(t *testing.T) {
	for name, c := range map[string]struct {
		quota   int64
		manual  string
		gone    bool
		older   bool
		blocked bool
	}{
		"enough for all":                    {quota: 9, gone: true, older: true},
		"without what no order needs":       {quota: 7, older: true},
		"nor what was begun of an older":    {quota: 5},
		"but not that of a person's":        {quota: 5, manual: "dublin", older: true, blocked: true},
		"less than the snapshot alone has":  {quota: 2, older: true, blocked: true},
		"as much as the snapshot alone has": {quota: 3},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := newStage(t, c.quota)
			s.m.staging.bounds.Quota += mebibyte / 4 // folders and what file systems round up
			put(t, s.gone(partialName(first)), map[string][]byte{"Article_2.bcp": random(4, 2*mebibyte)})
			put(t, s.at(partialName(first)), map[string][]byte{"Article_2.bcp": random(4, 3*mebibyte)})
			put(t, s.at(partialName(next)), map[string][]byte{"Article_2.bcp": random(4, mebibyte)})
			s.later(5 * time.Hour)
			listing := &Listing{Folder: "pub_db_articles", Snapshot: next, Files: []File{{Size: 3 * mebibyte}}}
			one := &mirror{order: s.order}
			one.order.Manual = c.manual
			err := s.m.claim(one, s.m.placeOf(one, listing), listing)
			exists := func(name string) bool { _, err := os.Stat(name); return err == nil }
			g.Expect(exists(s.gone(partialName(first)))).To(Equal(c.gone))
			g.Expect(exists(s.at(partialName(first)))).To(Equal(c.older))
			g.Expect(s.at(partialName(next))).To(BeADirectory(), "it is resumed")
			var blocked *BlockedError
			g.Expect(errors.As(err, &blocked)).To(Equal(c.blocked))
			if c.blocked && c.manual == "" {
				g.Expect(blocked.NeededBytes).To(BeNumerically("~", 3*mebibyte, 64<<10), "that goes then")
			}
			g.Expect(s.claims()).To(Equal(map[bool]int{true: 0, false: 1}[c.blocked]))
			s.m.release(one)
			g.Expect(s.claims()).To(BeZero())
		})
	}
}

// Two that come together are not both given the same room.
func TestTwoTransfersTakeNoRoomTwice(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, 7)
	claim := func(folder string) (*mirror, error) {
		listing := &Listing{Folder: folder, Snapshot: next, Files: []File{{Size: 4 * mebibyte}}}
		one := &mirror{order: s.order}
		return one, s.m.claim(one, s.m.placeOf(one, listing), listing)
	}
	one, err := claim("pub_db_articles")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = claim("pub_db_others")
	var blocked *BlockedError
	g.Expect(errors.As(err, &blocked)).To(BeTrue())
	g.Expect(blocked.NeededBytes).To(BeEquivalentTo(8 * mebibyte))
	second, err := claim("pub_db_articles")
	g.Expect(err).NotTo(HaveOccurred(), "two of a publication have the same room")
	s.m.release(one)
	_, err = claim("pub_db_others")
	g.Expect(errors.As(err, &blocked)).To(BeTrue(), "the second has it still")
	s.m.release(second)
	_, err = claim("pub_db_others")
	g.Expect(err).NotTo(HaveOccurred())
}
