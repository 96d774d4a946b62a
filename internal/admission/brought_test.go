// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
)

// manual has a person bring files.
var manual = &v1alpha1.Initialization{Method: v1alpha1.InitializeManual,
	Manual: &v1alpha1.ManualInitialization{Folder: "disk"}}

// Files are brought to a subscriber whose own agent applies them. Where the agent has them already, whoever declares
// that is told so.
func TestFilesThatNobodyNeeds(t *testing.T) {
	snapshot := by(v1alpha1.InitializeSnapshot)
	for name, c := range map[string]struct {
		published, own *v1alpha1.Initialization
		change         func(*v1alpha1.Subscription)
		// subscription and publication say which of the two is refused, and why.
		subscription, publication string
	}{
		"to an agent of its own": {own: manual},
		"to a pushed one of its own": {own: manual, change: func(s *v1alpha1.Subscription) {
			s.Spec.Type, s.Spec.AgentAt = v1alpha1.SubscriptionPush, v1alpha1.AgentAtSubscriber
		}},
		"to all": {published: manual},
		"to all, whose agents run at the distributor": {published: manual, change: func(s *v1alpha1.Subscription) {
			s.Spec.Type = v1alpha1.SubscriptionPush
		}, subscription: "runs at the distributor", publication: "the agent of Subscription dublin runs at the distributor"},
		"to one, whose agent runs at the distributor": {own: manual, change: func(s *v1alpha1.Subscription) {
			s.Spec.Type = v1alpha1.SubscriptionPush
		}, subscription: "allowed are Snapshot, Compare, Backup and ReplicationSupportOnly"},
		"to all but one at the distributor": {published: manual, own: snapshot, change: func(s *v1alpha1.Subscription) {
			s.Spec.Type = v1alpha1.SubscriptionPush
		}},
		"to the distributor itself": {own: manual, change: func(s *v1alpha1.Subscription) {
			s.Spec.Subscriber.Server = "dist"
		}, subscription: "Subscription dublin is at dist, which is the distributor"},
		"to the distributor itself, by all": {published: manual, change: func(s *v1alpha1.Subscription) {
			s.Spec.Subscriber.Server = "dist"
		}, subscription: "which is the distributor", publication: "let it have a method of its own"},
		"packed for an agent that has them": {own: by(v1alpha1.InitializeCompressedSnapshot),
			change: func(s *v1alpha1.Subscription) {
				s.Spec.Type = v1alpha1.SubscriptionPush
			}, subscription: "runs at the distributor"},
		"packed for an agent elsewhere": {published: by(v1alpha1.InitializeCompressedSnapshot)},
		"fetched": {own: snapshot, change: func(s *v1alpha1.Subscription) {
			s.Spec.Subscriber.Server = "dist"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, p, s := NewWorld(), &v1alpha1.Publication{}, &v1alpha1.Subscription{}
			p.Name, s.Name, s.Spec.Publication, s.Spec.Subscriber.Server = "articles", "dublin", "articles", "dubsub"
			p.Spec.Distributor, p.Spec.Initialization, s.Spec.Initialization = "main", c.published, c.own
			w.Publications[p.Name], w.Subscriptions[s.Name] = p, s
			w.Distributors["main"] = &v1alpha1.Distributor{Spec: v1alpha1.DistributorSpec{Server: "dist"}}
			if c.change != nil {
				c.change(s)
			}
			for _, x := range []struct {
				refused string
				says    string
			}{
				{errorOf(w.subscription(top, s).ToAggregate()), c.subscription},
				{errorOf(w.publication(top, p).ToAggregate()), c.publication},
			} {
				if x.says == "" {
					g.Expect(x.refused).To(BeEmpty())
					continue
				}
				g.Expect(x.refused).To(And(ContainSubstring("spec.initialization.method"), ContainSubstring(x.says)))
			}
		})
	}
}

func errorOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
