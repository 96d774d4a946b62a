// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/test/e2e/bed"
)

// slowerWithin is how soon a link that becomes slower is told.
const slowerWithin = 2 * time.Minute

// A link takes twice as long as its Sites declare: both say so within two minutes, by what servers' agents measure.
// That the group serves over it is another matter.
func TestALinkThatBecomesSlowerIsReported(t *testing.T) {
	turn := groupA.Disturbs(t, 7, 110)
	g := NewWithT(t)
	gt := inTurn(t, groupA)
	b := gt.b
	turn.Alone()
	b.ResetWan(t)
	awaitLink(t, b, "dublin", "tukwila", metav1.ConditionFalse, v1alpha1.ReasonLinksAsDeclared)
	awaitLink(t, b, "tukwila", "dublin", metav1.ConditionFalse, v1alpha1.ReasonLinksAsDeclared)

	began := time.Now()
	b.Wan(t, "set", "tukwila", "dublin", "--rtt", "300ms")
	for from, to := range map[string]v1alpha1.SiteName{"tukwila": "dublin", "dublin": "tukwila"} {
		l := awaitLink(t, b, from, to, metav1.ConditionTrue, v1alpha1.ReasonLinkSlower)
		took := time.Since(began)
		t.Logf("%.0f s after the link was slowed Site %s says %s, between %s and %s", took.Seconds(), from,
			l.RoundTrip.Duration, l.Server, l.Peer)
		g.Expect(took).To(BeNumerically("<", slowerWithin))
		g.Expect(l.Slower).To(BeTrue())
		g.Expect(l.RoundTrip.Seconds()).To(BeNumerically("~", 0.3, 0.05))
		g.Expect(l.Declared.RoundTrip.Duration).To(Equal(150 * time.Millisecond))
		g.Expect(l.CongestionControl).NotTo(BeEmpty())
		g.Expect(l.Window).To(HaveValue(BeNumerically(">", 0)))
	}
	// The link between two others is as it was, whatever the first two say.
	site, _, err := readSite(t.Context(), b, "quincy")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(site.Status.Links).NotTo(ContainElement(HaveField("Slower", true)))
}

// awaitLink waits until a Site says LinkSlowerThanDeclared so, and has a measurement of a link.
func awaitLink(
	t *testing.T,
	b *bed.Bed,
	from string,
	to v1alpha1.SiteName,
	status metav1.ConditionStatus,
	reason string,
) v1alpha1.SiteLinkStatus {
	t.Helper()
	var found v1alpha1.SiteLinkStatus
	bed.Wait(t, fmt.Sprintf("LinkSlowerThanDeclared of Site %s is %s", from, status), slowerWithin,
		func(ctx context.Context) (bool, string, error) {
			site, _, err := readSite(ctx, b, from)
			if err != nil {
				return false, "", err
			}
			for _, l := range site.Status.Links {
				if l.To == to {
					found = l
				}
			}
			c := meta.FindStatusCondition(site.Status.Conditions, v1alpha1.ConditionLinkSlowerThanDeclared)
			return c != nil && c.Status == status && c.Reason == reason && found.Server != "" &&
				found.Slower == (status == metav1.ConditionTrue), fmt.Sprintf("%+v, %+v", c, found), nil
		})
	return found
}
