// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restores

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/test/support/bucket"
)

// once meets each kind of request once.
func once(do bucket.Handle) bucket.Handle {
	var mu sync.Mutex
	met := map[string]bool{}
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		first := !met[bucket.Asked(r)]
		met[bucket.Asked(r)] = true
		mu.Unlock()
		if first {
			do(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// at has requests met alone that are about something.
func at(what string, do bucket.Handle) bucket.Handle {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.Contains(bucket.Asked(r), what) {
			do(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
}

func refusing(status int, code string) bucket.Handle {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { bucket.Refuse(w, status, code) }
}

// changed answers with another body than the store's, as long as it has more than one byte.
func changed(edit func(body []byte) []byte) bucket.Handle {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		if len(body) > 1 {
			body = edit(body)
		}
		_, _ = w.Write(body)
		if length := answer.Header().Get("Content-Length"); length != "" && len(body) < answer.Body.Len() {
			panic(http.ErrAbortHandler)
		}
	}
}

func flip(body []byte) []byte {
	body[len(body)/2] ^= 1
	return body
}

func half(body []byte) []byte { return body[:len(body)/2] }

// failingStores restores from a store that has faults: all comes back, or it is refused and says which backup it was.
func failingStores(t *testing.T, s *target, b *taken) {
	between := b.bucket.Between(t)
	for name, row := range map[string]struct {
		answer bucket.Handle
		// refused says that it is, by name of the damaged file.
		refused string
	}{
		"each answer is 500 once":          {once(refusing(http.StatusInternalServerError, "InternalError")), ""},
		"each answer is half once":         {at("GET ", once(changed(half))), ""},
		"each file has a flipped bit once": {at("GET 1.", once(changed(flip))), ""},
		"lists of uploads are not allowed": {at("LIST uploads", refusing(http.StatusForbidden, "AccessDenied")), ""},
		"it is slow": {func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			time.Sleep(50 * time.Millisecond)
			next.ServeHTTP(w, r)
		}, ""},
		"log has a flipped bit always": {at("GET 1.trn", changed(flip)), "1.trn"},
		"data has a flipped bit":       {at("GET 2.bak", changed(flip)), "2.bak"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			between.Do(row.answer)
			o := orders.Restore{Name: "faulty", UID: "uid-faulty", Folder: folder, Database: "faulty", Time: b.after[25],
				Stores: []orders.BackupStore{backups.StoreOf("bucket", between.Bucket)}}
			s.tell(o)
			defer s.tell()
			status := s.ended(o.Name)
			if row.refused != "" {
				g.Expect(status.Result.Outcome).To(Equal(Refused), status.Result.Message)
				g.Expect(status.Result.Reason).To(Equal(v1alpha1.ReasonSetDamaged))
				g.Expect(status.Result.Message).To(ContainSubstring(row.refused))
				g.Expect(s.exists(o.Database)).To(BeFalse())
				return
			}
			g.Expect(status.Result.Outcome).To(Equal(Succeeded), status.Result.Message)
			g.Expect(s.rows(o.Database)).To(Equal(upTo(25)))
			execute(t, s.sa, "DROP DATABASE "+o.Database)
		})
	}
}

// endedWithinAnswers ends the sidecar in the middle of each kind of answer of the store: the next life goes on with
// what came of a download.
func endedWithinAnswers(t *testing.T, s *target, b *taken) {
	g := NewWithT(t)
	between := b.bucket.Between(t)
	var mu sync.Mutex
	var met []string
	reached, over := make(chan struct{}, 100), make(chan struct{})
	defer close(over) // nobody may end the connection of an answer of which half is enough
	between.Do(once(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(half(answer.Body.Bytes()))
		w.(http.Flusher).Flush()
		mu.Lock()
		met = append(met, bucket.Asked(r))
		mu.Unlock()
		reached <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-over:
		}
		panic(http.ErrAbortHandler)
	}))
	o := orders.Restore{Name: "within", UID: "uid-within", Folder: folder, Database: "within", Time: b.after[28],
		Stores: []orders.BackupStore{backups.StoreOf("bucket", between.Bucket)}}
	s.end()
	for lives := 0; ; lives++ {
		g.Expect(lives).To(BeNumerically("<", 50))
		s.begin()
		s.tell(o)
		g.Eventually(func() bool { return len(reached) > 0 || s.status(o.Name).Result != nil }, patient, soon).
			Should(BeTrue())
		if len(reached) == 0 {
			break
		}
		<-reached
		s.end()
	}
	status := s.ended(o.Name)
	g.Expect(status.Result.Outcome).To(Equal(Succeeded), status.Result.Message)
	g.Expect(s.rows(o.Database)).To(Equal(upTo(28)))
	g.Expect(met).To(ContainElements("LIST", "GET set.json", "GET 1.bak", "GET 2.bak", "GET 1.trn"))
	s.tell()
}
