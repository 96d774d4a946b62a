// SPDX-License-Identifier: Apache-2.0

package join

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"geosql.dev/operator/api/v1alpha1"
)

// token is one of a ServiceAccount that lives for some hours.
func token(hours int) string {
	claims := fmt.Sprintf(
		`{"sub":"system:serviceaccount:geosql-system:geosql-operator-site","iat":1700000000,"exp":%d}`,
		1700000000+hours*3600,
	)
	return "h." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".s"
}

// The address in the kubeconfig of whoever joins a site again need not be one at which the hub reaches it: what is not
// said anew is kept.
func TestTheWayToASiteIsKept(t *testing.T) {
	context := &rest.Config{
		Host:            "https://127.0.0.1:35557",
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte("CA two\n")},
	}
	kept := &rest.Config{
		Host:            "https://10.100.0.21:6443",
		BearerToken:     token(24),
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte("CA one\n"), ServerName: "api.quincy"},
	}
	for name, c := range map[string]struct {
		said     Request
		kept     *rest.Config
		server   string
		ca, name string
		life     time.Duration
	}{
		"a new site":      {server: context.Host, ca: "CA two\n", life: DefaultTokenLife},
		"nothing is said": {kept: kept, server: kept.Host, ca: "CA one\nCA two\n", name: "api.quincy", life: 24 * time.Hour},
		"another address": {said: Request{Server: "https://192.0.2.7:6443"}, kept: kept, server: "https://192.0.2.7:6443",
			ca: "CA two\n", life: 24 * time.Hour},
		"another life": {said: Request{TokenLife: time.Hour}, kept: kept, server: kept.Host, ca: "CA one\nCA two\n",
			name: "api.quincy", life: time.Hour},
		"the same address": {said: Request{Server: kept.Host}, kept: kept, server: kept.Host, ca: "CA one\nCA two\n",
			name: "api.quincy", life: 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := c.said
			r.Name, r.Member, r.kept = "quincy", &Cluster{Config: context}, c.kept
			g.Expect(r.withDefaults()).To(Succeed())
			g.Expect(r.withAddress()).To(Succeed())
			ca, verified := r.verifies(context.CAData)
			g.Expect(r.Server).To(Equal(c.server))
			g.Expect(string(ca)).To(Equal(c.ca))
			g.Expect(verified).To(Equal(c.name))
			g.Expect(r.TokenLife).To(Equal(c.life))
		})
	}
	r := Request{Name: "quincy", Member: &Cluster{Config: &rest.Config{Host: "http://insecure"}}}
	NewWithT(t).Expect(r.withAddress()).To(MatchError(ContainSubstring("must begin with https://")))
}

// A site that is joined again keeps the ranges by which the others know it, until other ones are said.
func TestSourceRangesAreKept(t *testing.T) {
	g := NewWithT(t)
	old := v1alpha1.SiteSpec{SourceRanges: []string{"10.102.0.0/16"}}
	silent, said := Request{}, Request{Spec: v1alpha1.SiteSpec{SourceRanges: []string{"10.7.0.0/16"}}}
	silent.keep(old)
	said.keep(old)
	g.Expect(silent.Spec.SourceRanges).To(Equal([]string{"10.102.0.0/16"}))
	g.Expect(said.Spec.SourceRanges).To(Equal([]string{"10.7.0.0/16"}))
	for _, wrong := range []string{"10.102.0.7", "10.102.0.7/16", "quincy"} {
		r := Request{Name: "quincy", OperatorNamespace: "geosql-system",
			Spec: v1alpha1.SiteSpec{SourceRanges: []string{wrong}}}
		g.Expect(r.checkNames()).To(MatchError(ContainSubstring("CIDR notation")), wrong)
	}
}
