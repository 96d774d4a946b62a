// SPDX-License-Identifier: Apache-2.0

package backupstore

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/stores"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

func TestPlan(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tried := func(before time.Duration, err error) *Attempt { return &Attempt{At: noon.Add(-before), Err: err} }
	away := errors.New("connection refused")
	for _, row := range []struct {
		why     string
		missing string
		tried   *Attempt
		tries   bool
		reason  string
		status  metav1.ConditionStatus
	}{
		{why: "at first", tries: true, reason: v1alpha1.ReasonStoreTesting, status: metav1.ConditionFalse},
		{why: "it answered", tried: tried(time.Minute, nil), reason: v1alpha1.ReasonStoreReady, status: metav1.ConditionTrue},
		{why: "it answered long ago", tried: tried(tryEvery, nil), tries: true, reason: v1alpha1.ReasonStoreReady,
			status: metav1.ConditionTrue},
		{why: "it did not", tried: tried(time.Second, away), reason: v1alpha1.ReasonStoreUnreachable,
			status: metav1.ConditionUnknown},
		{why: "it did not, a while ago", tried: tried(tryAgain, away), tries: true, reason: v1alpha1.ReasonStoreUnreachable,
			status: metav1.ConditionUnknown},
		{why: "a Secret is missing", missing: "Secret keys is not there", reason: v1alpha1.ReasonReferenceMissing,
			status: metav1.ConditionFalse},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			d := Desired{Store: inBucket, Missing: row.missing}
			p := plan(d, Observed{Now: noon, Tried: row.tried})
			g.Expect(p.Outcome.Reason).To(Equal(row.reason))
			g.Expect(p.Outcome.Ready).To(Equal(row.status))
			g.Expect(len(p.Steps) > 0).To(Equal(row.tries))
		})
	}
	g := NewWithT(t)
	p := planDelete(Desired{Store: inBucket, Policies: []string{"nightly"}}, Observed{})
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Outcome.Message).To(ContainSubstring("nightly"))
	g.Expect(planDelete(Desired{Store: inBucket}, Observed{}).Done).To(BeTrue())
}

// A store on a server's volume is what the server's sidecar says of it, once that is told to keep it.
func TestPlanOfAVolume(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	order, away := []byte(`{"name":"away"}`), errors.New("connection refused")
	good := &stores.Status{Store: "away", Tried: noon, RoomBytes: 1}
	for _, row := range []struct {
		why     string
		missing string
		told    reconcile.Reading[[]byte]
		says    reconcile.Reading[*stores.Status]
		tells   bool
		reason  string
		status  metav1.ConditionStatus
		message string
	}{
		{why: "at first", told: reconcile.Read[[]byte](nil), says: reconcile.Read[*stores.Status](nil), tells: true,
			reason: v1alpha1.ReasonStoreTesting, status: metav1.ConditionFalse, message: "quirep-0 has not tried it yet"},
		{why: "another quota", told: reconcile.Read([]byte("{}")), says: reconcile.Read(good), tells: true,
			reason: v1alpha1.ReasonStoreReady, status: metav1.ConditionTrue},
		{why: "it was tried", told: reconcile.Read(order), says: reconcile.Read(good), reason: v1alpha1.ReasonStoreReady,
			status: metav1.ConditionTrue},
		{why: "it is full", told: reconcile.Read(order), says: reconcile.Read(&stores.Status{Store: "away", Tried: noon,
			Error: "no room"}), reason: v1alpha1.ReasonStoreUnreachable, status: metav1.ConditionUnknown, message: "no room"},
		{why: "the sidecar is told and has not tried it", told: reconcile.Read(order),
			says: reconcile.Read(&stores.Status{Store: "away"}), reason: v1alpha1.ReasonStoreTesting,
			status: metav1.ConditionFalse},
		{why: "the site does not answer", told: reconcile.Asked[[]byte](nil, away), says: reconcile.Read(good),
			reason: v1alpha1.ReasonStoreUnreachable, status: metav1.ConditionUnknown, message: "connection refused"},
		{why: "the sidecar does not", told: reconcile.Read(order), says: reconcile.Asked[*stores.Status](nil, away),
			reason: v1alpha1.ReasonStoreUnreachable, status: metav1.ConditionUnknown, message: "connection refused"},
		{why: "there is no such server", missing: "SQLServer quirep is not there", told: reconcile.Asked[[]byte](nil, away),
			reason: v1alpha1.ReasonReferenceMissing, status: metav1.ConditionFalse},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			d := Desired{Store: onVolume("quirep"), Missing: row.missing, Order: order}
			p := plan(d, Observed{Now: noon, Told: row.told, Says: row.says})
			g.Expect(p.Outcome.Reason).To(Equal(row.reason))
			g.Expect(p.Outcome.Ready).To(Equal(row.status))
			g.Expect(p.Outcome.Message).To(ContainSubstring(row.message))
			if !row.tells {
				g.Expect(p.Steps).To(BeEmpty())
				return
			}
			g.Expect(p.Steps).To(Equal([]reconcile.Step{Tell{Server: "quirep", Order: order}}))
		})
	}
	g := NewWithT(t)
	g.Expect(Preview(onVolume("quirep"))[0].Describe()).To(ContainSubstring("tell quirep-0 to keep the store"))
}

func onVolume(server v1alpha1.ServerName) *v1alpha1.BackupStore {
	return &v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "away"},
		Spec: v1alpha1.BackupStoreSpec{Volume: &v1alpha1.ServerVolume{Server: server}}}
}

// A store on a server's volume goes once the server is told no more of it, or nobody expects that back.
func TestDeletionOfAVolume(t *testing.T) {
	away := errors.New("connection refused")
	expected := sites.GoneFor(map[v1alpha1.ServerName]string{"quirep": ""})
	for why, row := range map[string]struct {
		policies []string
		told     reconcile.Reading[[]byte]
		gone     sites.Gone
		done     bool
		tells    int
		message  string
	}{
		"a policy names it": {policies: []string{"nightly"}, told: reconcile.Read([]byte("x")), gone: expected,
			message: "nightly"},
		"the server has the order": {told: reconcile.Read([]byte("x")), gone: expected, done: true, tells: 1},
		"it has not":               {told: reconcile.Read[[]byte](nil), gone: expected, done: true},
		"it does not answer": {told: reconcile.Asked[[]byte](nil, away), gone: expected,
			message: "set the lifecycle of its Site to Lost"},
		"it is gone": {told: reconcile.Asked[[]byte](nil, away),
			gone: sites.GoneFor(map[v1alpha1.ServerName]string{}), done: true},
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			p := planDelete(Desired{Store: onVolume("quirep"), Policies: row.policies, Gone: row.gone}, Observed{Told: row.told})
			g.Expect(p.Done).To(Equal(row.done))
			g.Expect(p.Steps).To(HaveLen(row.tells))
			g.Expect(p.Outcome.Message).To(ContainSubstring(row.message))
		})
	}
}

func TestWhatIsReportedOfAVolume(t *testing.T) {
	g := NewWithT(t)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := Desired{Store: onVolume("quirep")}
	s := reported(d, Observed{Says: reconcile.Read(&stores.Status{Tried: noon, Bytes: 3, RoomBytes: 5})})
	g.Expect(s.Tested.Time).To(BeTemporally("==", noon))
	g.Expect(s.Volume).To(Equal(&v1alpha1.ServerVolumeStatus{Bytes: 3, RoomBytes: 5}))
	d.Store.Status = s
	s = reported(d, Observed{Says: reconcile.Read(&stores.Status{Tried: noon.Add(time.Hour), Bytes: 8, Error: "no room"})})
	g.Expect(s.Tested.Time).To(BeTemporally("==", noon), "it failed since")
	g.Expect(s.Volume.RoomBytes).To(BeZero())
	g.Expect(reported(d, Observed{Says: reconcile.Asked[*stores.Status](nil, errors.New("away"))}).Volume).NotTo(BeNil())
}

// inBucket is a store in some bucket.
var inBucket = &v1alpha1.BackupStore{Spec: v1alpha1.BackupStoreSpec{S3: &v1alpha1.S3Bucket{}}}
