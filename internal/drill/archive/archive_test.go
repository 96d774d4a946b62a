// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/workload/history"
)

// run is the run of these tests.
var run = archive.Run{Namespace: "shop", Drill: "lose-tukwila", UID: "uid-1", ID: "2026-11"}

// drill stands for the Drill that owns the archive: any object of that name.
func drill(r archive.Run) client.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Drill, UID: types.UID(r.UID)}}
}

func write(c client.Client, a archive.Archive, limits archive.Limits) (archive.Reference, error) {
	return archive.Write(context.Background(), c, drill(a.Run), "geosql.dev/v1alpha1", "Drill", a, limits)
}

// record writes a history as a client does.
func record(t *testing.T, client string, number int64, operations int) []byte {
	t.Helper()
	g := NewWithT(t)
	folder := t.TempDir()
	r, err := history.Create(folder, history.Header{Run: number, Client: client, Boot: "boot"})
	g.Expect(err).NotTo(HaveOccurred())
	for range operations {
		o, err := r.Invoke(history.Insert, 0, 0)
		g.Expect(err).NotTo(HaveOccurred())
		o.Outcome, o.Server = history.OK, "sql-tuk-1-0"
		g.Expect(r.Complete(o)).To(Succeed())
	}
	g.Expect(r.End()).To(Succeed())
	var out strings.Builder
	g.Expect(history.Export(folder, &out)).To(Succeed())
	return []byte(out.String())
}

func some(t *testing.T) archive.Archive {
	rtt, queue := 77*time.Millisecond, int64(4096)
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	return archive.Archive{
		Run:       run,
		Histories: map[string][]byte{"quincy": record(t, "quincy", 1, 300), "dublin": record(t, "dublin", 2, 200)},
		Replicas: []history.Replica{
			{Server: "sql-tuk-1-0", Rows: []history.RowID{{Run: 1, Number: 1}, {Run: 1, Number: 2}, {Run: 2, Number: 1}}},
		},
		Faults: []history.Fault{
			{Name: "podKill", Target: "sql-tuk-1-0", Injected: history.Now(), Proof: "its container ended"},
		},
		Bounds: archive.Bounds{AcknowledgedAtLeast: 100, ClockError: time.Millisecond, Unread: []string{"sql-tuk-2"},
			Baseline: history.Instant{Monotonic: 7, Wall: 1_000_000_007}},
		Samples: archive.Samples{
			Replicas: []archive.ReplicaSample{{At: at, Server: "sql-tuk-1-0", Role: "PRIMARY", SendQueueKB: &queue}},
			Links:    []archive.LinkSample{{At: at, From: "tukwila", To: "dublin", Sent: 5, Lost: 1, RTT: &rtt}},
		},
		Files: map[string][]byte{"objects.yaml": []byte("kind: NetworkChaos\n")},
	}
}

func TestArchiveIsReadBackAsItWasWritten(t *testing.T) {
	g := NewWithT(t)
	c := fake.NewClientBuilder().Build()
	a := some(t)
	ref, err := write(c, a, archive.Limits{Chunk: 1000, Total: 1 << 20})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ref.Chunks).To(BeNumerically(">", 3), "small chunks make several")

	back, err := archive.Read(context.Background(), c, run)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(back.Samples).To(Equal(a.Samples))
	g.Expect(back.Faults).To(Equal(a.Faults))
	g.Expect(back.Bounds).To(Equal(a.Bounds))
	g.Expect(back.Replicas).To(Equal(a.Replicas))
	g.Expect(back.Files).To(Equal(a.Files))
	packed, err := back.Packed()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(fmt.Sprintf("%x", sha256.Sum256(packed))).To(Equal(ref.SHA256))
	e, err := back.Evidence()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(e.Baseline).To(Equal(a.Bounds.Baseline))
	g.Expect(e.Runs).To(HaveLen(2))
	g.Expect(e.Runs[0].Operations).To(HaveLen(200))
	g.Expect(history.Check(e).Counts.Acknowledged).To(Equal(500))

	var all corev1.ConfigMapList
	g.Expect(c.List(context.Background(), &all)).To(Succeed())
	for _, m := range all.Items {
		g.Expect(*m.Immutable).To(BeTrue())
		g.Expect(m.OwnerReferences).To(ConsistOf(HaveField("UID", types.UID("uid-1"))), m.Name)
	}
	g.Expect(archive.Delete(context.Background(), c, run)).To(Succeed())
	_, err = archive.Read(context.Background(), c, run)
	g.Expect(errors.Is(err, archive.ErrNotFound)).To(BeTrue())
	g.Expect(c.List(context.Background(), &all)).To(Succeed())
	g.Expect(all.Items).To(BeEmpty())
}

// As many operations as admission lets clients record fit into an archive, with the times and the servers that their
// histories have, and hardly more than twice as many would.
func TestHowManyOperationsAnArchiveKeeps(t *testing.T) {
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(1, 2))
	const users, each = 6, 5000
	a := archive.Archive{Run: run, Histories: map[string][]byte{}}
	for user := range users {
		var text bytes.Buffer
		wall, boot := int64(1_795_917_600_000_000_000), int64(86_400_000_000_000)
		line := func(format string, values ...any) {
			wall, boot = wall+random.Int64N(300), boot+random.Int64N(300)
			fmt.Fprintf(&text, `{`+format+`,"t":%d,"w":%d}`+"\n", append(values, boot, wall)...)
		}
		number := random.Int64N(1 << 40)
		line(`"k":"begin","format":"geosql-history/1","header":{"run":%d,"client":"quincy","boot":"b"}`, number)
		for n := range each {
			function, more := "insert", ""
			if n%10 == 8 {
				function, more = "read", `,"key":2`
			} else if n%10 == 9 {
				function, more = "write", fmt.Sprintf(`,"key":1,"v":%d`, number<<22|int64(n))
			}
			line(`"k":"invoke","n":%d,"f":"%s"`+more, n+1, function)
			took := 2_000_000 + random.Int64N(3_000_000)
			wall, boot = wall+took, boot+took
			line(`"k":"ok","n":%d,"s":"TUKPUB-0","c":%d`, n+1, int64(3)<<32+77)
			wall, boot = wall+100_000_000-took, boot+100_000_000-took
		}
		line(`"k":"end"`)
		a.Histories[fmt.Sprintf("user%d", user)] = text.Bytes()
	}
	packed, err := archive.Pack(a)
	g.Expect(err).NotTo(HaveOccurred())
	e, err := a.Evidence()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(e.Runs).To(HaveEach(HaveField("Operations", HaveLen(each))))
	size := float64(len(packed)) / (users * each)
	t.Logf("%.1f bytes for each operation", size)
	g.Expect(size * archive.MaxOperations).To(And(BeNumerically("<=", archive.DefaultTotal),
		BeNumerically(">", archive.DefaultTotal/3)))
}

// TestPackedArchivesUnpackToTheSame draws any archive.
func TestPackedArchivesUnpackToTheSame(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		a := archive.Archive{
			Run: archive.Run{
				Namespace: "n",
				Drill:     rapid.StringMatching(`[a-z]{1,250}`).Draw(t, "drill"),
				UID:       "u",
				ID:        rapid.String().Draw(t, "id"),
			},
		}
		a.Histories = rapid.MapOfN(rapid.StringMatching(`[a-z0-9-]{1,20}`),
			rapid.Map(rapid.String(), func(s string) []byte { return []byte("x" + s) }), 0, 4).
			Draw(t, "histories")
		rows := rapid.SliceOf(rapid.Custom(func(t *rapid.T) history.RowID {
			return history.RowID{Run: rapid.Int64Range(1, 3).Draw(t, "run"), Number: rapid.Int64Range(1, 20).Draw(t, "number")}
		}))
		// They count rows, or say whose they are.
		spans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) history.Span {
			s := history.Span{Run: 1, First: rapid.Int64Range(1, 20).Draw(t, "first")}
			s.Times = rapid.IntRange(0, 3).Draw(t, "times")
			s.Last = s.First + rapid.Int64Range(0, 600).Draw(t, "more")
			if s.Times == 0 {
				s.Server = "sql-0"
			}
			return s
		}), 1, 4)
		for i := range rapid.IntRange(0, 3).Draw(t, "replicas") {
			a.Replicas = append(a.Replicas, history.Replica{Server: fmt.Sprintf("sql-%d", i), Rows: rows.Draw(t, "rows"),
				Tables: []history.Table{{Name: history.TableRecorded, Spans: spans.Draw(t, "spans")}}})
		}
		_, err := write(c, a, archive.Limits{Chunk: rapid.IntRange(2000, 9000).Draw(t, "chunk"), Total: 1 << 20})
		g.Expect(err).NotTo(HaveOccurred())
		back, err := archive.Read(context.Background(), c, a.Run)
		g.Expect(err).NotTo(HaveOccurred())
		for name, data := range back.Histories {
			back.Histories[name], err = archive.Plain(data)
			g.Expect(err).NotTo(HaveOccurred())
		}
		g.Expect(maps.EqualFunc(back.Histories, a.Histories, slices.Equal)).To(BeTrue())
		g.Expect(back.Replicas).To(HaveLen(len(a.Replicas)))
		for i, r := range a.Replicas {
			g.Expect(back.Replicas[i].Server).To(Equal(r.Server))
			g.Expect(back.Replicas[i].Tables).To(Equal(r.Tables))
			g.Expect(back.Replicas[i].Rows).To(ConsistOf(any(r.Rows)), "each row as often as it was there")
		}
		g.Expect(archive.Delete(context.Background(), c, a.Run)).To(Succeed())
	})
}

// TestDamagedArchivesAreRefused changes one thing of a written archive at a time.
func TestDamagedArchivesAreRefused(t *testing.T) {
	damages := map[string]struct {
		do   func(c client.Client, m *corev1.ConfigMap) error
		want error
	}{
		"a bit has flipped": {func(c client.Client, m *corev1.ConfigMap) error {
			m.BinaryData["chunk"][7] ^= 1
			return c.Update(context.Background(), m)
		}, archive.ErrDamaged},
		"an end was cut off": {func(c client.Client, m *corev1.ConfigMap) error {
			m.BinaryData["chunk"] = m.BinaryData["chunk"][:5]
			return c.Update(context.Background(), m)
		}, archive.ErrDamaged},
		"a chunk is gone": {
			func(c client.Client, m *corev1.ConfigMap) error { return c.Delete(context.Background(), m) },
			archive.ErrDamaged,
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := fake.NewClientBuilder().Build()
			_, err := write(c, some(t), archive.Limits{Chunk: 1000, Total: 1 << 20})
			g.Expect(err).NotTo(HaveOccurred())
			var all corev1.ConfigMapList
			g.Expect(c.List(context.Background(), &all)).To(Succeed())
			at := slices.IndexFunc(all.Items, func(m corev1.ConfigMap) bool { return len(m.BinaryData["chunk"]) == 1000 })
			m := &all.Items[at]
			m.Immutable = nil
			g.Expect(damage.do(c, m)).To(Succeed())
			_, err = archive.Read(context.Background(), c, run)
			g.Expect(errors.Is(err, damage.want)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(m.Name))
		})
	}
}

func TestArchiveOfAnotherDrillIsForeign(t *testing.T) {
	g := NewWithT(t)
	c := fake.NewClientBuilder().Build()
	a := some(t)
	_, err := write(c, a, archive.DefaultLimits())
	g.Expect(err).NotTo(HaveOccurred())

	later := a
	later.Run.UID = "uid-2"
	_, err = archive.Read(context.Background(), c, later.Run)
	g.Expect(errors.Is(err, archive.ErrForeign)).
		To(BeTrue(), "a drill of the same name that was made anew has no archive yet: %v", err)
	_, err = write(c, later, archive.DefaultLimits())
	g.Expect(errors.Is(err, archive.ErrForeign)).To(BeTrue(), "%v", err)
	_, err = archive.Write(
		context.Background(),
		c,
		drill(later.Run),
		"geosql.dev/v1alpha1",
		"Drill",
		a,
		archive.DefaultLimits(),
	)
	g.Expect(err).To(HaveOccurred(), "an archive goes to its own drill alone")
	g.Expect(archive.Delete(context.Background(), c, later.Run)).To(Succeed())
	_, err = archive.Read(context.Background(), c, run)
	g.Expect(err).NotTo(HaveOccurred(), "another drill's Delete leaves it")
}

// Whoever may write ConfigMaps in the namespace can write one of the index's name: what the drill does not own is none
// of its evidence.
func TestAnArchiveThatTheDrillDoesNotOwnIsForeign(t *testing.T) {
	for name, of := range map[string]func(archive.Reference, corev1.ConfigMap) bool{
		"the index": func(r archive.Reference, m corev1.ConfigMap) bool { return m.Name == r.Index },
		"a chunk":   func(r archive.Reference, m corev1.ConfigMap) bool { return m.Name != r.Index },
	} {
		for way, owners := range map[string][]metav1.OwnerReference{
			"nobody's":    nil,
			"another's":   {{APIVersion: "v1", Kind: "Drill", Name: "other", UID: "uid-9"}},
			"two owners'": {{Kind: "Drill", Name: "lose-tukwila", UID: "uid-1"}, {Kind: "Drill", Name: "other", UID: "uid-9"}},
		} {
			g := NewWithT(t)
			c := fake.NewClientBuilder().Build()
			ref, err := write(c, some(t), archive.DefaultLimits())
			g.Expect(err).NotTo(HaveOccurred())
			var all corev1.ConfigMapList
			g.Expect(c.List(t.Context(), &all)).To(Succeed())
			for i := range all.Items {
				if of(ref, all.Items[i]) {
					all.Items[i].OwnerReferences = owners
					g.Expect(c.Update(t.Context(), &all.Items[i])).To(Succeed())
				}
			}
			_, err = archive.Read(t.Context(), c, run)
			g.Expect(errors.Is(err, archive.ErrForeign)).To(BeTrue(), "%s is %s: %v", name, way, err)
		}
	}
}

// Parts that are small each may be too much together, whatever they are, and so may rows that a few words stand for.
func TestAnArchiveUnpacksWithinOneBudget(t *testing.T) {
	zeros := func(size int) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, err := io.CopyN(w, endless{}, int64(size))
		NewWithT(t).Expect(errors.Join(err, w.Close())).To(Succeed())
		return out.Bytes()
	}
	third := zeros(archive.MaxUnpacked/3 + 1<<20)
	for name, fill := range map[string]func(*archive.Archive){
		"histories": func(a *archive.Archive) { a.Histories = map[string][]byte{"a": third, "b": third, "c": third} },
		"files":     func(a *archive.Archive) { a.Files = map[string][]byte{"a": third, "b": third, "c": third} },
		"of all kinds": func(a *archive.Archive) {
			a.Histories, a.Arrivals, a.Files = map[string][]byte{"a": third}, map[string][]byte{"b": third},
				map[string][]byte{"c": third}
		},
	} {
		g := NewWithT(t)
		a := some(t)
		fill(&a)
		packed, err := archive.Pack(a)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(len(packed)).To(BeNumerically("<", archive.DefaultTotal))
		_, err = archive.Unpack(packed)
		g.Expect(err).To(MatchError(ContainSubstring("that all of an archive may have")), name)
		expectNotWritten(t, a)
	}
	g := NewWithT(t)
	budget := archive.NewBudget()
	g.Expect(budget.Take(third)).To(Succeed())
	g.Expect(budget.Take(third)).To(Succeed())
	g.Expect(budget.Take(third)).NotTo(Succeed())
	g.Expect(budget.Take([]byte("a"))).NotTo(Succeed(), "nothing is left")

	a := some(t)
	a.Replicas = nil
	for n := range 2 {
		rows := slices.Repeat([]history.RowID{{Run: 1, Number: 1}}, 9*archive.MaxOperations)
		a.Replicas = append(a.Replicas, history.Replica{Server: fmt.Sprint("s", n), Rows: rows})
	}
	packed, err := archive.Pack(a)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = archive.Unpack(packed)
	g.Expect(err).To(MatchError(ContainSubstring("cannot be")))
	expectNotWritten(t, a)
}

// expectNotWritten says that what Read would not take back is refused before a piece of it is kept.
func expectNotWritten(t *testing.T, a archive.Archive) {
	t.Helper()
	g := NewWithT(t)
	c := fake.NewClientBuilder().Build()
	_, err := write(c, a, archive.DefaultLimits())
	g.Expect(err).To(MatchError(archive.ErrUnreadable))
	var maps corev1.ConfigMapList
	g.Expect(c.List(t.Context(), &maps)).To(Succeed())
	g.Expect(maps.Items).To(BeEmpty())
}

// endless reads as zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestArchiveIsWrittenOnce(t *testing.T) {
	g := NewWithT(t)
	c := fake.NewClientBuilder().Build()
	a := some(t)
	first, err := write(c, a, archive.DefaultLimits())
	g.Expect(err).NotTo(HaveOccurred())
	again, err := write(c, a, archive.DefaultLimits())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(Equal(first))

	changed := a
	changed.Replicas = nil
	_, err = write(c, changed, archive.DefaultLimits())
	g.Expect(errors.Is(err, archive.ErrWritten)).To(BeTrue(), "%v", err)
	back, err := archive.Read(context.Background(), c, run)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(back.Replicas).To(HaveLen(1))
}

// broken refuses to create more than so many objects.
type broken struct {
	client.Client
	left int
}

func (b *broken) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if b.left--; b.left < 0 {
		return errors.New("the operator was killed")
	}
	return b.Client.Create(ctx, o, opts...)
}

// TestWritingCanBreakOffAnywhere begins again with other contents, as when the histories have been fetched anew.
func TestWritingCanBreakOffAnywhere(t *testing.T) {
	limits := archive.Limits{Chunk: 1000, Total: 1 << 20}
	half, whole := some(t), some(t)
	half.Replicas = nil
	for left := range 4 {
		g := NewWithT(t)
		c := fake.NewClientBuilder().Build()
		_, err := write(&broken{Client: c, left: left}, half, limits)
		g.Expect(err).To(MatchError(ContainSubstring("the operator was killed")))
		_, err = archive.Read(context.Background(), c, run)
		g.Expect(errors.Is(err, archive.ErrNotFound)).To(BeTrue(), "without an index there is no archive: %v", err)

		ref, err := write(c, whole, limits)
		g.Expect(err).NotTo(HaveOccurred())
		back, err := archive.Read(context.Background(), c, run)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(back.Replicas).To(HaveLen(1))
		var all corev1.ConfigMapList
		g.Expect(c.List(context.Background(), &all)).To(Succeed())
		g.Expect(all.Items).To(HaveLen(ref.Chunks+1), "what the broken-off attempt left is gone")
	}
}

func TestArchiveAboveItsLimitSaysWhatToChange(t *testing.T) {
	g := NewWithT(t)
	c := fake.NewClientBuilder().Build()
	_, err := write(c, some(t), archive.Limits{Chunk: 1000, Total: 2000})
	var large *archive.TooLargeError
	g.Expect(errors.As(err, &large)).To(BeTrue(), "%v", err)
	g.Expect(err.Error()).To(ContainSubstring("with fewer clients"))
	var all corev1.ConfigMapList
	g.Expect(c.List(context.Background(), &all)).To(Succeed())
	g.Expect(all.Items).To(BeEmpty())
}
