// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/gomega"
)

// serve serves a registry on loopback, in plain HTTP, until the test ends.
func serve(t *testing.T) (address string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// with gives a release another image.
func (r *release) with(t *testing.T) *release {
	t.Helper()
	g := NewWithT(t)
	index, err := random.Index(100, 1, 2)
	g.Expect(err).NotTo(HaveOccurred())
	r.index = index
	r.digest, err = index.Digest()
	g.Expect(err).NotTo(HaveOccurred())
	return r
}

// A release is pushed once; by the name of one that is there nobody gets another image.
func TestPush(t *testing.T) {
	g := NewWithT(t)
	r := (&release{version: semver.MustParse("0.2.0"), repository: serve(t) + "/team/" + imageName}).with(t)
	var said strings.Builder
	g.Expect(r.push(t.Context(), &said)).To(Succeed())
	g.Expect(said.String()).To(ContainSubstring("pushed " + r.repository + ":0.2.0, digest " + r.digest.String()))
	g.Expect(r.push(t.Context(), &said)).To(Succeed())
	g.Expect(said.String()).To(ContainSubstring("is there already"))
	first := r.digest
	g.Expect(r.with(t).push(t.Context(), &said)).To(MatchError(ContainSubstring("the tag is another image already")))
	tag, err := name.NewTag(r.repository + ":0.2.0")
	g.Expect(err).NotTo(HaveOccurred())
	there, err := remote.Head(tag)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(there.Digest).To(Equal(first))
}

// A registry that says nothing of a tag is pushed to by nobody: the tag may be there.
func TestPushToWhoDoesNotAnswer(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(nil)
	address := strings.TrimPrefix(server.URL, "http://")
	server.Close()
	r := (&release{version: semver.MustParse("0.2.0"), repository: address + "/" + imageName}).with(t)
	g.Expect(r.push(t.Context(), io.Discard)).To(MatchError(ContainSubstring("look whether " + address)))
}
