// SPDX-License-Identifier: Apache-2.0

package sites_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"geosql.dev/operator/internal/sites"
)

const goodKubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: Y2E=}}]
users: [{name: u, user: {token: secret-token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// A kubeconfig comes from a Secret that somebody wrote: it may not make the manager run a program, read its own files
// or trust anybody. What is refused is said without quoting the file.
func TestLoadKubeconfig(t *testing.T) {
	g := NewWithT(t)
	cfg, err := sites.LoadKubeconfig([]byte(goodKubeconfig))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cfg.BearerToken).To(Equal("secret-token"))
	g.Expect(cfg.Host).To(Equal("https://10.0.0.1:6443"))
	for _, c := range []struct{ name, old, new, says string }{
		{"no YAML", goodKubeconfig, "{secret-token", "no kubeconfig"},
		{"empty", goodKubeconfig, "", "no current context"},
		{"another context", "current-context: x", "current-context: other", "no current context"},
		{"another cluster", "context: {cluster: c,", "context: {cluster: d,", "a cluster that it does not have"},
		{"another user", "user: u}", "user: v}", "a user that it does not have"},
		{"a program", "{token: secret-token}",
			`{token: secret-token, exec: {command: sh, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}`,
			"runs a program"},
		{"an auth provider", "{token: secret-token}", `{auth-provider: {name: oidc}}`, "runs a program"},
		{"a token file", "{token: secret-token}", "{tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}",
			"refers to files"},
		{"a key file", "{token: secret-token}", "{client-certificate-data: Y2E=, client-key: /etc/passwd}",
			"refers to files"},
		{"a CA file", "certificate-authority-data: Y2E=", "certificate-authority: /etc/ca", "refers to files"},
		{"no verification", "certificate-authority-data: Y2E=", "insecure-skip-tls-verify: true", "insecure-skip-tls-verify"},
		{"no TLS", "https://", "http://", "https://"},
		{"nobody", "{token: secret-token}", "{}", "neither a token nor a client certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := sites.LoadKubeconfig([]byte(strings.ReplaceAll(goodKubeconfig, c.old, c.new)))
			g.Expect(err).To(MatchError(ContainSubstring(c.says)))
			g.Expect(err.Error()).NotTo(ContainSubstring("secret-token"))
		})
	}
}

func TestCredentialsExpire(t *testing.T) {
	g := NewWithT(t)
	// {"alg":"none"}.{"exp":1900000000}
	end, known := sites.CredentialsExpire(&rest.Config{BearerToken: "eyJhbGciOiJub25lIn0.eyJleHAiOjE5MDAwMDAwMDB9.x"})
	g.Expect(known).To(BeTrue())
	g.Expect(end).To(BeTemporally("==", time.Unix(1900000000, 0)))
	for _, token := range []string{"opaque", "a.b.c", "eyJhbGciOiJub25lIn0.e30.x"} {
		_, known := sites.CredentialsExpire(&rest.Config{BearerToken: token})
		g.Expect(known).To(BeFalse(), token)
	}
	_, known = sites.CredentialsExpire(&rest.Config{})
	g.Expect(known).To(BeFalse())
}
