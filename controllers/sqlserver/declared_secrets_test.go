// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
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
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSecretKept))
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

// A product key that can't be had holds up nothing else of a server that runs: what its pod was made with stays, its
// certificate is renewed, and it makes room on a node that is drained.
func TestAProductKeyThatIsMissingHoldsUpNothingElse(t *testing.T) {
	missing := DeclaredSecret{Field: "spec.productKeySecretRef", Secret: "licence", Key: "productKey", Missing: true}
	wrong := missing
	wrong.Missing, wrong.Wrong = false, credentials.CheckProductKey([]byte("hunter2"))
	inTheWay := keyOf(oneKey)
	inTheWay.InTheWay = "tukpub-product-key of site tukwila"
	for name, c := range map[string]struct {
		secret DeclaredSecret
		keyed  bool
	}{
		"missing":                               {missing, false},
		"no key":                                {wrong, false},
		"somebody else's Secret in its place":   {inTheWay, false},
		"missing, and the copy at the site too": {missing, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := server()
			e := newEnviron(t, declared(s, Surroundings{}))
			if c.keyed {
				e.d = declared(keyed(), Surroundings{})
				e.o.DeclaredKey = keyOf(oneKey)
			}
			e.settle(t, 1)
			pod, former := e.o.Pod.UID, edition(e.d)
			e.d, e.o.DeclaredKey, e.o.ProductKey = declared(keyed(), Surroundings{}), c.secret, nil
			e.d.Server.Spec.Edition = ""
			says := func(p reconcile.Plan) {
				g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSecretKept))
				g.Expect(p.Outcome.Message).To(And(ContainSubstring("licence"), Not(ContainSubstring("hunter2"))))
				g.Expect(e.serves(p)).To(BeTrue(), "other servers go by it")
			}
			p, done := e.settle(t, 1)
			says(p)
			g.Expect(done).To(BeEmpty())
			g.Expect(e.o.Pod.UID).To(Equal(pod))

			// Something else of the pod changes, and its certificate is due.
			e.d.Server.Spec.Startup.CheckpointThrottleMBps = nil
			e.o.Now = start.Add(300 * 24 * time.Hour)
			p, done = e.settle(t, 1)
			says(p)
			g.Expect(done).To(ContainElement(ContainSubstring("issue a certificate")))
			g.Expect(e.o.Pod.UID).NotTo(Equal(pod))
			g.Expect(e.o.Pod.Spec.Containers[0].Env).To(ContainElement(former), "the edition is the former one")

			// Its node is cordoned while it is in a group.
			drained := *e
			drained.hosts(Turn{Group: "content", Declared: true, Primary: "quisec"})
			drained.o.Cluster.Nodes = slices.Clone(e.o.Cluster.Nodes)
			drained.o.Cluster.Nodes[0].Spec.Unschedulable = true
			p = plan(drained.d, drained.o)
			g.Expect(waits(p).Reason).To(Equal(v1alpha1.ReasonNodeCordoned), p.Outcome.Message)

			e.o.DeclaredKey = keyOf(otherKey)
			p, _ = e.settle(t, 1)
			g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
			g.Expect(e.o.ProductKey).To(HaveKeyWithValue("productKey", []byte(otherKey)))
		})
	}
}

// The operator's CA that can't be used holds up nothing but new certificates.
func TestACAThatCannotBeUsedHoldsUpNothingElse(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.o.AuthorityError = errors.New("the operator's CA can't be used; restore or delete Secret geosql-system/geosql-ca")
	p, _ := e.settle(t, 1)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonCertificateInvalid))
	g.Expect(e.o.StatefulSet).To(BeNil())

	e.o.AuthorityError = nil
	e.settle(t, 1)
	pod := e.o.Pod.UID
	e.o.Authority, e.o.AuthorityError = nil, errors.New("the operator's CA can't be used")
	e.d.Server.Spec.Startup.CheckpointThrottleMBps = nil
	p, _ = e.settle(t, 1)
	g.Expect(e.o.Pod.UID).NotTo(Equal(pod), "what else is declared is done")
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonCertificateKept))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("the operator's CA can't be used"), ContainSubstring("ends at")))
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
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSecretKept))
	g.Expect(e.serves(p)).To(BeTrue(), "other servers go by it")

	e = newEnviron(t, declared(server(), Surroundings{}))
	e.o.DeclaredSA = DeclaredSecret{Field: "spec.saPasswordSecretRef", Secret: "admin", Key: "password",
		Wrong: credentials.CheckPassword([]byte("hunter2"))}
	p, _ = e.settle(t, 1)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonSecretNotTaken))
	g.Expect(p.Outcome.Message).To(And(ContainSubstring("7 characters"), Not(ContainSubstring("hunter2"))))
	g.Expect(e.o.SitePasswords).To(BeEmpty(), "no other password is made in its place")
}
