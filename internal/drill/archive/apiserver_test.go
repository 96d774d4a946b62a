// SPDX-License-Identifier: Apache-2.0

//go:build integration

package archive_test

import (
	"context"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/test/support/apiserver"
)

// TestRealAPIServerTakesAnArchive writes one of several whole chunks, which the API server has to take as they are.
func TestRealAPIServerTakesAnArchive(t *testing.T) {
	g := NewWithT(t)
	hub := apiserver.StartHub(t)
	hub.Namespace(t, run.Namespace)
	a := some(t)
	noise := make([]byte, 2<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	a.Files["noise"] = noise
	ref, err := write(hub.Client, a, archive.DefaultLimits())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ref.Chunks).To(Equal(3))
	back, err := archive.Read(context.Background(), hub.Client, run)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(back.Files["noise"]).To(Equal(noise))

	var index corev1.ConfigMap
	g.Expect(hub.Client.Get(context.Background(), client.ObjectKey{Namespace: run.Namespace, Name: ref.Index}, &index)).
		To(Succeed())
	index.BinaryData["index.json"] = []byte("{}")
	g.Expect(hub.Client.Update(context.Background(), &index)).
		To(MatchError(ContainSubstring("immutable")), "nobody changes it by mistake")
	g.Expect(archive.Delete(context.Background(), hub.Client, run)).To(Succeed())
	_, err = archive.Read(context.Background(), hub.Client, run)
	g.Expect(err).To(MatchError(archive.ErrNotFound))
}
