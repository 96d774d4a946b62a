// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

const (
	oneKey   = "AAAAA-BBBBB-CCCCC-DDDDD-EEEEE"
	otherKey = "AAAAA-BBBBB-CCCCC-DDDDD-FFFFF"
)

func keyed() *v1alpha1.SQLServer {
	s := server()
	s.Spec.ProductKeySecretRef = &v1alpha1.SecretReference{Name: "licence"}
	return s
}

func keyOf(value string) DeclaredSecret {
	return DeclaredSecret{Field: "spec.productKeySecretRef", Secret: "licence", Key: "productKey", Value: []byte(value)}
}

// A product key comes from a Secret to a Secret, never into a specification or an annotation; another one restarts the
// engine, and none takes it away.
func TestAProductKey(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(keyed(), Surroundings{}))
	e.o.DeclaredKey = keyOf(oneKey)
	e.settle(t, 1)
	g.Expect(e.o.ProductKey).To(HaveKeyWithValue("productKey", []byte(oneKey)))
	g.Expect(e.o.Pod.Spec.Containers[0].Env).To(ContainElement(edition(e.d)))
	g.Expect(edition(e.d).Value).To(BeEmpty())
	g.Expect(edition(e.d).ValueFrom.SecretKeyRef.Name).To(Equal("tukpub-product-key"))
	first := e.o.Pod.UID
	for _, text := range e.o.Pod.Annotations {
		g.Expect(text).NotTo(ContainSubstring("AAAAA"))
	}
	g.Expect(credentials.Passwords{}.ProductKeyMark([]byte(oneKey))).
		NotTo(Equal(e.o.Pod.Annotations[annotationProductKey]), "it tells nothing to whoever lacks the passwords")

	e.o.DeclaredKey = keyOf(otherKey)
	e.settle(t, 1)
	g.Expect(e.o.Pod.UID).NotTo(Equal(first))
	second := e.o.Pod.UID

	e.o.DeclaredKey.Value, e.o.DeclaredKey.Missing = nil, true
	p, done := e.settle(t, 1)
	g.Expect(done).To(BeEmpty(), "the server goes on with the key that it has")
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReferenceMissing))
	g.Expect(e.o.Pod.UID).To(Equal(second))

	e.d, e.o.DeclaredKey = declared(server(), Surroundings{}), DeclaredSecret{}
	p, _ = e.settle(t, 1)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
	g.Expect(e.o.ProductKey).To(BeNil())
	g.Expect(e.o.Pod.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "MSSQL_PID", Value: "Developer"}))
}

// A server without the key that it is declared with is not made; what is wrong is said without the value.
func TestAProductKeyThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		secret DeclaredSecret
		reason string
	}{
		"missing": {DeclaredSecret{Field: "spec.productKeySecretRef", Secret: "licence", Key: "productKey", Missing: true},
			v1alpha1.ReasonReferenceMissing},
		"no key": {DeclaredSecret{Field: "spec.productKeySecretRef", Secret: "licence", Key: "productKey",
			Wrong: credentials.CheckProductKey([]byte("hunter2"))}, v1alpha1.ReasonSecretNotTaken},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(keyed(), Surroundings{}))
			e.o.DeclaredKey = c.secret
			p, _ := e.settle(t, 1)
			g.Expect(p.Outcome.Reason).To(Equal(c.reason))
			g.Expect(p.Outcome.Message).To(And(ContainSubstring("licence"), ContainSubstring("spec.productKeySecretRef"),
				Not(ContainSubstring("hunter2"))))
			g.Expect(e.o.StatefulSet).To(BeNil())
		})
	}
}

// The password of sa is the one of the user's Secret from the first start on, and follows it: the engine is given
// another one by sa itself, with the one that it still has, and no pod is restarted.
func TestThePasswordOfSAIsDeclared(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.o.DeclaredSA = declareSA("First-Passw0rd")
	p, _ := e.settle(t, 1)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
	g.Expect(e.o.SitePasswords.Of(credentials.RoleSA)).To(Equal("First-Passw0rd"))
	g.Expect(e.o.HubPasswords).To(Equal(e.o.SitePasswords))
	pod := e.o.Pod.UID

	e.o.DeclaredSA = declareSA("Second-Passw0rd")
	p = plan(e.d, e.o)
	g.Expect(p.Steps).To(HaveLen(1))
	g.Expect(p.Steps[0].Describe()).To(Equal("agree on the passwords: Secret admin of spec.saPasswordSecretRef has " +
		"another one"))
	e.do(t, p.Steps[0])
	e.o.Engine.Refused[credentials.RoleSA] = errors.New("18456")
	p = plan(e.d, e.o)
	g.Expect(p.Steps).To(HaveLen(1))
	g.Expect(p.Steps[0].(mssql.Execute).Role).To(Equal(credentials.RolePreviousSA))
	g.Expect(e.o.SitePasswords.Of(credentials.RolePreviousSA)).To(Equal("First-Passw0rd"))
	delete(e.o.Engine.Refused, credentials.RoleSA) // the engine has taken it
	e.settle(t, 1)
	g.Expect(e.o.SitePasswords.Of(credentials.RoleSA)).To(Equal("Second-Passw0rd"))
	g.Expect(e.o.SitePasswords).NotTo(HaveKey(credentials.KeyPreviousSA))
	g.Expect(e.o.Pod.UID).To(Equal(pod))

	e.o.DeclaredSA = DeclaredSecret{Field: "spec.saPasswordSecretRef", Secret: "admin", Key: "password", Missing: true}
	p, done := e.settle(t, 1)
	g.Expect(done).To(BeEmpty(), "nobody is shut out because a Secret is gone")
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonReferenceMissing))

	e = newEnviron(t, declared(server(), Surroundings{}))
	e.o.DeclaredSA = DeclaredSecret{Field: "spec.saPasswordSecretRef", Secret: "admin", Key: "password",
		Wrong: credentials.CheckPassword([]byte("hunter2"))}
	p, _ = e.settle(t, 1)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSecretNotTaken))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("7 characters"), Not(ContainSubstring("hunter2"))))
	g.Expect(e.o.SitePasswords).To(BeEmpty(), "no other password is made in its place")
}
