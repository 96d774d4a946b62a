// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backups

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/test/support/bucket"
)

// fault is what a store does instead of what it is asked for.
type fault struct {
	name   string
	answer bucket.Handle
}

// faults of which each is met at each kind of request.
var faults = []fault{
	{"is full", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		bucket.Refuse(w, http.StatusInsufficientStorage, "InsufficientStorage")
	}},
	{"has no quota left", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		bucket.Refuse(w, http.StatusForbidden, "QuotaExceeded")
	}},
	{"answers 500", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		bucket.Refuse(w, http.StatusInternalServerError, "InternalError")
	}},
	{"does it and answers 500", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		bucket.Refuse(w, http.StatusInternalServerError, "InternalError")
	}},
	{"does it and ends the connection", func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}},
}

// afflicted is a runner without an engine, whose store has faults; a test takes its steps.
type afflicted struct {
	*runner
	*catalog
	between *bucket.Between
	// direct is the store without the faults.
	direct *store.Store
	own    backup.Description
	clock  time.Time
}

// newAfflicted has a set with files of these sizes on the backup volume, and nothing in the store.
func newAfflicted(t *testing.T, server *bucket.Server, sizes ...int) *afflicted {
	t.Helper()
	g := NewWithT(t)
	own := *server
	own.Bucket.Prefix = uuid.NewString()
	a := &afflicted{between: own.Between(t), clock: time.Now()}
	p := NewPart(nil, "tukpub-0", t.TempDir(), Engine{}, slog.New(slog.DiscardHandler))
	p.now = func() time.Time { return a.clock }
	var err error
	a.runner, err = newRunner(order(func(o *orders.Backup) {
		o.Verify, o.Stores = true, []orders.BackupStore{StoreOf("bucket", a.between.Bucket)}
	}), p)
	g.Expect(err).NotTo(HaveOccurred())
	a.catalog = a.stores["bucket"]
	t.Cleanup(a.catalog.store.Close)
	a.direct, err = store.Open(own.Bucket)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(a.direct.Close)
	taking := filepath.Join(p.sets.dir, newPrefix+"1")
	g.Expect(os.MkdirAll(taking, 0o750)).To(Succeed())
	a.own = taken("full", backup.Full, time.Hour, "10", "20")
	a.own.Files = nil
	for n, size := range sizes {
		name, content := fmt.Sprint(n+1, ".bak"), bytes.Repeat([]byte{byte(n + 1)}, size)
		g.Expect(os.WriteFile(filepath.Join(taking, name), content, 0o640)).To(Succeed())
		sum := sha256.Sum256(content)
		a.own.Files = append(a.own.Files, backup.File{Name: name, Bytes: int64(size), SHA256: hex.EncodeToString(sum[:])})
	}
	g.Expect(p.sets.add(taking, a.own)).To(Succeed())
	return a
}

// round takes each step of a policy once that has to do with the store, when no pause holds it up.
func (a *afflicted) round(t *testing.T) {
	a.clock = a.clock.Add(10 * time.Minute)
	a.sendAll(t.Context(), a.catalog, false)
	a.try("list", "list bucket", func() error { return a.list(t.Context()) })
	a.checkAll(t.Context(), a.catalog)
}

// kept is what the store really has.
func (a *afflicted) kept(t *testing.T) []Kept {
	t.Helper()
	stored, err := Folder(t.Context(), a.direct, a.folder)
	if err != nil {
		t.Fatal(err)
	}
	return stored.Sets
}

// requests are what is asked of a store for one set of a kind, from its sending to its removal.
func requests(t *testing.T, server *bucket.Server, sizes ...int) (all []string) {
	t.Helper()
	a := newAfflicted(t, server, sizes...)
	var mu sync.Mutex
	a.between.Do(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		if what := bucket.Asked(r); !slices.Contains(all, what) {
			all = append(all, what)
		}
		next.ServeHTTP(w, r)
	})
	a.round(t)
	NewWithT(t).Expect(a.planForget(a.observed())).To(HaveLen(1))
	NewWithT(t).Expect(remove(t.Context(), a.store, Remove{Set: &a.kept(t)[0]}, a.clock)).To(Succeed())
	return all
}

// Whatever a store does at whatever request: the server's own set stays until the store is known to have it whole, what
// has a description is whole, and once the store is well it has the set, read back; or has nothing of it when it goes.
func TestAStoreThatFailsLosesNothing(t *testing.T) {
	server := bucket.Start(t)
	small := requests(t, server, 3, 5)
	large := slices.DeleteFunc(requests(t, server, inParts), func(at string) bool {
		return slices.Contains(small, at) && at != "LIST uploads"
	})
	t.Logf("%q, and in parts %q", small, large)
	for _, f := range faults {
		for _, at := range small {
			t.Run(f.name+" at "+at, func(t *testing.T) {
				t.Parallel()
				failsAt(t, server, f, at, 3, 5)
			})
		}
		for _, at := range large {
			t.Run(f.name+" at "+at+" in parts", func(t *testing.T) {
				t.Parallel()
				failsAt(t, server, f, at, inParts)
			})
		}
	}
}

// inParts is the size of a file that is sent in two parts.
const inParts = 17 << 20

func failsAt(t *testing.T, server *bucket.Server, f fault, at string, sizes ...int) {
	g := NewWithT(t)
	a := newAfflicted(t, server, sizes...)
	met := make(chan struct{}, 100)
	fails := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if bucket.Asked(r) != at {
			next.ServeHTTP(w, r)
			return
		}
		met <- struct{}{}
		f.answer(w, r, next)
	}
	a.between.Do(fails)
	for n := range 2 {
		a.round(t)
		// Whether an upload is complete whose end was not answered is asked.
		asked := at == "POST 1.bak complete" && strings.HasPrefix(f.name, "does it")
		if failed := len(met) > 0 && !asked; n == 0 {
			g.Expect(len(a.failing()) > 0).To(Equal(failed), "what fails is said: %v", a.failing())
		}
		for _, k := range a.kept(t) {
			g.Expect(k.Damaged).To(BeFalse())
		}
		if len(a.planForget(a.observed())) > 0 {
			g.Expect(a.kept(t)).To(ConsistOf(HaveField("Verified", true)))
		}
	}
	a.between.Do(nil)
	for range 2 {
		a.round(t)
	}
	g.Expect(a.kept(t)).To(ConsistOf(And(HaveField("Verified", true), HaveField("ID", a.own.ID))))
	g.Expect(a.failing()).To(BeEmpty())
	g.Expect(a.planForget(a.observed())).To(HaveLen(1))

	a.between.Do(fails)
	gone := Remove{Set: &a.kept(t)[0]}
	err := remove(t.Context(), a.store, gone, a.clock)
	if len(met) == 0 {
		g.Expect(err).NotTo(HaveOccurred())
	}
	for _, k := range a.kept(t) {
		g.Expect(k.Damaged).To(BeFalse(), "half of it is no set")
	}
	a.between.Do(nil)
	g.Expect(remove(t.Context(), a.store, gone, a.clock)).To(Succeed())
	g.Expect(a.direct.List(t.Context(), "")).To(BeEmpty())
	g.Expect(a.direct.Uploads(t.Context(), "", time.Time{})).To(BeEmpty())
	g.Expect(met).NotTo(BeEmpty(), "it was never asked")
}
