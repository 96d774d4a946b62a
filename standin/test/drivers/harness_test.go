// SPDX-License-Identifier: Apache-2.0

//go:build drivers

// Package drivers_test runs clients that others wrote against the stand-in: each driver's program does the same checks,
// and a table of the results is kept in docs/drivers.md. hack/drivers installs the drivers; `make test-drivers` does
// both.
package drivers_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"database/sql"
	_ "embed"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

const (
	user         = "sa"
	password     = "Dr1vers-Check"
	startWithin  = 60 * time.Second
	driverWithin = 8 * time.Minute
)

//go:embed schema.sql
var schema string

//go:embed types.json
var typesJSON []byte

// typeCase is one value of one type: drivers read SQL, must see Text (or Repeat, Times times), and insert what they
// read into dbo.[back_Name], where the harness compares it with SQL again.
type typeCase struct {
	Name, Type, Kind, SQL, Text, Repeat string
	Times                               int
}

func typeCases(t *testing.T) []typeCase {
	t.Helper()
	var out []typeCase
	NewWithT(t).Expect(json.Unmarshal(typesJSON, &out)).To(Succeed())
	return out
}

// server is a stand-in process with a certificate of a test authority.
type server struct {
	port           string
	work, ca, cert string
	output         *output
	exited         chan struct{}
	cmd            *exec.Cmd
}

// output takes the process's lines while the test reads them.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

var listening = regexp.MustCompile(`Server is listening on \[ \S+ <\w+> (\d+)\]`)

// start builds and starts a stand-in; it ends with the test.
func start(t *testing.T) *server {
	t.Helper()
	g := NewWithT(t)
	s := &server{work: t.TempDir(), output: &output{}, exited: make(chan struct{})}
	binary := filepath.Join(s.work, "sqlservr")
	out, err := exec.Command("go", "build", "-o", binary, "geosql.dev/standin/cmd/standin").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	root := filepath.Join(s.work, "root")
	g.Expect(os.Mkdir(root, 0o700)).To(Succeed())
	s.certify(t)
	conf := fmt.Sprintf("[network]\ntlscert = %s\ntlskey = %s\n", s.cert, filepath.Join(s.work, "server.key"))
	g.Expect(os.WriteFile(filepath.Join(root, "mssql.conf"), []byte(conf), 0o600)).To(Succeed())
	s.cmd = exec.Command(binary, "--root", root, "--server-name", "DRIVERS")
	s.cmd.Env = []string{
		"ACCEPT_EULA=Y",
		"MSSQL_SA_PASSWORD=" + password,
		"MSSQL_TCP_PORT=0",
		"MSSQL_IP_ADDRESS=127.0.0.1",
	}
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	g.Expect(s.cmd.Start()).To(Succeed())
	go func() { _ = s.cmd.Wait(); close(s.exited) }()
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		<-s.exited
		if text := s.output.String(); t.Failed() || strings.Contains(text, "internal error") {
			t.Logf("output of the server:\n%s", text)
		}
	})
	g.Eventually(s.output.String, startWithin, 20*time.Millisecond).
		Should(ContainSubstring("is now ready for client connections"))
	s.port = listening.FindStringSubmatch(s.output.String())[1]
	return s
}

// certify writes an authority (ca.pem) and the server's certificate for localhost and 127.0.0.1.
func (s *server) certify(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "authority of the driver tests"},
		NotBefore: now.Add(
			-time.Hour,
		),
		NotAfter:              now.Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "localhost"},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	caDER, err := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)
	g.Expect(err).NotTo(HaveOccurred())
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, &leafKey.PublicKey, authorityKey)
	g.Expect(err).NotTo(HaveOccurred())
	keyDER, err := x509.MarshalPKCS8PrivateKey(leafKey)
	g.Expect(err).NotTo(HaveOccurred())
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(s.work, name)
		g.Expect(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)).To(Succeed())
		return file
	}
	s.ca, s.cert = write("ca.pem", "CERTIFICATE", caDER), write("server.pem", "CERTIFICATE", leafDER)
	write("server.key", "PRIVATE KEY", keyDER)
}

// dsn is a connection string of go-mssqldb.
func (s *server) dsn(database string, options map[string]string) string {
	q := url.Values{"certificate": {s.ca}, "encrypt": {"true"}, "dial timeout": {"30"}}
	if database != "" {
		q.Set("database", database)
	}
	for name, value := range options {
		q.Set(name, value)
	}
	u := url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword(user, password),
		Host:     "localhost:" + s.port,
		RawQuery: q.Encode(),
	}
	return u.String()
}

// database makes a database with the tables and procedures that the programs use.
func (s *server) database(t *testing.T, name string) *sql.DB {
	t.Helper()
	g := NewWithT(t)
	s.emptyDatabase(t, name)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("sqlserver", s.dsn(name, nil))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { db.Close() })
	for _, batch := range strings.Split(schema, "\nGO\n") {
		_, err := db.ExecContext(ctx, batch)
		g.Expect(err).NotTo(HaveOccurred(), "%s", batch)
	}
	for _, c := range typeCases(t) {
		_, err := db.ExecContext(ctx, fmt.Sprintf("CREATE TABLE dbo.[back_%s] (c %s NULL)", c.Name, c.Type))
		g.Expect(err).NotTo(HaveOccurred(), c.Name)
	}
	return db
}
