// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backups

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/test/support/bucket"
)

const (
	// writesASecond are begun, however long those before them take; writers is how many may be under way at once.
	writesASecond = 200
	writers       = 32
	// boundedRate is the uploadRate of the second backup.
	boundedRate = 20 << 20
)

// What goes on while a write is begun.
const (
	resting = "no backup"
	taking  = "taken"
	sending = "sent"
	reading = "read back"
)

// write is one row: when it was to begin, and how long after that it was committed.
type write struct {
	due  time.Time
	took time.Duration
}

// span is a time within which one thing went on.
type span struct {
	what       string
	begun, end time.Time
}

// load writes rows one by one, each by itself, in an open loop: a write that waits for a connection, or is begun late,
// counts from when it was due.
type load struct {
	mu     sync.Mutex
	writes []write
	failed error
	end    func()
}

func newLoad(db *sql.DB) *load {
	db.SetMaxOpenConns(writers)
	db.SetMaxIdleConns(writers)
	l := &load{}
	ctx, cancel := context.WithCancel(context.Background())
	due := make(chan time.Time, 1_000_000)
	var all sync.WaitGroup
	all.Go(func() {
		defer close(due)
		for next := time.Now(); ctx.Err() == nil; next = next.Add(time.Second / writesASecond) {
			time.Sleep(time.Until(next)) // the pace is what is measured against
			due <- next
		}
	})
	for range writers {
		all.Go(func() {
			for at := range due {
				_, err := db.ExecContext(context.Background(), "INSERT Content.dbo.w (v) VALUES (N'a row of an application')")
				l.note(write{at, time.Since(at)}, err)
			}
		})
	}
	l.end = func() { cancel(); all.Wait() }
	return l
}

func (l *load) note(w write, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = append(l.writes, w)
	if err != nil && l.failed == nil {
		l.failed = err
	}
}

// of are the times of the writes that were due within spans, sorted.
func (l *load) of(spans ...span) (all []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.writes {
		if slices.ContainsFunc(spans, func(s span) bool { return !w.due.Before(s.begun) && w.due.Before(s.end) }) {
			all = append(all, w.took)
		}
	}
	slices.Sort(all)
	return all
}

// BenchmarkWritesDuringABackup measures how long single rows take to be committed, at 200 a second, while a full backup
// of a database of GEOSQL_BENCH_MB (100) is taken, sent to a gateway and read back from it by the part of a sidecar,
// as a policy has it: once at any rate, and once with uploadRate 20Mi. It ends with a table of p50 and p99, with the
// ratios to those without a backup, before, between and after. Engine, sidecar and gateway share one machine here.
//
//	go test -tags integration -run '^$' -bench WritesDuringABackup -benchtime 1x ./internal/agent/backups
func BenchmarkWritesDuringABackup(b *testing.B) {
	f := newFigures(b)
	f.exec("CREATE TABLE Content.dbo.w (id int IDENTITY PRIMARY KEY, v nvarchar(100))")
	s3 := bucket.Start(b)
	tell, part := f.sidecar()
	for b.Loop() {
		rest := max(3*time.Second, time.Duration(f.mb)*15*time.Millisecond)
		l := newLoad(f.connect().Handle())
		f.rest(rest) // until connections are there
		spans := []span{f.rest(rest)}
		for _, rate := range []int64{0, boundedRate} {
			spans = append(spans, f.backUp(tell, part, s3, rate)...)
			spans = append(spans, f.rest(rest))
		}
		l.end()
		if l.failed != nil {
			b.Fatal(l.failed)
		}
		f.show(l, spans)
	}
}

// sidecar starts the part that takes the backups.
func (f *figures) sidecar() (told, *Part) {
	pool := func() func(context.Context) (*mssql.DB, error) {
		db := f.connect()
		return func(context.Context) (*mssql.DB, error) { return db, nil }
	}
	to := make(told)
	part := NewPart(to, "tukpub-0", f.engine.OnDisk(conf.BackupDir), Engine{pool(), pool(), pool()},
		slog.New(slog.DiscardHandler))
	part.listEvery = time.Second // what was sent is read back once it was listed
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = part.Run(ctx) }()
	f.Cleanup(func() { cancel(); <-done })
	return to, part
}

// rest lets writes go on by themselves.
func (f *figures) rest(d time.Duration) span {
	begun := time.Now()
	time.Sleep(d) // a span of writes is what is measured
	return span{resting, begun, time.Now()}
}

// backUp has a full backup taken, and says what went on when.
func (f *figures) backUp(tell told, part *Part, s3 *bucket.Server, rate int64) (spans []span) {
	f.Helper()
	f.forms++
	request := strconv.Itoa(f.forms)
	order, err := orders.Backup{Policy: "nightly", Namespace: "web", Target: "server/tukpub",
		Databases: []string{"Content"}, Full: orders.BackupTimes{Schedule: "0 1 1 1 *"}, AtPrimary: true, Stripes: 1,
		Compression: true, Checksum: true, Verify: true,
		Requests: []orders.BackupRequest{{ID: request, Kind: "Full", Database: "Content"}},
		Stores: []orders.BackupStore{{Name: "bucket", Endpoint: s3.Bucket.Endpoint, Bucket: s3.Bucket.Name,
			Prefix: s3.Bucket.Prefix, AccessKey: s3.Bucket.AccessKey, SecretKey: s3.Bucket.SecretKey, CA: s3.Bucket.CA,
			UploadRate: rate}}}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	tell <- map[string][]byte{orders.BackupKey("nightly"): order}
	now, since := "", time.Now()
	until := since.Add(10 * time.Minute)
	for done := false; !done; {
		var what string
		what, done = goesOn(part, request)
		at := time.Now()
		if what == "" && (now == sending || now == reading) {
			what = reading
		}
		if (what != now || done) && now != "" {
			spans = append(spans, span{fmt.Sprintf("%s%s", now, atRate(rate)), since, at})
		}
		if what != now {
			now, since = what, at
		}
		if at.After(until) {
			f.Fatalf("the backup is not over: %+v", part.Status())
		}
		time.Sleep(5 * time.Millisecond)
	}
	return spans
}

func atRate(rate int64) string {
	if rate == 0 {
		return ""
	}
	return fmt.Sprintf(", uploadRate %dMi", rate>>20)
}

// goesOn says what is done for a request, empty for nothing that shows, and whether it was read back.
func goesOn(part *Part, request string) (what string, done bool) {
	all := part.Status().([]Status)
	if len(all) != 1 {
		return "", false
	}
	s := all[0]
	switch {
	case len(s.Taking) > 0:
		return taking, false
	case len(s.Sending) > 0:
		return sending, false
	}
	return "", slices.ContainsFunc(s.Answers, func(a Answer) bool {
		return a.Request == request && len(a.In) > 0 && a.In[0].Verified
	})
}

// show prints the table.
func (f *figures) show(l *load, spans []span) {
	var quiet []span
	for _, s := range spans {
		if s.what == resting {
			quiet = append(quiet, s)
		}
	}
	without := l.of(quiet...)
	var rows [][]string
	for i, s := range spans {
		took := l.of(s)
		if len(took) == 0 {
			continue
		}
		rows = append(rows, []string{fmt.Sprint(i + 1), s.what, fmt.Sprintf("%.1f", s.end.Sub(s.begun).Seconds()),
			strconv.Itoa(len(took)), inMS(took, 50), inMS(took, 99), times(took, without, 50), times(took, without, 99)})
	}
	rows = append(rows, []string{"", "no backup, all", "", strconv.Itoa(len(without)), inMS(without, 50),
		inMS(without, 99), "1.00", "1.00"})
	printTable(fmt.Sprintf("Writes of single rows, %d a second, during full backups of a database of %d MB", writesASecond,
		f.mb), []string{"", "the backup is", "s", "writes", "p50 ms", "p99 ms", "p50, times", "p99, times"}, rows)
}

// percentile of sorted times, by nearest rank.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

func inMS(sorted []time.Duration, p int) string {
	return fmt.Sprintf("%.2f", float64(percentile(sorted, p).Microseconds())/1000)
}

func times(sorted, without []time.Duration, p int) string {
	return fmt.Sprintf("%.2f", float64(percentile(sorted, p))/float64(percentile(without, p)))
}
