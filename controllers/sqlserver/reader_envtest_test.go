// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sqlserver_test

import (
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/internal/mssql/credentials"
)

// readers: who may read the sidecars of a site's namespace is in one Secret there, to which people may add, and of
// which a sidecar's account reads no other.
func (b *bed) readers(t *testing.T, name string) {
	g := NewWithT(t)
	var secret corev1.Secret
	g.Expect(get(t, b.site.Client, credentials.ReaderName, &secret)()).To(Succeed())
	made := credentials.ReaderTokens(secret.Data)
	g.Expect(made).To(HaveLen(1))
	g.Expect(secret.Data).To(HaveKeyWithValue(credentials.KeyCA, certificateOf(t, b, name)[credentials.KeyCA]))

	for object, may := range map[string]bool{credentials.ReaderName: true, name + "-agent": true, name +
		"-credentials": false} {
		review := &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: "system:serviceaccount:web:" + name + "-agent",
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: "web",
					Resource:  "secrets",
					Name:      object,
					Verb:      "watch",
				}},
		}
		g.Expect(b.site.Client.Create(t.Context(), review)).To(Succeed())
		g.Expect(review.Status.Allowed).To(Equal(may), object)
	}

	secret.Data["token-of-mine"] = []byte("my-own-token-to-read")
	delete(secret.Data, credentials.KeyCA)
	g.Expect(b.site.Client.Update(t.Context(), &secret)).To(Succeed())
	b.look(t, name)
	g.Eventually(func() (map[string][]byte, error) {
		err := get(t, b.site.Client, credentials.ReaderName, &secret)()
		return secret.Data, err
	}, patient, often).Should(HaveKey(credentials.KeyCA))
	g.Expect(credentials.ReaderTokens(secret.Data)).To(Equal([]string{made[0], "my-own-token-to-read"}))

	g.Expect(b.site.Client.Delete(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: credentials.ReaderName}})).
		To(Succeed())
	b.look(t, name)
	g.Eventually(func() error {
		secret = corev1.Secret{}
		return get(t, b.site.Client, credentials.ReaderName, &secret)()
	}, patient, often).Should(Succeed())
	g.Expect(credentials.ReaderTokens(secret.Data)).
		To(And(HaveLen(1), Not(Equal(made))), "a Secret that was deleted has another token")
}
