// SPDX-License-Identifier: Apache-2.0

//go:build integration

package failover_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/failover"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

const (
	system  = "geosql-system"
	patient = 3 * time.Minute
	often   = 100 * time.Millisecond
)

// bed is a hub that is a voter itself, another voter, and the controller alone: the test speaks for the agents.
type bed struct {
	*testing.T
	hub, site *apiserver.Server
}

func newBed(t *testing.T) *bed {
	t.Helper()
	g := NewWithT(t)
	log.SetLogger(logr.Discard())
	b := &bed{T: t, hub: apiserver.StartHub(t), site: apiserver.StartMember(t)}
	b.hub.Namespace(t, system)
	b.site.Join(t, b.hub, system, "tukwila", "web")
	b.hub.JoinHub(t, "dublin", "web")
	for _, server := range []*apiserver.Server{b.site, b.hub} {
		lease := votes.NewLease("web", "content", "tukpub-0", votes.Configuration{})
		lease.Labels = map[string]string{
			v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
			v1alpha1.LabelGroup:     "content",
			v1alpha1.LabelNamespace: "web",
		}
		lease.Spec.LeaseTransitions = ptr.To[int32](3)
		lease.Spec.HolderIdentity = ptr.To("tukpub-0/pod/engine/nonce")
		lease.Annotations["geosql.dev/vote-state"] = string(votes.StateHeld)
		g.Expect(server.Client.Create(t.Context(), lease)).To(Succeed())
	}
	b.startManager()
	return b
}

func (b *bed) startManager() {
	b.Helper()
	g := NewWithT(b.T)
	provider := sites.NewProvider(
		sites.Options{
			Namespace:    system,
			Heartbeat:    300 * time.Millisecond,
			UnknownAfter: 1500 * time.Millisecond,
			ProbeTimeout: time.Second,
			CallTimeout:  2 * time.Second,
		},
	)
	mgr := apiserver.NewManager(b.T, b.hub.ManagerConfig(b.T), provider, apiserver.HubOptions())
	g.Expect(failover.SetupWithManager(mgr, provider, &confirmed.Log{})).To(Succeed())
	apiserver.Run(b.T, mgr)
}

// declare makes the group as its own controller would show it.
func (b *bed) declare() {
	b.Helper()
	g := NewWithT(b.T)
	group := &v1alpha1.AvailabilityGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{
			InitialPrimary: "tukpub",
			Replicas: []v1alpha1.Replica{
				{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit},
				{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly},
			},
		},
	}
	g.Expect(b.hub.Client.Create(b.Context(), group)).To(Succeed())
	now := metav1.NewTime(time.Now().Add(time.Hour))
	group.Status = v1alpha1.AvailabilityGroupStatus{GroupID: "6a8b", Primary: "tukpub-0", Term: 3,
		Voters: []v1alpha1.VoterStatus{{Site: "tukwila", State: "Held"}, {Site: "dublin", State: "Held"}},
		Replicas: []v1alpha1.ReplicaStatus{{Server: "quisec-0", Role: "SECONDARY", ObservedAt: &now,
			Promotable: &v1alpha1.Promotability{Status: metav1.ConditionTrue, Reason: "Synchronized"}}}}
	g.Expect(b.hub.Client.Status().Update(b.Context(), group)).To(Succeed())
}

func (b *bed) create(name string, kind v1alpha1.FailoverKind, to v1alpha1.ServerName) *v1alpha1.Failover {
	b.Helper()
	f := &v1alpha1.Failover{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
		Spec:       v1alpha1.FailoverSpec{Group: "content", Kind: kind, To: to},
	}
	NewWithT(b.T).Expect(b.hub.Client.Create(b.Context(), f)).To(Succeed())
	return f
}

// status of a Failover, as a function to wait for.
func (b *bed) status(name string) func() v1alpha1.FailoverStatus {
	return func() v1alpha1.FailoverStatus {
		var f v1alpha1.Failover
		_ = b.hub.Client.Get(b.Context(), client.ObjectKey{Namespace: "web", Name: name}, &f)
		return f.Status
	}
}

func lease(b *bed, at *apiserver.Server) *coordinationv1.Lease {
	var l coordinationv1.Lease
	NewWithT(
		b.T,
	).Expect(at.Client.Get(b.Context(), client.ObjectKey{Namespace: "web", Name: "geosql-content"}, &l)).
		To(Succeed())
	return &l
}

// request on the Lease at a voter, as a function to wait for.
func (b *bed) request(at *apiserver.Server) func() votes.Request {
	return func() votes.Request {
		r, _, err := votes.ParseRequest(lease(b, at).Annotations)
		NewWithT(b.T).Expect(err).NotTo(HaveOccurred())
		return r
	}
}

// annotate writes what an agent would write.
func (b *bed) annotate(at *apiserver.Server, name string, value any) {
	b.Helper()
	g := NewWithT(b.T)
	text, err := json.Marshal(value)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error {
		l := lease(b, at)
		l.Annotations[name] = string(text)
		return at.Client.Update(b.Context(), l)
	}, patient, often).Should(Succeed())
}

func TestController(t *testing.T) {
	b := newBed(t)
	b.declare()

	t.Run("asks the agents and follows their answer", func(t *testing.T) {
		g := NewWithT(t)
		f := b.create("go", v1alpha1.FailoverSwitchover, "quisec")
		g.Eventually(b.request(b.site), patient, often).
			Should(And(HaveField("ID", string(f.UID)), HaveField("To", "quisec-0"), HaveField("Failover", "go")))
		g.Expect(lease(b, b.site).Spec.HolderIdentity).
			To(HaveValue(Equal("tukpub-0/pod/engine/nonce")), "the vote is left alone")
		g.Eventually(b.status("go"), patient, often).Should(HaveField("Phase", v1alpha1.FailoverRequested))
		g.Eventually(b.request(b.hub), patient, often).
			Should(HaveField("ID", string(f.UID)), "nobody answers: the next voter has it too")
		b.annotate(
			b.hub,
			votes.AnnotationAnswer,
			votes.Answer{ID: string(f.UID), Outcome: votes.OutcomeAccepted, By: "quisec-0"},
		)
		g.Eventually(b.status("go"), patient, often).Should(HaveField("Phase", v1alpha1.FailoverRunning))
		at := metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
		b.annotate(
			b.hub,
			votes.AnnotationTimelines,
			[]votes.Timeline{
				{Term: 4, Cause: votes.CauseSwitchover, RequestID: string(f.UID), From: "tukpub-0", To: "quisec-0",
					Suspected: &at, Promoted: &at, Outcome: votes.OutcomeDone},
			},
		)
		b.annotate(
			b.hub,
			votes.AnnotationAnswer,
			votes.Answer{
				ID:      string(f.UID),
				Outcome: votes.OutcomeDone,
				Reason:  votes.ReasonPromoted,
				Message: "quisec-0 is primary",
				Term:    4,
			},
		)
		g.Eventually(b.status("go"), patient, often).
			Should(And(HaveField("Outcome", v1alpha1.FailoverSucceeded), HaveField("Term", int64(4)),
				HaveField("From", "tukpub-0"), HaveField("Timeline.Promoted", Not(BeNil())), HaveField("Reason", "Promoted")))
		g.Consistently(func() error {
			return b.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "content-4"}, &v1alpha1.Failover{})
		}, "1s", often).ShouldNot(Succeed(), "its election is not recorded twice")
	})

	t.Run("refuses without touching anything", func(t *testing.T) {
		g := NewWithT(t)
		b.create("no", v1alpha1.FailoverSwitchover, "dubcfg")
		g.Eventually(b.status("no"), patient, often).
			Should(And(HaveField("Outcome", v1alpha1.FailoverRefused), HaveField("Reason", "NotAReplica")))
		g.Expect(b.request(b.site)().Failover).To(Equal("go"))
	})

	t.Run("records the agents' own election", func(t *testing.T) {
		g := NewWithT(t)
		at := metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
		own := votes.Timeline{
			Term:      5,
			Cause:     votes.CauseAutomatic,
			From:      "quisec-0",
			To:        "tukpub-0",
			Suspected: &at,
			Outcome:   votes.OutcomeAccepted,
		}
		b.annotate(b.site, votes.AnnotationTimelines, []votes.Timeline{own})
		g.Eventually(b.status("content-5"), patient, often).
			Should(And(HaveField("Phase", v1alpha1.FailoverRunning), HaveField("Cause", "Automatic")))
		own.Outcome, own.Promoted, own.Lost = votes.OutcomeDone, &at, &votes.LostRange{
			Databases: []votes.LostDatabase{{Name: "Content", FromLSN: "9"}},
		}
		b.annotate(b.site, votes.AnnotationTimelines, []votes.Timeline{own})
		g.Eventually(b.status("content-5"), patient, often).
			Should(And(HaveField("Outcome", v1alpha1.FailoverSucceeded), HaveField("Lost.Databases", HaveLen(1))))
	})

	t.Run("uses the voter that answers", func(t *testing.T) {
		g := NewWithT(t)
		b.site.Wire.Cut()
		defer b.site.Wire.Mend()
		f := b.create("around", v1alpha1.FailoverPause, "")
		g.Eventually(b.request(b.hub), patient, often).Should(HaveField("ID", string(f.UID)))
		g.Eventually(b.status("around"), patient, often).Should(HaveField("Voter", Not(BeEmpty())))
		b.annotate(b.hub, votes.AnnotationAnswer, votes.Answer{ID: string(f.UID), Outcome: votes.OutcomeDone})
		g.Eventually(b.status("around"), patient, often).Should(HaveField("Outcome", v1alpha1.FailoverSucceeded))
	})
}
