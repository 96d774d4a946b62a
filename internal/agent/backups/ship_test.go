// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
)

// A proxy before the store has no way to it for a moment, and answers with its own page. Nothing is known of the backup
// then: it is not damaged.
func TestAPageOfAProxyIsNoDamage(t *testing.T) {
	g := NewWithT(t)
	var mu sync.Mutex
	var put []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut: // the way is back
			mu.Lock()
			defer mu.Unlock()
			put = append(put, r.URL.Path)
			w.Header().Set("ETag", `"00000000000000000000000000000000"`)
		case strings.HasSuffix(r.URL.Path, backup.DescriptionName):
			w.Header().Set("ETag", `"00000000000000000000000000000000"`)
			w.Header().Set("Last-Modified", noon.Format(http.TimeFormat))
			_, _ = w.Write([]byte("{}"))
		default:
			w.Header().Set("Server", "nginx")
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte("<html><body><center><h1>404 Not Found</h1></center></body></html>"))
		}
	}))
	defer s.Close()
	from, err := store.Open(store.Bucket{Endpoint: s.URL, Name: "backups", AccessKey: "a", SecretKey: "s"})
	g.Expect(err).NotTo(HaveOccurred())
	defer from.Close()
	one := Kept{Description: taken("one", backup.Log, time.Hour, "10", "20")}
	mine := func(context.Context) error { return nil }
	damage, err := check(t.Context(), from, one, "tukpub-0", mine, time.Now)
	mu.Lock()
	defer mu.Unlock()
	g.Expect(put).To(BeEmpty(), "marked for ever: %s", damage)
	g.Expect(err).To(HaveOccurred())
}
