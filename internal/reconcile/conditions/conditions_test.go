// SPDX-License-Identifier: Apache-2.0

package conditions_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// The three conditions never contradict each other, whatever outcomes follow each other.
func TestConditionsAgree(t *testing.T) {
	outcomes := rapid.Custom(func(t *rapid.T) conditions.Outcome {
		of := rapid.SampledFrom([]func(string, string) conditions.Outcome{conditions.Ready, conditions.InProgress,
			conditions.Stalled, conditions.Unknown}).
			Draw(t, "kind")
		return of(rapid.SampledFrom([]string{"One", "Two"}).Draw(t, "reason"), "message")
	})
	rapid.Check(t, func(t *rapid.T) {
		var status v1alpha1.StatusBase
		for i, o := range rapid.SliceOfN(outcomes, 1, 8).Draw(t, "outcomes") {
			before := status.DeepCopy()
			changes := conditions.Set(&status, int64(i), o)
			is := func(kind string) metav1.ConditionStatus {
				return meta.FindStatusCondition(status.Conditions, kind).Status
			}
			if is("Ready") == metav1.ConditionTrue &&
				(is("Reconciling") == metav1.ConditionTrue || is("Stalled") == metav1.ConditionTrue) {
				t.Fatal("ready, and not settled")
			}
			if is("Reconciling") == metav1.ConditionTrue && is("Stalled") == metav1.ConditionTrue {
				t.Fatal("reconciling and stalled")
			}
			if status.ObservedGeneration != int64(i) {
				t.Fatal("the generation is not the newest")
			}
			for _, c := range changes {
				was := meta.FindStatusCondition(before.Conditions, c.New.Type)
				if was != nil && was.Status == c.New.Status && was.Reason == c.New.Reason {
					t.Fatalf("%s did not change", c.New.Type)
				}
			}
			if len(conditions.Set(&status, int64(i), o)) != 0 {
				t.Fatal("the same outcome twice is no change")
			}
		}
	})
}

func TestEventsOnChangeOnly(t *testing.T) {
	g := NewWithT(t)
	recorder := events.NewFakeRecorder(10)
	server := &v1alpha1.SQLServer{}
	emitted := func(o conditions.Outcome) string {
		conditions.Emit(recorder, server, conditions.Set(&server.Status.StatusBase, 1, o))
		select {
		case e := <-recorder.Events:
			g.Expect(recorder.Events).To(BeEmpty(), "one event")
			return e
		default:
			return ""
		}
	}
	g.Expect(emitted(conditions.InProgress("VolumePending", "a volume is made"))).To(HavePrefix("Normal VolumePending"))
	g.Expect(emitted(conditions.InProgress("VolumePending", "a volume is made, 10 s"))).To(BeEmpty())
	g.Expect(emitted(conditions.Stalled("NoNodeForVolumes", "no node"))).To(HavePrefix("Warning NoNodeForVolumes"))
	g.Expect(emitted(conditions.Unknown("SiteUnreachable", strings.Repeat("x", 5000)))).
		To(And(HavePrefix("Warning SiteUnreachable"), HaveLen(len("Warning SiteUnreachable ")+1000)))
	g.Expect(emitted(conditions.Ready("Running", "it answers"))).To(HavePrefix("Normal Running"))
}

// What is bad when it is True warns then, and not when it is False; a restart that waits for its turn is work that goes
// on.
func TestEventsOfAKindsOwnConditions(t *testing.T) {
	for kind, warns := range map[string]metav1.ConditionStatus{
		v1alpha1.ConditionFenced: metav1.ConditionFalse, v1alpha1.ConditionLogRoom: metav1.ConditionFalse,
		v1alpha1.ConditionVotesComplete:    metav1.ConditionFalse,
		v1alpha1.ConditionCredentialsValid: metav1.ConditionFalse, v1alpha1.ConditionNamesReady: metav1.ConditionFalse,
		v1alpha1.ConditionAdministered: metav1.ConditionFalse, v1alpha1.ConditionTokenRenewed: metav1.ConditionFalse,
		v1alpha1.ConditionDegraded: metav1.ConditionTrue, v1alpha1.ConditionElectionsPaused: metav1.ConditionTrue,
		v1alpha1.ConditionPromisesKept:   metav1.ConditionFalse,
		v1alpha1.ConditionVolumesFilling: metav1.ConditionTrue, v1alpha1.ConditionVolumesResizing: metav1.ConditionTrue,
		v1alpha1.ConditionNodeHeard:      metav1.ConditionFalse,
		v1alpha1.ConditionNetworkTuned:   metav1.ConditionFalse,
		v1alpha1.ConditionImageCurrent:   metav1.ConditionFalse,
		v1alpha1.ConditionStagingFilling: metav1.ConditionTrue, v1alpha1.ConditionStagingBlocked: metav1.ConditionTrue,
		v1alpha1.ConditionStagingCleaned:         "",
		v1alpha1.ConditionRestartPending:         "",
		v1alpha1.ConditionLinkSlowerThanDeclared: metav1.ConditionTrue,
		v1alpha1.ConditionWindowTooSmall:         metav1.ConditionTrue,
	} {
		for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse,
			metav1.ConditionUnknown} {
			t.Run(kind+string(status), func(t *testing.T) {
				recorder := events.NewFakeRecorder(1)
				conditions.Emit(
					recorder,
					&v1alpha1.SQLServer{},
					[]conditions.Change{{New: metav1.Condition{Type: kind, Status: status, Reason: "Reason", Message: "it is so"}}},
				)
				want := "Normal Reason it is so"
				if status == warns || status == metav1.ConditionUnknown {
					want = "Warning Reason it is so"
				}
				NewWithT(t).Expect(<-recorder.Events).To(Equal(want))
			})
		}
	}
}

// A message that is too long ends between two characters and says that there was more: what is no UTF-8 is refused by
// the API server, or shown as something else.
func TestMessagesAreCutBetweenCharacters(t *testing.T) {
	g := NewWithT(t)
	for _, before := range []string{"", "a", "ab", "abc"} {
		long := before + strings.Repeat("€", 20000)
		server := &v1alpha1.SQLServer{}
		changes := conditions.Set(&server.Status.StatusBase, 1, conditions.Stalled("Reason", long))
		message := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady).Message
		g.Expect(utf8.ValidString(message)).To(BeTrue(), "after %q", before)
		g.Expect(len(message)).To(And(BeNumerically("<=", 32768), BeNumerically(">", 32768-8)))
		g.Expect(message).To(HaveSuffix("€..."))

		recorder := events.NewFakeRecorder(1)
		conditions.Emit(recorder, server, changes)
		g.Expect(utf8.ValidString(<-recorder.Events)).To(BeTrue(), "after %q", before)
	}
	for text, want := range map[string]string{"": "", "short": "short", "exactly ten": "exactly...",
		"ten of them"[:10]: "ten of the", "größer ist es": "größe...",
		"äääääää": "äää...", "ääääö": "ääääö"} {
		g.Expect(conditions.Shorten(text, 10)).To(Equal(want), text)
	}
}
