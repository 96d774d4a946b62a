// SPDX-License-Identifier: Apache-2.0

package orders_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
)

var now = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func content() orders.Group {
	return orders.Group{Name: "content", Namespace: "web", Voters: []orders.Voter{{
		Site: "tukwila", Server: "https://10.0.0.1:6443", CA: []byte("ca"), Account: "geosql-agent-content", AccountUID: "u1",
		Token: "t0ken", Issued: now, Expires: now.Add(4 * time.Hour),
	}}}
}

func TestOrdersSurviveTheirSecret(t *testing.T) {
	g := NewWithT(t)
	data, err := content().Encode()
	g.Expect(err).NotTo(HaveOccurred())
	groups, errs := orders.DecodeAll(map[string][]byte{orders.Key("content"): data, "something": []byte("else")})
	g.Expect(errs).To(BeEmpty())
	g.Expect(groups).To(Equal(map[string]orders.Group{"content": content()}))
}

// Orders with timings lie under a key that a sidecar which does not know timings passes over, and are read with them
// only if they are safe.
func TestOrdersWithTimings(t *testing.T) {
	g := NewWithT(t)
	timed := content()
	declared := &v1alpha1.GroupTimings{
		VoteExpiry: &metav1.Duration{Duration: 20 * time.Second},
		WriteLease: &metav1.Duration{Duration: 12 * time.Second},
	}
	in := orders.Timings(declared, ballot.DefaultTimings())
	timed.Timings = &in
	g.Expect(timed.Timings.Expiry).To(Equal(20 * time.Second))
	g.Expect(timed.Timings.Renew).To(Equal(ballot.DefaultTimings().Renew), "what is left out has its default")
	g.Expect(timed.Key()).NotTo(HavePrefix("group."))
	data, err := timed.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	secret := map[string][]byte{timed.Key(): data}
	groups, errs := orders.DecodeAll(secret)
	g.Expect(errs).To(BeEmpty())
	g.Expect(groups).To(Equal(map[string]orders.Group{"content": timed}))
	one, ok := orders.Secret(secret).Of("content")
	g.Expect(ok).To(BeTrue())
	g.Expect(one).To(Equal(timed))
	_, ok = orders.Secret(secret).Of("other")
	g.Expect(ok).To(BeFalse())

	groups, errs = orders.DecodeAll(map[string][]byte{orders.Key("content"): data})
	g.Expect(groups).To(BeEmpty(), "not under the other key")
	g.Expect(errs).To(HaveLen(1))
	timed.Timings.WriteLease = 30 * time.Second
	data, err = timed.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	groups, errs = orders.DecodeAll(map[string][]byte{timed.Key(): data})
	g.Expect(groups).To(BeEmpty(), "a write lease that outlives the votes")
	g.Expect(errs).To(ConsistOf(MatchError(ContainSubstring("must not exceed the vote expiry"))))
	g.Expect(orders.Timings(nil, ballot.NewGroup())).To(Equal(ballot.NewGroup()))
}

// One group's unreadable orders keep no other group from its own, and no message shows what they hold.
func TestUnreadableOrdersAreLeftOut(t *testing.T) {
	g := NewWithT(t)
	data, err := content().Encode()
	g.Expect(err).NotTo(HaveOccurred())
	for _, bad := range []string{`{"name":"other","voters":[{"token":"t0ken"`, `{"name":"third","namespace":"web"}`,
		`{"voters":[{"token":"t0ken"}]}`} {
		groups, errs := orders.DecodeAll(map[string][]byte{orders.Key("content"): data, orders.Key("other"): []byte(bad)})
		g.Expect(groups).To(HaveLen(1))
		g.Expect(errs).To(HaveLen(1))
		g.Expect(errs[0].Error()).NotTo(ContainSubstring("t0ken"))
	}
}

func TestTheLifeThatIsLeft(t *testing.T) {
	g := NewWithT(t)
	v := content().Voters[0]
	g.Expect(v.Left(now)).To(Equal(1.0))
	g.Expect(v.Left(now.Add(3 * time.Hour))).To(Equal(0.25))
	g.Expect(v.Left(now.Add(5 * time.Hour))).To(BeZero())
	v.Token = ""
	g.Expect(v.Left(now)).To(BeZero(), "no token has no life")
}

// A group that was made anew under the name of one that was to end does not meet the old mark.
func TestTheMarkOfAFormerGroupDoesNotCount(t *testing.T) {
	for name, c := range map[string]struct {
		marked, seen string
		ends         bool
	}{
		"the group itself":                        {"6A8B", "6a8b", true},
		"another one of its name":                 {"6A8B", "7C9D", false},
		"one that nobody has seen":                {"6A8B", "", true},
		"by a manager that does not name the one": {"", "7C9D", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			group := content()
			group.EndingID, group.SeenID = c.marked, c.seen
			g.Expect(group.Ends()).To(BeFalse(), "it is not marked")
			group.Ending = true
			g.Expect(group.Ends()).To(Equal(c.ends))
		})
	}
}
