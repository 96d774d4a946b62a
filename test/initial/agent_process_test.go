// SPDX-License-Identifier: Apache-2.0

//go:build integration

package initial_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"sync/atomic"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql/credentials"
)

// A sidecar as a process of its own: this test's binary, started again. It is that of a pod (internal/agent) with its
// part for snapshots, which is told its orders on standard input, and not by an API server.

const (
	// agentVariable names the file that tells the test's binary to be a sidecar.
	agentVariable = "GEOSQL_BENCH_AGENT"
	// flipKey, in what a sidecar is told, has it flip one bit of the next chunk that it sends.
	flipKey = "flip"
	// namespace of all sidecars.
	namespace = "web"
	// containerBytes is the memory that the container of a sidecar may have (controllers/sqlserver), of which Go's runtime
	// is let have as much as cmd/geosql lets it.
	containerBytes = 256 << 20
	ofContainer    = 0.9
	// lookEvery is how often a process looks whether there is something to tell.
	lookEvery = 5 * time.Millisecond
)

// agentConfig is what a sidecar's process is told when it begins.
type agentConfig struct {
	Server v1alpha1.ServerName
	// Listen and Elections are the addresses at which it answers.
	Listen, Elections string
	// Dir has its certificate in "tls", and its volumes.
	Dir string
}

func (c agentConfig) tls() string       { return filepath.Join(c.Dir, "tls") }
func (c agentConfig) snapshots() string { return filepath.Join(c.Dir, "ReplData") }
func (c agentConfig) mirrors() string   { return filepath.Join(c.Dir, "mirror") }

// said is a line that a sidecar's process writes when something has changed.
type said struct {
	At time.Time
	// Orders is how often it was told something that holds by now.
	Orders int
	// Sent are the bytes of all answers so far: what they have in them, listings too, before TLS.
	Sent int64
	// Mirrors are those that it keeps.
	Mirrors []files.Status
}

// runAgent is the process, until its standard input ends.
func runAgent(file string) error {
	var c agentConfig
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &c)
	}
	if err != nil {
		return fmt.Errorf("read the sidecar's configuration: %w", err)
	}
	limit := float64(containerBytes)
	debug.SetMemoryLimit(int64(ofContainer * limit))
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	o := agent.DefaultOptions()
	o.ServerName, o.Namespace, o.Listen, o.Elections = credentials.HostName(c.Server), namespace, c.Listen, c.Elections
	o.TLSDir, o.PasswordFile, o.StateDir = c.tls(), filepath.Join(c.Dir, "password"), c.Dir
	// There is no engine: a sidecar moves files whether its engine answers or not.
	o.Engine = "127.0.0.1:1"
	a, err := agent.New(o, log)
	if err != nil {
		return err
	}
	orders := &toldOrders{from: os.Stdin}
	part := files.NewPart(orders, namespace, c.snapshots(), c.mirrors(), log)
	answers := &answers{next: part.Server()}
	orders.flip = &answers.flip
	a.Handle(files.Pattern, answers)
	a.Add(part)
	go tell(part, orders, answers)
	if err := a.Run(context.Background()); !errors.Is(err, errTold) {
		return err
	}
	return nil
}

// errTold ends a sidecar to whom nothing is told any more.
var errTold = errors.New("the test has ended")

// toldOrders is a source of orders: each line has the whole data of the Secret.
type toldOrders struct {
	from io.Reader
	flip *atomic.Bool
	took atomic.Int64
}

// Watch implements files.Source.
func (o *toldOrders) Watch(_ context.Context, update func(map[string][]byte)) error {
	lines := json.NewDecoder(o.from)
	for {
		var data map[string][]byte
		if err := lines.Decode(&data); err != nil {
			return errTold
		}
		if _, ok := data[flipKey]; ok {
			o.flip.Store(true)
		}
		update(data)
		o.took.Add(1)
	}
}

// answers counts what is sent, and flips a bit when it is told to.
type answers struct {
	next http.Handler
	sent atomic.Int64
	flip atomic.Bool
}

// ServeHTTP implements http.Handler.
func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.next.ServeHTTP(&answer{w, a, r.Method == http.MethodPost}, r)
}

type answer struct {
	http.ResponseWriter

	all *answers
	// spans tells that it is one of chunks.
	spans bool
}

// Unwrap has http.ResponseController find what is behind.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Write implements http.ResponseWriter. A part that is longer than any head of a frame is a chunk's.
func (a *answer) Write(b []byte) (int, error) {
	a.all.sent.Add(int64(len(b)))
	if a.spans && len(b) > 1<<10 && a.all.flip.CompareAndSwap(true, false) {
		flipped := append([]byte(nil), b...)
		flipped[len(b)/2] ^= 1
		return a.ResponseWriter.Write(flipped)
	}
	return a.ResponseWriter.Write(b)
}

// tell writes a line whenever something has changed, until nobody reads them.
func tell(part *files.Part, orders *toldOrders, all *answers) {
	out := json.NewEncoder(os.Stdout)
	var last said
	for range time.Tick(lookEvery) {
		now := said{Orders: int(orders.took.Load()), Sent: all.sent.Load(), Mirrors: part.Status().([]files.Status)}
		for i := range now.Mirrors {
			// They change with the clock.
			now.Mirrors[i].Seconds, now.Mirrors[i].Rate, now.Mirrors[i].RemainingSeconds = 0, 0, 0
		}
		if reflect.DeepEqual(now, last) {
			continue
		}
		last = now
		now.At = time.Now()
		if out.Encode(now) != nil {
			return
		}
	}
}
