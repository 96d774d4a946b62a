// SPDX-License-Identifier: Apache-2.0

// Package bucket runs a real S3 server for tests, Versity's gateway on a folder, with a certificate of the operator's
// kind.
package bucket

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/checkout"
	"geosql.dev/operator/test/support/ports"
)

// patience is for a machine that is busy with other things.
const patience = 2 * time.Minute

// Server is an S3 server with one bucket; it ends with the test.
type Server struct {
	// Bucket is how it is reached.
	Bucket store.Bucket
	// Dir has the bucket's objects as files.
	Dir string

	t         testing.TB
	arguments []string
	process   *exec.Cmd
}

// Program is the path of the gateway, which is built where it is not there.
var Program = sync.OnceValues(func() (string, error) {
	if out, err := exec.Command(filepath.Join(checkout.Root(), "hack", "tool"), "versitygw").CombinedOutput(); err != nil {
		return "", fmt.Errorf("hack/tool versitygw: %w: %s", err, out)
	}
	cache := os.Getenv("GEOSQL_BED_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(home, ".cache", "geosql-bed")
	}
	return filepath.Join(cache, "tools", "versitygw"), nil
})

// Start starts one.
func Start(t testing.TB) *Server {
	t.Helper()
	g := gomega.NewWithT(t)
	authority, err := credentials.NewAuthority(time.Now())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	certificate, err := authority.Issue([]string{"localhost"}, time.Now())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	folder := t.TempDir()
	for key, content := range certificate {
		g.Expect(os.WriteFile(filepath.Join(folder, key), content, 0o600)).To(gomega.Succeed())
	}
	port := strconv.Itoa(ports.Free(t))
	s := &Server{t: t, Dir: filepath.Join(folder, "buckets", "backups"),
		Bucket: store.Bucket{Endpoint: "https://localhost:" + port, Name: "backups", Prefix: "sql/test",
			AccessKey: "tester", SecretKey: "tester-key", CA: certificate[credentials.KeyCA]},
		arguments: []string{"--port", "127.0.0.1:" + port, "--cert", filepath.Join(folder, credentials.KeyCertificate),
			"--key",
			filepath.Join(folder, credentials.KeyPrivateKey), "--quiet", "posix", "--sidecar", filepath.Join(folder,
				"about"), filepath.Join(folder, "buckets")}}
	g.Expect(os.MkdirAll(s.Dir, 0o750)).To(gomega.Succeed())
	g.Expect(os.MkdirAll(filepath.Join(folder, "about"), 0o750)).To(gomega.Succeed())
	t.Cleanup(s.Stop)
	s.Launch()
	return s
}

// Launch starts the process and waits until it answers.
func (s *Server) Launch() {
	s.t.Helper()
	g := gomega.NewWithT(s.t)
	path, err := Program()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	s.process = exec.Command(path, s.arguments...)
	s.process.Env = []string{"ROOT_ACCESS_KEY=" + s.Bucket.AccessKey, "ROOT_SECRET_KEY=" + s.Bucket.SecretKey,
		"PATH=" + os.Getenv("PATH"), "GOGC=" + os.Getenv("GOGC")}
	s.process.Stdout, s.process.Stderr = os.Stderr, os.Stderr
	g.Expect(s.process.Start()).To(gomega.Succeed())
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(s.Bucket.CA)
	client := &http.Client{Timeout: time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12}}}
	g.Eventually(func() error {
		answer, err := client.Get(s.Bucket.Endpoint)
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}, patience, 50*time.Millisecond).Should(gomega.Succeed())
	client.CloseIdleConnections()
}

// Stop ends the process at once; what it has stays.
func (s *Server) Stop() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		s.process = nil
	}
}

// File is an object's file, by its key below the prefix.
func (s *Server) File(key string) string { return filepath.Join(s.Dir, s.Bucket.Prefix, key) }
