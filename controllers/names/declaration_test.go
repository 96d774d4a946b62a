// SPDX-License-Identifier: Apache-2.0

package names

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
)

func keysOf(t *testing.T, n orders.Names) map[string]string {
	t.Helper()
	keys, err := n.Keys()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return keys
}

// A hub that was made anew knows nothing yet, then one object after another, and of a group nothing but its manifest.
// What the sites were told stays until the hub says something else of the same object.
func TestARebuiltHubTakesNothingFromASite(t *testing.T) {
	group := orders.NamedGroup{Name: "content", Listener: "content", Port: 1433, Servers: []string{"tukpub", "quisec"},
		Voters: []string{"tukwila", "quincy", "dublin"}, Primary: "quisec", Readers: []string{"tukpub"},
		Outside: []string{"dubold"}}
	all := orders.Names{
		Sites:   []orders.NamedSite{{Name: "quincy"}, {Name: "tukwila"}},
		Servers: []orders.NamedServer{{Name: "quisec", Site: "quincy"}, {Name: "tukpub", Site: "tukwila"}},
		Groups:  []orders.NamedGroup{group},
	}
	applied := orders.NamedGroup{Name: "content", Listener: "content", Port: 1444, Servers: []string{"tukpub", "quisec"}}
	merged := group
	merged.Port = 1444
	elected := applied
	elected.Voters, elected.Primary = []string{"tukwila"}, "tukpub"
	for name, c := range map[string]struct {
		hub  declaration
		want func(*orders.Names)
	}{
		"it knows nothing": {declaration{}, func(*orders.Names) {}},
		"it knows a site and no server": {
			declaration{Names: orders.Names{Sites: []orders.NamedSite{{Name: "quincy", Exposure: "NodePort"}}}},
			func(n *orders.Names) {
				n.Sites = []orders.NamedSite{{Name: "quincy", Exposure: "NodePort"}, {Name: "tukwila"}}
			},
		},
		"it has the group's manifest, and no status": {
			declaration{Names: orders.Names{Groups: []orders.NamedGroup{applied}}},
			func(n *orders.Names) { n.Groups = []orders.NamedGroup{merged} },
		},
		"it knows who votes": {
			declaration{Names: orders.Names{Groups: []orders.NamedGroup{elected}}},
			func(n *orders.Names) { n.Groups = []orders.NamedGroup{elected} },
		},
		"it says that a site is going": {
			declaration{withdrawn: []string{"tukwila"}},
			func(n *orders.Names) { n.Sites = n.Sites[:1] },
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			want := all
			c.want(&want)
			got, err := c.hub.tell(keysOf(t, all))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(orders.DecodeNames(got)).To(Equal(want))
		})
	}
}

// A group that nothing was ever told of has no voters to keep.
func TestANewGroupIsToldAsItIs(t *testing.T) {
	g := NewWithT(t)
	n := orders.Names{Groups: []orders.NamedGroup{{Name: "content", Listener: "content", Primary: "tukpub"}}}
	g.Expect(declaration{Names: n}.tell(nil)).To(Equal(keysOf(t, n)))
}

// A Site goes from what others are told when it is being deleted and nothing in the namespace is left of it.
func TestWhenASiteGoes(t *testing.T) {
	g := NewWithT(t)
	server := v1alpha1.SQLServer{Spec: v1alpha1.SQLServerSpec{Site: "quincy"}}
	group := v1alpha1.AvailabilityGroup{
		Status: v1alpha1.AvailabilityGroupStatus{Voters: []v1alpha1.VoterStatus{{Site: "quincy"}}},
	}
	site := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "quincy"}}
	g.Expect(siteGoes(site, nil, nil)).To(BeFalse())
	site.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	g.Expect(siteGoes(site, []v1alpha1.SQLServer{server}, nil)).To(BeFalse())
	g.Expect(siteGoes(site, nil, []v1alpha1.AvailabilityGroup{group})).To(BeFalse())
	g.Expect(siteGoes(site, nil, nil)).To(BeTrue())
	site.Spec.Lifecycle = v1alpha1.SiteLost
	g.Expect(siteGoes(site, []v1alpha1.SQLServer{server}, nil)).To(BeTrue())
}

// Of servers that are not declared - the hub was made anew, and the group's manifest came first - nobody knows where
// they are: what a listener leads to stays.
func TestAListenerKeepsItsAddressWhileServersAreNotDeclared(t *testing.T) {
	for declared, living := range map[int]bool{0: false, 1: false, 2: true} {
		g := NewWithT(t)
		servers := []v1alpha1.ServerName{"tukpub", "quisec"}
		find := func(s v1alpha1.ServerName) (*serverView, error) {
			if s == servers[0] && declared > 0 || declared > 1 {
				return view("tukwila", "10.101.0.7"), nil
			}
			return nil, nil
		}
		v := &groupView{}
		g.Expect(findPrimary(v, "", servers, find)).To(Succeed())
		g.Expect(v.living("dublin") != nil).To(Equal(living), "%d declared", declared)
	}
}

// Of an object that was suspended before its names were begun with sites are told nothing; what they were told of one
// follows its elections all the same.
func TestWhatSitesAreToldOfASuspendedObject(t *testing.T) {
	g := NewWithT(t)
	names := func(primary string) orders.Names {
		return orders.Names{Servers: []orders.NamedServer{{Name: "tukpub", Site: "tukwila"}},
			Groups: []orders.NamedGroup{{Name: "content", Listener: "content", Voters: []string{"tukwila"}, Primary: primary}}}
	}
	resting := []string{orders.ServerKey("tukpub"), orders.GroupKey("content")}
	g.Expect(declaration{Names: names("tukpub"), resting: resting}.tell(nil)).To(BeEmpty())
	g.Expect(declaration{Names: names("quisec"), resting: resting}.tell(keysOf(t, names("tukpub")))).
		To(Equal(keysOf(t, names("quisec"))))
}
