// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
)

// What a site's load balancers are annotated with is what its API server takes, and not what the operator writes there.
func TestAnnotationsOfLoadBalancers(t *testing.T) {
	for key, refused := range map[string]string{
		"service.beta.kubernetes.io/aws-load-balancer-scheme": "",
		"metallb.io/address-pool":                             "",
		"an nlb":                                              "name part must consist of",
		"geosql.dev/resolved":                                 "use one of your own",
	} {
		t.Run(key, func(t *testing.T) {
			g := NewWithT(t)
			site := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "tukwila"}}
			site.Spec.KubeconfigSecretRef = &v1alpha1.SecretReference{Name: "tukwila"}
			site.Spec.Exposure = v1alpha1.Exposure{Type: v1alpha1.ExposureLoadBalancer,
				LoadBalancer: &v1alpha1.LoadBalancerExposure{Annotations: map[string]string{key: "true"}}}
			errs := (&World{}).site(field.NewPath("spec"), nil, site)
			if refused == "" {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs.ToAggregate()).To(MatchError(And(
				ContainSubstring("spec.exposure.loadBalancer.annotations"), ContainSubstring(refused))))
		})
	}
}
