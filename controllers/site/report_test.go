// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/told"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// healthy is a Site that answers.
func healthy() *Observed {
	return &Observed{now: now, unknownAfter: 15 * time.Second, known: true,
		Desired: Desired{&v1alpha1.Site{
			ObjectMeta: metav1.ObjectMeta{Name: "quincy", Finalizers: []string{v1alpha1.Finalizer}},
		}},
		health: sites.Health{
			Site:          "quincy",
			Engaged:       true,
			LastHeartbeat: now.Add(-3 * time.Second),
			RoundTrip:     146123 * time.Microsecond,
			Version:       "v1.36.3",
			ClusterUID:    "uid",
			Namespaces:    []string{"web"},
		}}
}

func TestTheTokenIsRenewedWithAThirdOfItsLifeLeft(t *testing.T) {
	g := NewWithT(t)
	o := healthy()
	o.member = &sites.Member{}
	o.token = sites.Token{Issued: now.Add(-15 * 24 * time.Hour), Expires: now.Add(15 * 24 * time.Hour)}
	g.Expect(plan(o.Desired, o).Steps).To(BeEmpty())
	o.now = now.Add(6 * 24 * time.Hour)
	g.Expect(plan(o.Desired, o).Done).To(BeFalse())
	g.Expect(plan(o.Desired, o).Steps).To(Equal([]reconcile.Step{RenewToken{Site: "quincy"}}))
	o.renewed.at = o.now.Add(-time.Minute)
	g.Expect(plan(o.Desired, o).Steps).To(BeEmpty(), "it was tried a minute ago")
	o.renewed, o.member = attempt{}, nil
	g.Expect(plan(o.Desired, o).Steps).To(BeEmpty(), "the site can't be used")
	o.member, o.now = &sites.Member{}, now.Add(16*24*time.Hour)
	g.Expect(plan(o.Desired, o).Steps).To(BeEmpty(), "it has ended: a person joins the site again")
	o.token, o.now = sites.Token{}, now
	g.Expect(plan(o.Desired, o).Steps).To(BeEmpty(), "a token that does not end")
	o.token = sites.Token{Issued: now, Expires: now.Add(365 * 24 * time.Hour)}
	g.Expect(plan(o.Desired, o).Steps).To(HaveLen(1), "one of an earlier release lives longer than any that is made now")
}

// The token before is revoked once the site is engaged with another one, and not while it is itself in use.
func TestTheFormerTokenIsRevoked(t *testing.T) {
	g := NewWithT(t)
	o := healthy()
	former, present := sites.BoundSecret{Name: "a", UID: "1"}, sites.BoundSecret{Name: "b", UID: "2"}
	o.member, o.former = &sites.Member{}, former
	o.token = sites.Token{Issued: now, Expires: now.Add(sites.MaxTokenLife), Secret: former}
	g.Expect(plan(o.Desired, o).Steps).To(BeEmpty(), "the new one has not been read yet")
	o.token.Secret = present
	g.Expect(plan(o.Desired, o).Steps).To(Equal([]reconcile.Step{RevokeToken{Site: "quincy", Former: former}}))
	o.member = nil
	g.Expect(plan(o.Desired, o).Steps).To(BeEmpty(), "the site can't be used")
	o.member, o.former = &sites.Member{}, sites.BoundSecret{}
	g.Expect(plan(o.Desired, o).Steps).To(BeEmpty(), "there is none")
}

// That a token cannot be renewed shows when it is so, days before it ends.
func TestATokenThatCannotBeRenewedIsTold(t *testing.T) {
	g := NewWithT(t)
	told := func(o *Observed) *metav1.Condition {
		fill(o)
		return meta.FindStatusCondition(o.site.Status.Conditions, v1alpha1.ConditionTokenRenewed)
	}
	o := healthy()
	g.Expect(told(o)).To(BeNil(), "its token was not read")
	o.member = &sites.Member{}
	g.Expect(told(o)).
		To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Message", ContainSubstring("no token that ends"))))
	o.token = sites.Token{Issued: now.Add(-25 * 24 * time.Hour), Expires: now.Add(5 * 24 * time.Hour)}
	g.Expect(told(o)).
		To(And(HaveField("Status", metav1.ConditionTrue),
			HaveField("Message", ContainSubstring("ends at "+o.token.Expires.UTC().Format(time.RFC3339)))))
	o.renewed = attempt{now, errors.New("serviceaccounts/token is forbidden")}
	g.Expect(told(o)).
		To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonTokenNotRenewed),
			HaveField("Message", And(ContainSubstring("is forbidden"), ContainSubstring("kubectl geosql site join quincy")))))
	o.member = nil
	g.Expect(told(o)).To(HaveField("Status", metav1.ConditionFalse), "a site that is silent changes nothing")
	o.member, o.token.Issued, o.token.Expires = &sites.Member{}, now, now.Add(sites.MaxTokenLife)
	g.Expect(told(o)).To(HaveField("Status", metav1.ConditionTrue))
}

// What the heartbeat measures is the link to the site of the manager that asks.
func TestTheLinkToTheHubsSiteIsMeasured(t *testing.T) {
	g := NewWithT(t)
	o := healthy()
	fill(o)
	g.Expect(o.site.Status.Links).To(BeEmpty(), "the hub is no site")
	o.hub = "tukwila"
	fill(o)
	g.Expect(o.site.Status.Links).To(ConsistOf(v1alpha1.SiteLinkStatus{To: "tukwila",
		RoundTrip: &metav1.Duration{Duration: 146100 * time.Microsecond},
		Measured:  &metav1.Time{Time: now.Add(-3 * time.Second)}}))
	o.health.LastHeartbeat, o.health.RoundTrip = now.Add(time.Minute), 80*time.Millisecond
	fill(o)
	g.Expect(o.site.Status.Links[0].RoundTrip.Duration).To(Equal(80*time.Millisecond), "another path")
	o.health.LastHeartbeat = now.Add(2 * time.Minute)
	fill(o)
	g.Expect(o.site.Status.Links[0].Measured.Time).To(Equal(now.Add(time.Minute)), "a time alone is not written")
	o.hub = ""
	fill(o)
	g.Expect(o.site.Status.Links).To(BeEmpty())
}

func TestConditionsOfASite(t *testing.T) {
	silent := errors.New("no route to host")
	for _, c := range []struct {
		name     string
		change   func(*Observed)
		ready    metav1.ConditionStatus
		reason   string
		progress map[string]metav1.ConditionStatus
		says     string
	}{
		{"it answers", func(*Observed) {}, "True", v1alpha1.ReasonSiteReady,
			map[string]metav1.ConditionStatus{"Reconciling": "False", "Stalled": "False"}, "namespaces web"},
		{"one heartbeat is missing", func(o *Observed) { o.health.Cause = silent }, "True", v1alpha1.ReasonSiteReady,
			nil, ""},
		{"silent for 15 s",
			func(o *Observed) { o.health.Cause = silent; o.health.LastHeartbeat = now.Add(-15 * time.Second) },
			"Unknown", v1alpha1.ReasonSiteUnreachable, map[string]metav1.ConditionStatus{"Stalled": "False"},
			"no route to host"},
		{"never answered", func(o *Observed) { o.health = sites.Health{Cause: silent} }, "Unknown",
			v1alpha1.ReasonSiteUnreachable, nil, "has not answered yet"},
		{"not seen yet", func(o *Observed) { o.known = false; o.health = sites.Health{} }, "Unknown",
			v1alpha1.ReasonConnecting, nil, ""},
		{"caches are filled", func(o *Observed) { o.health = sites.Health{} }, "Unknown", v1alpha1.ReasonConnecting, nil,
			""},
		{"a wrong kubeconfig", func(o *Observed) {
			o.health = sites.Health{Cause: &sites.KubeconfigError{Site: "quincy", Secret: "geosql-system/quincy",
				Reason: "it refers to files"}}
		}, "False", v1alpha1.ReasonKubeconfigInvalid,
			map[string]metav1.ConditionStatus{"Stalled": "True", "Reconciling": "False"}, "site join quincy"},
		{"credentials refused", func(o *Observed) {
			o.health = sites.Health{Cause: &sites.CredentialsError{Site: "quincy", Cause: errors.New("401")}}
		},
			"False", v1alpha1.ReasonCredentialsDenied, map[string]metav1.ConditionStatus{"Stalled": "True"}, "401"},
		{"credentials ended", func(o *Observed) {
			o.health = sites.Health{Cause: &sites.CredentialsError{Site: "quincy", Cause: errors.New("401"),
				Expired: now.Add(-time.Hour)}}
		}, "False", v1alpha1.ReasonCredentialsExpired, nil, "expired at 2026-11-20T09:00:00Z"},
		{"another cluster in its place", func(o *Observed) {
			o.health = sites.Health{Cause: &sites.OtherClusterError{Site: "quincy", Was: "a", Is: "b"}}
		},
			"False", v1alpha1.ReasonOtherCluster, map[string]metav1.ConditionStatus{"Stalled": "True"}, "--new-cluster"},
		{"another hub took it over", func(o *Observed) {
			o.health.Cause = &sites.OtherHubError{Site: "quincy", Namespace: "web", Owner: sites.Owner{Hub: "b", Epoch: 2},
				Self: sites.Owner{Hub: "a", Epoch: 1}}
		},
			"False", v1alpha1.ReasonOtherHub, map[string]metav1.ConditionStatus{"Stalled": "True"},
			"Lease web/hub.geosql.dev there names b (epoch 2), this hub is a (epoch 1); nothing is done there. If this " +
				"hub is to go on with the site, end the other one's manager and run `kubectl geosql site join quincy --take-over`"},
		{"another copy of the hub took it over", func(o *Observed) {
			o.health = sites.Health{Cause: &sites.OtherHubError{Site: "quincy", Namespace: "web",
				Owner: sites.Owner{Hub: "a", Epoch: 2}, Self: sites.Owner{Hub: "a", Epoch: 1}}}
		},
			"False", v1alpha1.ReasonOtherHub, nil, "another copy of this hub"},
		{"the same cluster as another", func(o *Observed) {
			o.health = sites.Health{Cause: &sites.DuplicateClusterError{Site: "quincy", Other: "east"}}
		},
			"False", v1alpha1.ReasonDuplicateCluster, nil, "delete one of them"},
		{"a namespace missing", func(o *Observed) {
			o.health.UnusableNamespaces = map[string]string{"shop": "it does not exist there"}
		},
			"False", v1alpha1.ReasonNamespaceMissing, nil, "namespace shop: it does not exist there"},
		{"declared lost",
			func(o *Observed) { o.site.Spec.Lifecycle = v1alpha1.SiteLost; o.health.Cause = sites.ErrSiteLost },
			"False", v1alpha1.ReasonSiteLost, map[string]metav1.ConditionStatus{"Stalled": "False", "Reconciling": "False"},
			""},
		{"deleted while servers run", func(o *Observed) {
			o.site.DeletionTimestamp = &metav1.Time{Time: now}
			o.users = []string{"web/tukpub"}
		},
			"False", v1alpha1.ReasonDeleting, nil, "web/tukpub"},
		{"deleted while groups have votes there", func(o *Observed) {
			o.site.DeletionTimestamp = &metav1.Time{Time: now}
			o.voting = []string{"web/content"}
		},
			"False", v1alpha1.ReasonDeleting, nil, "web/content; name another site in their spec.voters first"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			o := healthy()
			c.change(o)
			fill(o)
			ready := meta.FindStatusCondition(o.site.Status.Conditions, "Ready")
			g.Expect(ready.Status).To(Equal(c.ready))
			g.Expect(ready.Reason).To(Equal(c.reason))
			g.Expect(ready.Message).To(ContainSubstring(c.says))
			for kind, status := range c.progress {
				g.Expect(meta.FindStatusCondition(o.site.Status.Conditions, kind).Status).To(Equal(status), kind)
			}
			g.Expect(fill(o)).To(BeEmpty(), "nothing changed, so nothing is to be told")
		})
	}
}

func TestCredentialsAreWarnedOf(t *testing.T) {
	for _, c := range []struct {
		name   string
		ends   time.Time
		status metav1.ConditionStatus
		reason string
	}{
		{"no end is known", time.Time{}, "True", v1alpha1.ReasonCredentialsGood},
		{"a month", now.Add(30 * 24 * time.Hour), "True", v1alpha1.ReasonCredentialsGood},
		{"six days", now.Add(6 * 24 * time.Hour), "False", v1alpha1.ReasonCredentialsExpireSoon},
		{"over", now, "False", v1alpha1.ReasonCredentialsExpired},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			o := healthy()
			o.health.CredentialsExpire = c.ends
			fill(o)
			got := meta.FindStatusCondition(o.site.Status.Conditions, v1alpha1.ConditionCredentialsValid)
			g.Expect(got.Status).To(Equal(c.status))
			g.Expect(got.Reason).To(Equal(c.reason))
			g.Expect(meta.FindStatusCondition(o.site.Status.Conditions, "Ready").Status).
				To(BeEquivalentTo("True"), "credentials that end do not make the site unready")
		})
	}
}

// A heartbeat alone is no reason to write: it is written with what else has changed, and with a round trip that has
// become another one, at most every 15 s.
func TestHeartbeatIsWrittenSparingly(t *testing.T) {
	g := NewWithT(t)
	o := healthy()
	fill(o)
	first := o.site.Status.LastHeartbeat.Time
	o.health.LastHeartbeat = o.health.LastHeartbeat.Add(5 * time.Second)
	o.now = o.now.Add(5 * time.Second)
	fill(o)
	g.Expect(o.site.Status.LastHeartbeat.Time).To(Equal(first))
	o.health.LastHeartbeat = o.health.LastHeartbeat.Add(time.Hour)
	o.now = o.now.Add(time.Hour)
	fill(o)
	g.Expect(o.site.Status.LastHeartbeat.Time).To(Equal(first), "nothing but the time has changed")
	o.health.RoundTrip = 250 * time.Millisecond
	fill(o)
	g.Expect(o.site.Status.LastHeartbeat.Time).To(Equal(first.Add(time.Hour + 5*time.Second)))
	g.Expect(o.site.Status.RoundTrip.Duration).To(Equal(250 * time.Millisecond))
	o.health.LastHeartbeat = o.health.LastHeartbeat.Add(5 * time.Second)
	o.health.RoundTrip = 100 * time.Millisecond
	fill(o)
	g.Expect(o.site.Status.RoundTrip.Duration).To(Equal(250*time.Millisecond), "it was written a moment ago")
	o.health.Version = "v1.99.0"
	fill(o)
	g.Expect(o.site.Status.LastHeartbeat.Time).To(Equal(first.Add(time.Hour+10*time.Second)), "what else has changed")
}

// A deleted Site stays while servers need its credentials or groups have votes there, unless it is lost.
func TestPlanDelete(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Observed)
		goes   bool
	}{
		{"with servers", func(o *Observed) { o.users = []string{"web/a"} }, false},
		{"without", func(*Observed) {}, true},
		{"with votes", func(o *Observed) { o.voting = []string{"web/content"} }, false},
		{"with votes and lost", func(o *Observed) {
			o.voting, o.site.Spec.Lifecycle = []string{"web/content"},
				v1alpha1.SiteLost
		}, true},
		{"with servers and lost", func(o *Observed) {
			o.users, o.site.Spec.Lifecycle = []string{"web/a"},
				v1alpha1.SiteLost
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := healthy()
			o.site.DeletionTimestamp = &metav1.Time{}
			c.change(o)
			NewWithT(t).Expect(planDelete(o.Desired, o).Done).To(Equal(c.goes))
			NewWithT(t).Expect(plan(o.Desired, o).Done).To(BeFalse())
		})
	}
}

// A Site that goes is taken out of what the others were told, whose process would look for it for ever.
func TestASiteThatGoesIsForgotten(t *testing.T) {
	g := NewWithT(t)
	o := healthy()
	o.site.DeletionTimestamp = &metav1.Time{Time: now}
	o.told = []toldSite{{member: &sites.Member{}, namespace: "web", names: told.Names{Keys: map[string]string{
		"site.quincy": `{"name":"quincy"}`, "site.tukwila": `{"name":"tukwila"}`}}}}
	p := planDelete(o.Desired, o)
	g.Expect(p.Done).To(BeTrue())
	g.Expect(p.Steps).To(HaveLen(1))
	step, ok := p.Steps[0].(ForgetSite)
	g.Expect(ok).To(BeTrue())
	g.Expect(step.object.Data).To(And(HaveKey("site.tukwila"), Not(HaveKey("site.quincy"))))
	o.users = []string{"web/quisec"}
	g.Expect(planDelete(o.Desired, o).Steps).To(BeEmpty(), "it stays")
}

func TestStorageClasses(t *testing.T) {
	g := NewWithT(t)
	node := func(name, zone string) corev1.Node {
		return corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": zone, "kubernetes.io/hostname": name}},
		}
	}
	in := func(zones ...string) []corev1.TopologySelectorTerm {
		return []corev1.TopologySelectorTerm{
			{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "zone", Values: zones}}},
		}
	}
	class := func(name, provisioner string, terms []corev1.TopologySelectorTerm) storagev1.StorageClass {
		return storagev1.StorageClass{
			ObjectMeta:        metav1.ObjectMeta{Name: name},
			Provisioner:       provisioner,
			AllowedTopologies: terms,
		}
	}
	capacity := func(class, zone, size string) storagev1.CSIStorageCapacity {
		q := resource.MustParse(size)
		return storagev1.CSIStorageCapacity{
			StorageClassName: class,
			Capacity:         &q,
			NodeTopology:     &metav1.LabelSelector{MatchLabels: map[string]string{"zone": zone}},
		}
	}
	s := &storage{
		classes: []storagev1.StorageClass{
			class("near", "csi", in("a")),
			class("any", "local", nil),
			class("none", "local", in("nowhere")),
			class("driver", "csi", nil),
		},
		nodes: []corev1.Node{node("n1", "a"), node("n2", "b"), node("n3", "a")},
		csiNodes: []storagev1.CSINode{
			{
				ObjectMeta: metav1.ObjectMeta{Name: "n1"},
				Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "csi"}}},
			},
			{
				ObjectMeta: metav1.ObjectMeta{Name: "n2"},
				Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "csi"}}},
			},
		},
		capacities: []storagev1.CSIStorageCapacity{
			capacity("near", "a", "10Gi"),
			capacity("near", "b", "90Gi"),
			capacity("driver", "a", "1Gi"),
			capacity("driver", "b", "2Gi"),
		},
	}
	got := map[string]v1alpha1.StorageClassStatus{}
	for _, c := range storageClasses(s) {
		got[c.Name] = c
	}
	g.Expect(got["near"].Nodes).To(Equal([]string{"n1"}), "zone a, where the driver runs")
	g.Expect(got["near"].Capacity.String()).To(Equal("10Gi"), "what is published elsewhere does not count")
	g.Expect(got["any"].Nodes).To(Equal([]string{"n1", "n2", "n3"}))
	g.Expect(got["any"].Capacity).To(BeNil())
	g.Expect(got["none"].Nodes).To(BeEmpty())
	g.Expect(got["driver"].Nodes).To(Equal([]string{"n1", "n2"}))
	g.Expect(got["driver"].Capacity.String()).To(Equal("3Gi"))
}
