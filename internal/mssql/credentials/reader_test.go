// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql/credentials"
)

// The Secret of those who read sidecars gets a token that nobody can guess and the CAs of all servers, and keeps what a
// person added.
func TestReaders(t *testing.T) {
	g := NewWithT(t)
	ca, other := []byte(
		"-----BEGIN CERTIFICATE-----\nb25l\n-----END CERTIFICATE-----\n",
	), []byte(
		"-----BEGIN CERTIFICATE-----\ndHdv\n-----END CERTIFICATE-----\n",
	)
	g.Expect(credentials.ReaderLacks(nil, ca)).To(Equal("there is none"))
	g.Expect(credentials.ReaderLacks(map[string][]byte{"token": []byte("short")}, ca)).To(Equal("it has no token"))
	first, err := credentials.CompleteReader(nil, ca)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(credentials.ReaderLacks(first, ca)).To(BeEmpty())
	g.Expect(credentials.ReaderTokens(first)).To(ConsistOf(MatchRegexp(`^[A-Za-z0-9_-]{43}$`)))
	g.Expect(first).To(HaveKeyWithValue("ca.crt", ca))

	first["token-new"], first["tokens"], first["note"] = []byte(
		strings.Repeat("n", 16)+"\n",
	), []byte(
		strings.Repeat("x", 20),
	), []byte(
		"kept",
	)
	g.Expect(credentials.ReaderLacks(first, other)).To(ContainSubstring("a CA"))
	second, err := credentials.CompleteReader(first, other)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(credentials.ReaderTokens(second)).
		To(Equal([]string{string(first["token"]), strings.Repeat("n", 16)}), "a key that only begins alike is none")
	g.Expect(second).To(HaveKeyWithValue("ca.crt", append(append([]byte{}, ca...), other...)))
	g.Expect(second).To(HaveKeyWithValue("note", []byte("kept")))
	g.Expect(credentials.ReaderLacks(second, ca)).To(BeEmpty())
	g.Expect(credentials.ReaderLacks(second, other)).To(BeEmpty())
}

// A CA of the operator's goes once no server of the namespace shows or trusts it at the site; what a person has added
// stays.
func TestReadersForgetAFormerCA(t *testing.T) {
	g := NewWithT(t)
	made := func() []byte {
		a, err := credentials.NewAuthority(time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		return a.PEM()
	}
	old, present := made(), made()
	theirs := []byte("-----BEGIN CERTIFICATE-----\nb25l\n-----END CERTIFICATE-----\n")
	data := map[string][]byte{"token": []byte(strings.Repeat("n", 16))}
	data["ca.crt"] = credentials.MergeCAs(old, theirs, present)
	g.Expect(credentials.FormerCAs(data, credentials.MergeCAs(present, old))).To(BeEmpty())
	former := credentials.FormerCAs(data, present)
	g.Expect(former).To(Equal(old))
	left := credentials.DropCAs(data, former)
	g.Expect(left["ca.crt"]).To(Equal(credentials.MergeCAs(theirs, present)))
	g.Expect(left["token"]).To(Equal(data["token"]))
	g.Expect(data["ca.crt"]).To(Equal(credentials.MergeCAs(old, theirs, present)), "what was read is as it was")
}
