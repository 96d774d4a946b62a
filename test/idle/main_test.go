// SPDX-License-Identifier: Apache-2.0

//go:build integration

// Package idle_test counts what a manager asks of API servers, and writes there, while nothing happens: that it grows
// with what is declared bounds how much can be declared.
package idle_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"sync"
	"testing"

	"geosql.dev/operator/test/support/stage"
)

func TestMain(m *testing.M) { stage.Main(m, count) }

// config is what a manager's process is told.
type config struct {
	// Ledger is the file to which it appends each request.
	Ledger string
}

// path is that of a request for one object or a list, of a namespace or of the cluster.
var path = regexp.MustCompile(`^/apis?/(?:([a-z0-9.]+)/)?v[0-9a-z]+/(?:namespaces/[^/]+/)?([a-z]+)(?:/([^/]+))?(/status)?$`)

// count writes down the requests of a manager: the method, and the path without API version and namespace.
func count(c config) (stage.Watch, error) {
	file, err := os.OpenFile(c.Ledger, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return stage.Watch{}, fmt.Errorf("open the ledger: %w", err)
	}
	var mu sync.Mutex
	return stage.Watch{Transport: func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			what := r.URL.Path
			if m := path.FindStringSubmatch(what); m != nil {
				what = m[2] + "/" + m[3] + m[4]
			}
			if r.URL.Query().Get("watch") == "true" {
				what = "watch " + what
			}
			mu.Lock()
			fmt.Fprintln(file, r.Method, what)
			mu.Unlock()
			return next.RoundTrip(r)
		})
	}}, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
