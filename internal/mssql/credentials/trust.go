// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// KeyIssuers of a certificate's Secret has the CAs, PEM, that have signed what the server shows, has shown until its
// engine is started again, or is about to show. ca.crt has those of its partners too. Who verifies the server trusts
// both.
const KeyIssuers = "issuers.crt"

// KeyTrust of a certificate's Secret that is the user's own has all the CAs, PEM, by which the server verifies its
// partners: ca.crt, which has them elsewhere, is the user's there and stays as it is.
const KeyTrust = "trust.crt"

// MergeCAs are the certificates of the bundles, each once, in the order in which they first come. What is no
// certificate is left out.
func MergeCAs(bundles ...[]byte) []byte {
	var merged bytes.Buffer
	seen := map[string]bool{}
	for _, bundle := range bundles {
		for _, der := range certificatesOf(bundle) {
			if !seen[string(der)] {
				seen[string(der)] = true
				merged.Write(encode("CERTIFICATE", der))
			}
		}
	}
	return merged.Bytes()
}

// Fingerprints are the SHA-256 of the certificates of a bundle, in hexadecimal: what names a CA in few words.
func Fingerprints(bundle []byte) []string {
	var all []string
	for _, der := range certificatesOf(MergeCAs(bundle)) {
		sum := sha256.Sum256(der)
		all = append(all, hex.EncodeToString(sum[:]))
	}
	return all
}

// HasCAs tells whether the bundle has all certificates of another one.
func HasCAs(bundle, wanted []byte) bool {
	return bytes.Equal(MergeCAs(bundle, wanted), MergeCAs(bundle))
}

// trustKeys are the keys of a certificate's Secret that have CAs.
var trustKeys = []string{KeyCA, KeyIssuers, KeyTrust}

// TrustOf is the bundle by which a server is verified that has the certificate's Secret, and by which it verifies its
// partners; empty when the Secret has none.
func TrustOf(data map[string][]byte) []byte {
	var bundles [][]byte
	for _, key := range trustKeys {
		bundles = append(bundles, data[key])
	}
	return MergeCAs(bundles...)
}

// ReadTrust is TrustOf a folder into which the Secret is mounted.
func ReadTrust(dir string) ([]byte, error) {
	data := map[string][]byte{}
	for _, key := range trustKeys {
		content, err := os.ReadFile(filepath.Join(dir, key))
		switch {
		case errors.Is(err, fs.ErrNotExist) && key != KeyCA:
			// Managers of earlier releases did not write the issuers, and only a user's own Secret has the whole trust apart.
		case err != nil:
			return nil, fmt.Errorf("read the CAs of the servers' certificates: %w", err)
		}
		data[key] = content
	}
	trust := TrustOf(data)
	if len(trust) == 0 {
		return nil, fmt.Errorf("read the CAs of the servers' certificates: %s has none", filepath.Join(dir, KeyCA))
	}
	return trust, nil
}

// IssuersOf are the CAs of the server's own certificates; releases that did not keep them apart had no others in
// ca.crt.
func IssuersOf(data map[string][]byte) []byte {
	if len(data[KeyIssuers]) > 0 {
		return MergeCAs(data[KeyIssuers])
	}
	return MergeCAs(data[KeyCA])
}

// SignedBy tells whether the certificate of the data is signed by one of the CAs, whatever the time.
func SignedBy(data map[string][]byte, authorities []byte) bool {
	leaf, err := firstCertificate(data[KeyCertificate])
	return err == nil && signed(leaf, data[KeyCertificate], authorities, x509.ExtKeyUsageAny) == nil
}

// signed verifies a certificate when it had just begun: that and how long it and its issuers are valid are two
// questions.
func signed(leaf *x509.Certificate, chain, authorities []byte, usage x509.ExtKeyUsage) error {
	return verified(leaf, chain, authorities, usage, leaf.NotBefore.Add(time.Second))
}

func certificatesOf(bundle []byte) [][]byte {
	var all [][]byte
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return all
		}
		if block.Type == "CERTIFICATE" {
			all = append(all, block.Bytes)
		}
	}
}
