// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

// The chunks of a file are the same for ever: with others, nothing of what is there would be found again.
func TestCutsStayTheSame(t *testing.T) {
	g := NewWithT(t)
	chunks, sum, err := Cut(t.Context(), bytes.NewReader(noise(1, 8<<20)))
	g.Expect(err).NotTo(HaveOccurred())
	var lengths []uint32
	for _, c := range chunks {
		lengths = append(lengths, c.Length)
		g.Expect(c.Length).To(BeNumerically("<=", maxChunk))
	}
	g.Expect(lengths).To(Equal([]uint32{533173, 1439581, 2374288, 1046864, 320776, 1411112, 1262814}))
	g.Expect(sum.String()).To(Equal("889101bcee3be4acd13f1cc408a40d56d0d0adca1a713a3493af70572f93fb11"))
	text, err := json.Marshal(File{Path: "a", Chunks: chunks})
	g.Expect(err).NotTo(HaveOccurred())
	var streamed bytes.Buffer
	g.Expect(chunks.WriteText(&streamed)).To(Succeed())
	g.Expect(string(text)).To(ContainSubstring(`"chunks":"` + streamed.String() + `"`))
	var read File
	g.Expect(json.Unmarshal(text, &read)).To(Succeed())
	g.Expect(read.Chunks).To(Equal(chunks))
	for _, bad := range []string{`{"chunks":"*"}`, `{"chunks":"AAAA"}`, `{"chunks":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`} {
		g.Expect(json.Unmarshal([]byte(bad), &read)).NotTo(Succeed(), bad)
	}
}

func TestWhatIsCompressed(t *testing.T) {
	const MB = 1e6
	for name, c := range map[string]struct {
		link         int64
		speed, ratio float64
		worth        bool
	}{
		"a link that nobody knows":       {0, 100 * MB, 0.3, true},
		"a slow link":                    {10 * MB, 100 * MB, 0.5, true},
		"a link that outruns packing":    {1000 * MB, 100 * MB, 0.3, false},
		"just as fast":                   {50 * MB, 100 * MB, 0.5, false},
		"what hardly shrinks, slow link": {1 * MB, 100 * MB, 0.98, true},
		"what hardly shrinks":            {10 * MB, 100 * MB, 0.98, false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(worth(c.link, c.speed, c.ratio)).To(Equal(c.worth))
		})
	}
}

// What does not shrink, or comes sooner as it is, is tried more and more seldom, and again at once when that changes.
func TestTriesOfCompression(t *testing.T) {
	run := func(j *judge, chunks, after int, link int64) (tried int) {
		for range chunks {
			if j.tries(Auto) {
				tried++
				j.tried(1000, after, 10*time.Microsecond, link)
			}
		}
		return tried
	}
	g := NewWithT(t)
	var j judge
	g.Expect(run(&j, 100, 300, 0)).To(Equal(100))
	g.Expect(run(&j, 100, 999, 0)).To(BeNumerically("<=", 10))
	g.Expect(j.skip).To(BeNumerically("<=", mostSkipped))
	run(&j, mostSkipped+1, 300, 0)
	g.Expect(run(&j, 100, 300, 1e6)).To(BeNumerically(">=", 100), "it shrinks again")
	j = judge{}
	g.Expect(run(&j, 100, 300, 1e12)).To(BeNumerically("<=", 10), "a link that outruns the processor")
	g.Expect(j.tries(Always)).To(BeTrue())
	g.Expect(j.tries(Never)).To(BeFalse())
}

func TestCompressionOnTheWire(t *testing.T) {
	total := int64(8 << 20)
	for name, c := range map[string]struct {
		content []byte
		how     Compression
		most    int64
		least   int64
	}{
		"rows":             {rows(1, int(total)), Always, total * 6 / 10, 1},
		"rows, never":      {rows(1, int(total)), Never, total + 1<<10, total},
		"noise, always":    {noise(1, int(total)), Always, total + 1<<10, total},
		"noise, auto":      {noise(1, int(total)), Auto, total + 1<<10, total},
		"rows, slow, auto": {rows(1, int(total)), Auto, total * 6 / 10, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newPeer(t)
			contents := map[string][]byte{"a": c.content}
			job := p.transfer(t.TempDir(), p.describe(t, contents))
			job.Limits.Set(Settings{Compression: c.how})
			// So slow that even a machine that is busy packs faster.
			job.link.Store(1 << 10)
			g.Expect(job.Run(t.Context())).To(Succeed())
			g.Expect(same(job.Dir, contents)).To(BeEmpty())
			g.Expect(p.sent.Load()).To(And(BeNumerically("<=", c.most), BeNumerically(">=", c.least)))
		})
	}
}

func TestMeter(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(0, 0)
	m := newMeter(func() time.Time { return now })
	m.Attempt(50)
	for range 20 {
		now = now.Add(time.Second)
		m.Moved(10)
		m.Fetched(20)
	}
	p := m.Progress()
	g.Expect(p).To(And(HaveField("Here", int64(450)), HaveField("Moved", int64(200)), HaveField("Reused", int64(50)),
		HaveField("Seconds", 20.0)))
	g.Expect(p.Rate).To(BeNumerically("~", 10, 1.1))
	g.Expect(p.Pace).To(BeNumerically("~", 20, 2.2))
	now = now.Add(time.Hour)
	g.Expect(m.Progress().Rate).To(BeZero(), "nothing came lately")
	// Another attempt finds what this one has fetched, and some more.
	m.Attempt(460)
	g.Expect(m.Progress()).To(And(HaveField("Here", int64(460)), HaveField("Reused", int64(60))))
	m.Reused(40)
	m.End()
	now = now.Add(time.Hour)
	g.Expect(m.Progress()).To(And(HaveField("Here", int64(500)), HaveField("Reused", int64(100)),
		HaveField("Seconds", 3620.0)))
}

func TestStrictest(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Strictest(nil)).To(Equal(Settings{}))
	two := []Settings{{Workers: 3, Compression: Never}, {Workers: 2, MaxRate: 5, Compression: Never}}
	g.Expect(Strictest(two)).
		To(Equal(Settings{Workers: 2, MaxRate: 5, Compression: Never}))
	g.Expect(Strictest([]Settings{{MaxRate: 7}, {MaxRate: 5, Compression: Always}})).
		To(Equal(Settings{MaxRate: 5, Compression: Auto}))
}

func TestWatermarks(t *testing.T) {
	g := NewWithT(t)
	high, low := Staging{Quota: 1<<62 + 99, High: 90, Low: 60}.Watermarks()
	g.Expect(high).To(BeEquivalentTo((1<<62+99)/10*9 + 2))
	g.Expect(low).To(BeEquivalentTo((1<<62+99)/10*6 + 1))
	rapid.Check(t, func(t *rapid.T) {
		s := Staging{Quota: rapid.Int64Range(1<<30, 1<<62).Draw(t, "quota"), High: rapid.IntRange(2, 100).Draw(t, "high")}
		s.Low = rapid.IntRange(1, s.High-1).Draw(t, "low")
		high, low := s.Watermarks()
		NewWithT(t).Expect(low > 0 && low < high && high <= s.Quota).To(BeTrue())
	})
}
