// SPDX-License-Identifier: Apache-2.0

package store

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// Whatever is between here and a store answers with pages of its own. That there is no object is known when a list does
// not show it.
func TestAPageOfAProxySaysNothingOfAnObject(t *testing.T) {
	page := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<html><body><center><h1>404 Not Found</h1></center></body></html>")
	}
	list := func(keys string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, "<ListBucketResult>"+keys+"</ListBucketResult>")
		}
	}
	for why, row := range map[string]struct {
		lists func(http.ResponseWriter)
		gone  bool
	}{
		"the list is a page, too": {lists: page},
		"the list shows it":       {lists: list("<Contents><Key>set/1.bak</Key><Size>3</Size></Contents>")},
		"the list shows another": {lists: list("<Contents><Key>set/1.bak.old</Key><Size>3</Size></Contents>"),
			gone: true},
	} {
		t.Run(why, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("list-type") {
					row.lists(w)
					return
				}
				page(w)
			}))
			t.Cleanup(server.Close)
			s, err := Open(Bucket{Endpoint: server.URL, Name: "backups", AccessKey: "tester", SecretKey: "tester-key"})
			g.Expect(err).NotTo(HaveOccurred())
			t.Cleanup(s.Close)
			says := MatchError(ErrNotFound)
			if !row.gone {
				says = And(HaveOccurred(), Not(says))
			}
			_, _, err = s.Sum(t.Context(), "set/1.bak", nil)
			g.Expect(err).To(says)
			_, err = s.Read(t.Context(), "set/1.bak", 1<<10)
			g.Expect(err).To(says)
			g.Expect(s.Download(t.Context(), "set/1.bak", filepath.Join(t.TempDir(), "1.bak"), "00", nil)).To(says)
		})
	}
}
