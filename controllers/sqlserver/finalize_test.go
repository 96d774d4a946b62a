// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// A server that is being deleted goes when nothing of it can be at its site, by the site's word or a person's. What
// nobody could look at may run on.
func TestDeletionOfAServer(t *testing.T) {
	namespace := func(missing string, gone bool) error {
		return &sites.NamespaceError{Site: "tukwila", Namespace: "web", Missing: missing, Gone: gone}
	}
	for name, c := range map[string]struct {
		left   left
		done   bool
		reason string
	}{
		"its namespace is gone or going": {left{Namespace: namespace("it is being deleted there", true)}, true, ""},
		"its namespace gives no rights": {left{Namespace: namespace("the credentials have no rights there", false)},
			false, v1alpha1.ReasonNamespaceMissing},
		"its namespace was not looked at": {left{Namespace: namespace("it is not usable yet", false)}, false,
			v1alpha1.ReasonNamespaceMissing},
		"its namespace is allowed no more": {left{Namespace: namespace("", false)}, false,
			v1alpha1.ReasonNamespaceMissing},
		"its site is lost": {left{Site: fmt.Errorf("tukwila: %w", sites.ErrSiteLost)}, true, ""},
		"its site does not answer": {left{Site: &sites.UnreachableError{Site: "tukwila"}}, false,
			v1alpha1.ReasonSiteUnreachable},
		"its pod is there":                      {left{Pod: true}, false, v1alpha1.ReasonDeleting},
		"nothing of it is there but its things": {left{}, true, v1alpha1.ReasonDeleting},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := Desired{
				Server: &v1alpha1.SQLServer{
					ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub"},
					Spec:       v1alpha1.SQLServerSpec{Site: "tukwila"},
				},
			}
			p := planDelete(d, c.left)
			g.Expect(p.Done).To(Equal(c.done))
			g.Expect(p.Outcome.Reason).To(Equal(c.reason))
			if errors.Is(c.left.Site, sites.ErrSiteLost) {
				g.Expect(p.Left).To(ConsistOf(And(ContainSubstring("at site tukwila pod tukpub-0"),
					ContainSubstring("Secrets")), HavePrefix("in the hub Secrets")))
			} else {
				g.Expect(p.Left).To(BeEmpty())
			}
			if c.reason == v1alpha1.ReasonNamespaceMissing {
				g.Expect(p.Outcome.Message).To(And(ContainSubstring("deletion waits"), ContainSubstring("Lost")))
			}
		})
	}
}
