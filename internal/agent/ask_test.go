// SPDX-License-Identifier: Apache-2.0

//go:build integration

package agent_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent"
)

// Who asks an agent hears its answer, or what is wrong with which agent and nothing secret.
func TestReadStatus(t *testing.T) {
	g := NewWithT(t)
	answers := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Authorization") {
		case "Bearer " + token:
			_, _ = w.Write([]byte(`{"engine":"Ready"} from ` + r.URL.Path))
		case "":
			_, _ = w.Write([]byte("nobody asked"))
		default:
			http.Error(w, strings.Repeat("a bearer token is needed. ", 1000), http.StatusUnauthorized)
		}
	}))
	t.Cleanup(answers.Close)
	// The certificate of httptest is for example.com.
	const host = "example.com"
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: answers.Certificate().Raw})
	read := func(host, token string, ca []byte) (string, error) {
		text, err := agent.ReadStatus(t.Context(), answers.Listener.Addr().String(), "web", host, ca, token)
		return string(text), err
	}
	g.Expect(read(host, token, ca)).To(Equal(`{"engine":"Ready"} from /status`))
	g.Expect(read(host, "", ca)).To(Equal("nobody asked"))

	_, err := read(host, "not-the-token-of-anybody", ca)
	g.Expect(err).
		To(MatchError(And(HavePrefix("the agent of example.com answers 401 Unauthorized: a bearer token is needed."),
			Not(ContainSubstring("not-the-token")))))
	g.Expect(len(err.Error())).To(BeNumerically("<", 300))
	_, err = read("tukpub-0", token, ca)
	g.Expect(err).
		To(MatchError(And(HavePrefix("ask the agent of tukpub-0: "), ContainSubstring("certificate is valid for"),
			Not(ContainSubstring(token)))))
	_, err = read(host, token, nil)
	g.Expect(err).To(MatchError("ask the agent of example.com: its certificate cannot be verified: there is no ca.crt"))
}
