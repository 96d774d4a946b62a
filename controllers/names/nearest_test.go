// SPDX-License-Identifier: Apache-2.0

package names

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// linked is a Site with links.
func linked(name string, links map[v1alpha1.SiteName]time.Duration) v1alpha1.Site {
	s := v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for to, d := range links {
		s.Spec.Links = append(s.Spec.Links, v1alpha1.SiteLink{To: to, RoundTrip: &metav1.Duration{Duration: d}})
	}
	return s
}

// Readers are sent to the copy at their own site, else to the nearest one that has an address.
func TestReadersAreSentToTheNearestCopy(t *testing.T) {
	links := linksOf([]v1alpha1.Site{
		linked(
			"tukwila",
			map[v1alpha1.SiteName]time.Duration{"quincy": 4 * time.Millisecond, "dublin": 150 * time.Millisecond},
		),
		linked("quincy", map[v1alpha1.SiteName]time.Duration{"dublin": 146 * time.Millisecond}),
		linked("oslo", nil),
	})
	tukwila, tukwila2, quincy, dublin := view("tukwila", "10.101.0.7"), view("tukwila", "10.101.0.8"),
		view("quincy", "10.102.0.5"), view("dublin", "10.103.0.3")
	for name, c := range map[string]struct {
		at       v1alpha1.SiteName
		readable []*serverView
		leads    []string
	}{
		"at the site itself": {"dublin", []*serverView{tukwila, quincy, dublin}, []string{"10.103.0.3:1433"}},
		"two at the site": {"tukwila", []*serverView{tukwila, tukwila2, dublin},
			[]string{"10.101.0.7:1433", "10.101.0.8:1433"}},
		"the nearest of others":    {"dublin", []*serverView{tukwila, quincy}, []string{"10.102.0.5:1433"}},
		"by the other site's word": {"quincy", []*serverView{tukwila, dublin}, []string{"10.101.0.7:1433"}},
		"one without an address counts not": {"dublin", []*serverView{view("dublin", ""), tukwila},
			[]string{"10.101.0.7:1433"}},
		"nothing declared: all": {"oslo", []*serverView{tukwila, quincy},
			[]string{"10.101.0.7:1433", "10.102.0.5:1433"}},
		"nobody": {"dublin", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			group := &groupView{
				namespace: "web",
				name:      "content",
				listener:  v1alpha1.Listener{Name: "content", Port: 1433},
				readable:  c.readable,
				links:     links,
			}
			has := cluster{}
			steps, _ := plan(c.at, groupNames(group, c.at), ownLabels("web", v1alpha1.LabelGroup, "content"), has)
			has.carryOut(steps, len(steps))
			g.Expect(has.leads("content-ro")).To(ConsistOf(c.leads))
		})
	}
}
