// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/workload"
)

// unserved are options of clients of a server at which nobody listens.
func unserved(t *testing.T) workload.RecordOptions {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	folder := t.TempDir()
	for name, data := range map[string][]byte{credentials.KeySA: []byte("Secret-1234"),
		credentials.KeyCA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})} {
		g.Expect(os.WriteFile(filepath.Join(folder, name), data, 0o600)).To(Succeed())
	}
	return workload.RecordOptions{Client: "test", Folder: t.TempDir(), Workers: 2, Rate: 50, Timeout: time.Second,
		Options: workload.Options{Server: "tukpub", Address: "127.0.0.1:1", Database: "Content", Credentials: folder}}
}

// stop asks for as long as a test waits for what is there.
func stop(t *testing.T, folder string) error {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return workload.Stop(ctx, folder)
}

// Clients whose time is over have stopped, for whoever asks later; a container that is started again begins nothing.
func TestClientsThatStoppedByThemselves(t *testing.T) {
	g := NewWithT(t)
	o := unserved(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	g.Expect(workload.Record(ctx, o)).To(Succeed())
	g.Expect(workload.Record(t.Context(), o)).To(Succeed())
	g.Expect(filepath.Glob(filepath.Join(o.Folder, "*.history"))).To(HaveLen(2))
	g.Expect(stop(t, o.Folder)).To(Succeed())
}

// Clients that were killed after they had been asked to stop are followed by a container that finds the request: it
// begins nothing, and says that nobody is at work.
func TestClientsThatWereStartedAgainToStop(t *testing.T) {
	g := NewWithT(t)
	o := unserved(t)
	asked, cancel := context.WithCancel(t.Context())
	cancel()
	g.Expect(workload.Stop(asked, o.Folder)).NotTo(Succeed())
	g.Expect(workload.Record(t.Context(), o)).To(Succeed())
	g.Expect(filepath.Glob(filepath.Join(o.Folder, "*.history"))).To(BeEmpty())
	g.Expect(stop(t, o.Folder)).To(Succeed())
}
