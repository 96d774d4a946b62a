// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/test/support/ports"
)

// lifeVariable names the file of a life that this test binary is to live, as the process of a holder's sidecar.
const lifeVariable = "GEOSQL_STORES_LIFE"

func TestMain(m *testing.M) {
	if file := os.Getenv(lifeVariable); file != "" {
		fmt.Fprintln(os.Stderr, live(file))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// life is what the process of a holder is told.
type life struct {
	Address, Dir     string
	Authority        []byte
	Certificate, Key string
	// Ledger has the points at which earlier lives were ended; this one ends at the first that is not there.
	Ledger string
}

// live lives a life until it is ended.
func live(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var l life
	if err := json.Unmarshal(content, &l); err != nil {
		return err
	}
	certificate, err := tls.LoadX509KeyPair(l.Certificate, l.Key)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(l.Authority)
	p := NewPart(nil, "web", l.Dir, slog.New(slog.DiscardHandler))
	OnEmptyVolume(p)
	p.at = func(point string) {
		met, _ := os.ReadFile(l.Ledger)
		if slices.Contains(strings.Split(string(met), "\n"), point) {
			return
		}
		if err := os.WriteFile(l.Ledger, append(met, point+"\n"...), 0o600); err != nil {
			panic(err)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	p.set([]orders.Store{{Name: "away"}})
	listener, err := net.Listen("tcp", l.Address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: p, ReadHeaderTimeout: 5 * time.Second}
	return server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate},
		ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven, MinVersion: tls.VersionTLS12}))
}

// A holder that is killed at any point of what it is sent has what was sent in the end, whole, and nothing else.
func TestAHolderThatIsKilled(t *testing.T) {
	g := NewWithT(t)
	h := newHolder(t)
	h.address, h.dir = ports.Address(t), t.TempDir()
	l := life{Address: h.address, Dir: h.dir, Authority: h.authority.PEM(), Ledger: filepath.Join(t.TempDir(), "ledger")}
	l.Certificate, l.Key = h.certified("web", "quirep")
	content, err := json.Marshal(l)
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "life.json")
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	lives, ctx := 0, t.Context()
	done := make(chan struct{})
	living, end := context.WithCancel(ctx)
	go func() {
		defer close(done)
		for living.Err() == nil {
			process := exec.CommandContext(living, os.Args[0])
			process.Env = append(os.Environ(), lifeVariable+"="+file)
			process.Stderr = os.Stderr
			_ = process.Run() // it is killed
			lives++
		}
	}()
	defer func() { end(); <-done }()
	s := h.open("web", nil)
	sent, sum := written(t, 40<<20)
	small, another := written(t, 1<<10)
	for _, each := range []struct{ key, file, sum string }{{"web/big.bak", sent, sum}, {"web/small.bak", small, another}} {
		g.Eventually(func() error { return s.Upload(ctx, each.key, each.file, nil) }, 2*time.Minute, 50*time.Millisecond).
			Should(Succeed())
		_, got, err := s.Sum(ctx, each.key, nil)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(each.sum))
	}
	met, err := os.ReadFile(l.Ledger)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Fields(strings.ReplaceAll(string(met), "part ", "part-"))).To(ConsistOf("part-begun", "part-written",
		"known", "named"))
	g.Expect(s.List(ctx, "")).To(HaveLen(2))
	g.Expect(s.Uploads(ctx, "", time.Time{})).To(BeEmpty())
	end()
	<-done
	g.Expect(lives).To(BeNumerically(">=", 4))
	h.set(nil)
	h.Part.dir = filepath.Join(h.dir, storesDir)
	h.set([]orders.Store{{Name: "away"}})
	left := []string{}
	for _, folder := range []string{newDir, uploadsDir} {
		entries, err := os.ReadDir(filepath.Join(h.dir, storesDir, "web", "away", folder))
		g.Expect(err).NotTo(HaveOccurred())
		for _, e := range entries {
			left = append(left, folder+"/"+e.Name())
		}
	}
	g.Expect(left).To(BeEmpty())
}
