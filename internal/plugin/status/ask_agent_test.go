// SPDX-License-Identifier: Apache-2.0

//go:build integration

package status

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/apiserver"
	"geosql.dev/operator/test/support/kubelet"
)

// An agent is asked through the API server of its site. What it answers is shown, and what is wrong on the way is said.
func TestAgentsAreAskedThroughTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	// The certificate of httptest is for example.com, which may be a pod's name.
	const pod = "example.com"
	site := apiserver.StartMember(t)
	site.Namespace(t, "web")
	node := kubelet.Start(t, site)
	node.Runs(t, "web", pod, nil, "agent")
	answers := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+siteToken {
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte("answered"))
	}))
	t.Cleanup(answers.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: answers.Certificate().Raw})
	f := &statusFlags{}
	f.Config = site.Config
	ask := func(token string) (string, error) {
		text, err := f.askAgent(t.Context(), "web", pod, token, ca)
		return string(text), err
	}

	node.Forward("web", pod, credentials.AgentPort, answers.Listener.Addr().String())
	g.Expect(ask(siteToken)).To(Equal("answered"))
	_, err := ask("another")
	g.Expect(err).To(MatchError(ContainSubstring("answers 401 Unauthorized: a bearer token is needed")))

	node.Forward("web", pod, credentials.AgentPort, "127.0.0.1:1")
	_, err = ask(siteToken)
	g.Expect(err).To(MatchError(And(ContainSubstring("forward to port 8443 of pod web/example.com"),
		ContainSubstring("connection refused"), Not(ContainSubstring(siteToken)))))
}
