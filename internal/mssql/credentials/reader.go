// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ReaderName is the Secret, one in each namespace of a site where servers run, with the tokens by which the status and
// the metrics of the sidecars there are read. Each site has its own.
const ReaderName = "geosql-agent-reader"

// KeyReaderToken is the key of the token that is made. A key that begins with it and goes on with "-" holds a further
// token, which a person made.
const KeyReaderToken = "token"

const (
	// readerTokenBytes are random.
	readerTokenBytes = 32
	// minReaderToken is the least length of a token in characters: what can be guessed opens nothing.
	minReaderToken = 16
)

// ReaderTokens are the tokens in the data of the Secret, without the white space around them. One of fewer than 16
// characters is none.
func ReaderTokens(data map[string][]byte) []string {
	var tokens []string
	for _, key := range slices.Sorted(maps.Keys(data)) {
		token := strings.TrimSpace(string(data[key]))
		if (key == KeyReaderToken || strings.HasPrefix(key, KeyReaderToken+"-")) && len(token) >= minReaderToken {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// ReaderLacks says what the data of the Secret lack for readers of a server whose certificate ca (PEM) has signed;
// empty when nothing.
func ReaderLacks(data map[string][]byte, ca []byte) string {
	switch {
	case data == nil:
		return "there is none"
	case len(ReaderTokens(data)) == 0:
		return "it has no token"
	case !HasCAs(data[KeyCA], ca):
		return "it lacks a CA of the server's certificate"
	}
	return ""
}

// FormerCAs are the CAs (PEM) among those of the Secret that the operator has made and that trusted has not, in which
// all are that the servers of the namespace show or trust at the site. A CA that somebody else has made is left to
// them.
func FormerCAs(data map[string][]byte, trusted []byte) []byte {
	var former []byte
	for _, der := range certificatesOf(data[KeyCA]) {
		one := encode("CERTIFICATE", der)
		ca, err := x509.ParseCertificate(der)
		if err == nil && ca.Subject.String() == authorityName().String() && ca.CheckSignatureFrom(ca) == nil &&
			!HasCAs(trusted, one) {
			former = append(former, one...)
		}
	}
	return former
}

// DropCAs is the data of the Secret without the CAs.
func DropCAs(data map[string][]byte, former []byte) map[string][]byte {
	left := map[string][]byte{}
	maps.Copy(left, data)
	left[KeyCA] = nil
	for _, der := range certificatesOf(data[KeyCA]) {
		if one := encode("CERTIFICATE", der); !HasCAs(former, one) {
			left[KeyCA] = append(left[KeyCA], one...)
		}
	}
	return left
}

// CompleteReader is the data of the Secret with what ReaderLacks tells. It takes no CA out: one server does not know
// the others'.
func CompleteReader(data map[string][]byte, ca []byte) (map[string][]byte, error) {
	full := map[string][]byte{}
	maps.Copy(full, data)
	if len(ReaderTokens(full)) == 0 {
		random := make([]byte, readerTokenBytes)
		if _, err := rand.Read(random); err != nil {
			return nil, fmt.Errorf("read random bytes: %w", err)
		}
		full[KeyReaderToken] = []byte(base64.RawURLEncoding.EncodeToString(random))
	}
	if !HasCAs(full[KeyCA], ca) {
		full[KeyCA] = MergeCAs(full[KeyCA], ca)
	}
	return full, nil
}
