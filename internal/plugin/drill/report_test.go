// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/report"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/test/support/terminal"
)

// drilled is a hub with a drill that has run twice, and the archives of both runs.
func drilled(t *testing.T) client.Client {
	t.Helper()
	g := NewWithT(t)
	d := &v1alpha1.Drill{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "lose-tukwila", UID: "u"},
		Spec:       v1alpha1.DrillSpec{RunID: "first", Target: v1alpha1.DrillTarget{AvailabilityGroup: "content"}},
		Status: v1alpha1.DrillStatus{
			RunID: "first", Phase: v1alpha1.DrillCompleted, Verdict: v1alpha1.VerdictFailed, Reason: "ObjectiveMissed",
			Objectives: []v1alpha1.ObjectiveResult{
				{Name: "rto", Verdict: v1alpha1.VerdictFailed, Goal: "10ms", Measured: "5.2s"},
			},
			Started: ptr.To(metav1.NewMicroTime(time.Now())),
		},
	}
	hub := terminal.Hub().Build()
	keep := func() {
		folder := t.TempDir()
		r, err := history.Create(folder, history.Header{Run: 1, Client: "dublin", Boot: "b"})
		g.Expect(err).NotTo(HaveOccurred())
		o, err := r.Invoke(history.Insert, 0, 0)
		g.Expect(err).NotTo(HaveOccurred())
		o.Outcome = history.OK
		g.Expect(r.Complete(o)).To(Succeed())
		g.Expect(r.End()).To(Succeed())
		var lines bytes.Buffer
		g.Expect(history.Export(folder, &lines)).To(Succeed())
		asJudged, err := json.Marshal(d)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = archive.Write(context.Background(), hub, d, v1alpha1.GroupVersion.String(), "Drill", archive.Archive{
			Run: archive.Run{
				Namespace: d.Namespace,
				Drill:     d.Name,
				UID:       string(d.UID),
				ID:        d.Status.RunID,
			}, Histories: map[string][]byte{"dublin": lines.Bytes()},
			Files: map[string][]byte{drillFile: asJudged},
		}, archive.DefaultLimits())
		g.Expect(err).NotTo(HaveOccurred())
	}
	keep()
	d.Spec.RunID, d.Status.RunID, d.Status.Verdict, d.Status.Objectives = "second", "second", v1alpha1.VerdictInconclusive,
		nil
	keep()
	g.Expect(hub.Create(context.Background(), d)).To(Succeed())
	return hub
}

// Errors are planted in what the archive has; what it has nothing of is said, and what is not found fails the command.
func TestControl(t *testing.T) {
	g, hub := NewWithT(t), drilled(t)
	key := client.ObjectKey{Namespace: "web", Name: "lose-tukwila"}
	for _, run := range []string{"", "first"} {
		var out bytes.Buffer
		g.Expect(controlDrill(context.Background(), &out, hub, key, run)).To(Succeed(), out.String())
		g.Expect(out.String()).To(MatchRegexp(`a fault that strikes nothing +NothingToPlantIn +no fault was seen`))
		g.Expect(out.String()).To(MatchRegexp(`G-single, read skew +NothingToPlantIn +no lists were used`))
		g.Expect(out.String()).NotTo(ContainSubstring(" Found "))
	}
	g.Expect(controlDrill(context.Background(), &bytes.Buffer{}, hub, key, "third")).To(MatchError(archive.ErrNotFound))
}

func makeReport(t *testing.T, hub client.Client, f reportFlags) (text, warnings string, err error) {
	t.Helper()
	var said bytes.Buffer
	data, err := f.make(context.Background(), &said, hub, client.ObjectKey{Namespace: "web", Name: "lose-tukwila"})
	return string(data), said.String(), err
}

func TestDrillReportIsMadeOfTheArchive(t *testing.T) {
	g := NewWithT(t)
	hub := drilled(t)
	text, warnings, err := makeReport(t, hub, reportFlags{output: "md"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(warnings).To(BeEmpty())
	g.Expect(text).
		To(And(HavePrefix("# Inconclusive: drill lose-tukwila\n"), ContainSubstring("judged again"),
			ContainSubstring("1 acknowledged")))

	text, _, err = makeReport(t, hub, reportFlags{output: "json"})
	g.Expect(err).NotTo(HaveOccurred())
	var r report.Report
	g.Expect(json.Unmarshal([]byte(text), &r)).To(Succeed())
	g.Expect(r.Recheck.Counts.Acknowledged).To(Equal(1))

	text, _, err = makeReport(t, hub, reportFlags{output: "md", run: "first"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).
		To(And(HavePrefix("# Failed: drill lose-tukwila\n"), ContainSubstring("| rto | Failed | 10ms | 5.2s |")),
			"an earlier run's report is of its own archive")

	text, _, err = makeReport(t, hub, reportFlags{output: "archive"})
	g.Expect(err).NotTo(HaveOccurred())
	back, err := archive.Unpack([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(back.Run.ID).To(Equal("second"))
}

// TestEarlierRunWithoutAVerdictOfItsOwn has an archive that was written before the verdict was reached.
func TestEarlierRunWithoutAVerdictOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	hub := drilled(t)
	run := archive.Run{Namespace: "web", Drill: "lose-tukwila", UID: "u", ID: "first"}
	kept, err := archive.Read(context.Background(), hub, run)
	g.Expect(err).NotTo(HaveOccurred())
	var d v1alpha1.Drill
	g.Expect(json.Unmarshal(kept.Files[drillFile], &d)).To(Succeed())
	d.Status.Verdict = ""
	kept.Files[drillFile], err = json.Marshal(d)
	g.Expect(err).NotTo(HaveOccurred())
	back, err := earlierRun(
		[]v1alpha1.DrillRunSummary{
			{RunID: "zeroth", Verdict: v1alpha1.VerdictPassed},
			{RunID: "first", Verdict: v1alpha1.VerdictFailed, Reason: "Remembered"},
		},
		kept,
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(back.Status.Verdict).To(Equal(v1alpha1.VerdictFailed))
	g.Expect(back.Status.Reason).To(Equal("Remembered"))
}

func TestDrillReportSaysWhatIsMissing(t *testing.T) {
	g := NewWithT(t)
	hub := drilled(t)
	_, _, err := makeReport(t, hub, reportFlags{output: "md", run: "third"})
	g.Expect(err).To(MatchError(ContainSubstring("there is no archive")))

	var all corev1.ConfigMapList
	g.Expect(hub.List(context.Background(), &all)).To(Succeed())
	for i := range all.Items {
		if all.Items[i].BinaryData["chunk"] != nil {
			g.Expect(hub.Delete(context.Background(), &all.Items[i])).To(Succeed())
		}
	}
	_, _, err = makeReport(t, hub, reportFlags{output: "md"})
	g.Expect(err).To(MatchError(archive.ErrDamaged), "a damaged archive is not passed over")
	text, _, err := makeReport(t, hub, reportFlags{output: "md", withoutArchive: true})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(ContainSubstring("could be checked again"))

	run := archive.Run{Namespace: "web", Drill: "lose-tukwila", UID: "u", ID: "second"}
	g.Expect(archive.Delete(context.Background(), hub, run)).To(Succeed())
	_, warnings, err := makeReport(t, hub, reportFlags{output: "md"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(warnings).To(ContainSubstring("there is no archive"))
}

// Of a run that is over nothing is ended, and what ends is not said to have ended.
func TestDrillAbort(t *testing.T) {
	g := NewWithT(t)
	hub, key := drilled(t), client.ObjectKey{Namespace: "web", Name: "lose-tukwila"}
	abort := func() (string, v1alpha1.Drill) {
		var said bytes.Buffer
		g.Expect(abortDrill(t.Context(), &said, hub, key)).To(Succeed())
		var d v1alpha1.Drill
		g.Expect(hub.Get(t.Context(), key, &d)).To(Succeed())
		return said.String(), d
	}
	said, d := abort()
	g.Expect(said).To(ContainSubstring("run second is over, nothing was changed"))
	g.Expect(d.Spec.Abort).To(BeFalse())

	d.Spec.RunID = "third"
	g.Expect(hub.Update(t.Context(), &d)).To(Succeed())
	said, d = abort()
	g.Expect(said).To(ContainSubstring("is told to end"))
	g.Expect(d.Spec.Abort).To(BeTrue(), "the run is not seen yet by the operator")
	g.Expect(abortDrill(t.Context(), &bytes.Buffer{}, hub, client.ObjectKey{Namespace: "web", Name: "nobody"})).
		To(MatchError(ContainSubstring("no Drill nobody in namespace web; there are: lose-tukwila")))
}

func TestDrillReportGoesToAFileAsAWhole(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "report.html")
	g.Expect(os.WriteFile(file, []byte("old"), 0o600)).To(Succeed())
	f := reportFlags{file: file}
	var said bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetErr(&said)
	g.Expect(f.write(cmd, []byte("new"))).To(Succeed())
	g.Expect(os.ReadFile(file)).To(Equal([]byte("new")))
	g.Expect(said.String()).To(ContainSubstring("3 bytes"))
	entries, err := os.ReadDir(filepath.Dir(file))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(HaveLen(1), "nothing temporary is left")

	_, err = terminal.Run(t, newReportCommand(), "", "x", "-o", "pdf")
	g.Expect(err).To(MatchError(ContainSubstring("html, md, json and archive are")))
}
