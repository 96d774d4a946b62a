// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// rsaKey is made once: keys take time.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// lives are the times in which a certificate and its CA are valid.
type lives struct{ begins, ends, caBegins, caEnds time.Time }

var year = lives{
	start.Add(-time.Hour),
	start.Add(365 * 24 * time.Hour),
	start.Add(-time.Hour),
	start.Add(365 * 24 * time.Hour),
}

// byAnIssuer is a certificate of the key, with its own CA, whose extended key usage is server auth alone: what many
// issuers give.
func byAnIssuer(t *testing.T, key crypto.Signer, l lives, names ...string) map[string][]byte {
	t.Helper()
	g := NewWithT(t)
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "an issuer"},
		NotBefore:             l.caBegins,
		NotAfter:              l.caEnds,
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: names[0]},
		NotBefore:    l.begins,
		NotAfter:     l.ends,
		DNSNames:     names,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	sign := func(template *x509.Certificate) []byte {
		der, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), key)
		g.Expect(err).NotTo(HaveOccurred())
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	g.Expect(err).NotTo(HaveOccurred())
	return map[string][]byte{credentials.KeyCA: sign(authority), credentials.KeyCertificate: sign(leaf),
		credentials.KeyPrivateKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})}
}

func forServers(t *testing.T, names ...string) map[string][]byte {
	t.Helper()
	return byAnIssuer(t, rsaKey(), year, names...)
}

// What would leave a server without anybody who can talk to it is refused before anything is touched.
func TestACertificateIsJudgedBeforeAServerIsGivenIt(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	later := start.Add(10 * 24 * time.Hour)
	for name, c := range map[string]struct {
		key   crypto.Signer
		lives lives
		now   time.Time
		says  string
	}{
		"it has not begun": {rsaKey(), lives{later, year.ends, year.caBegins, year.caEnds}, start,
			"it begins at 2026-11-30T10:00:00Z"},
		"it has ended": {rsaKey(), year, year.ends, "it ended at 2027-11-20"},
		"its CA has ended": {rsaKey(), lives{year.begins, year.ends, year.caBegins, later}, later.Add(time.Hour),
			"has ended or not begun"},
		"a key of an elliptic curve": {curve, year, start, "RSA keys alone"},
		"a weak key":                 {weak, year, start, "1024 bits"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			e.o.Now, e.d.Server.Spec.TLS, e.o.UserCertificate = c.now, &v1alpha1.ServerTLS{
				SecretName: "mine",
			}, byAnIssuer(
				t,
				c.key,
				c.lives,
				"tukpub-0",
			)
			reason := v1alpha1.ReasonCertificateKept
			if c.now.Equal(year.ends) {
				// What the server has ends with it.
				reason = v1alpha1.ReasonCertificateInvalid
			}
			p := plan(e.d, e.o)
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome).
				To(And(HaveField("Ready", metav1.ConditionFalse), HaveField("Reason", reason),
					HaveField("Message", ContainSubstring(c.says))))
		})
	}
}

// trio are three servers of a group that go from one CA to another.
type trio struct {
	servers map[v1alpha1.ServerName]*environ
	// shown is what each engine has read when it started.
	shown map[v1alpha1.ServerName]map[string][]byte
	// deaf is a server that the manager does not reach.
	deaf v1alpha1.ServerName
	// mounted is what a server's sidecar has in its files where that is not what the Secret has.
	mounted map[v1alpha1.ServerName]map[string][]byte
}

func newTrio(t *testing.T) *trio {
	t.Helper()
	f := &trio{servers: map[v1alpha1.ServerName]*environ{}, shown: map[v1alpha1.ServerName]map[string][]byte{}}
	names := []v1alpha1.ServerName{"tukpub", "tukone", "tuktwo"}
	for _, name := range names {
		s := server()
		s.Name = string(name)
		g := v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Name: "content"}}
		for _, n := range names {
			g.Spec.Replicas = append(g.Spec.Replicas, v1alpha1.Replica{Server: n})
		}
		f.servers[name] = newEnviron(t, declared(s, Surroundings{Groups: []v1alpha1.AvailabilityGroup{g}}))
		f.servers[name].settle(t, 100)
		f.shown[name] = f.servers[name].o.SiteCertificate
	}
	return f
}

// round lets each server take its next step, and checks after each that nobody is shown what it does not trust.
func (f *trio) round(t *testing.T) (moved bool) {
	t.Helper()
	for name, e := range f.servers {
		if name == f.deaf {
			continue
		}
		e.o.Partners = nil
		for other, o := range f.servers {
			if other != name {
				e.o.Partners = append(e.o.Partners, Partner{Server: other, Certificate: reconcile.Read(o.o.HubCertificate),
					Loaded: f.says(other)})
			}
		}
		p := plan(e.d, e.o)
		if len(p.Steps) == 0 {
			continue
		}
		moved = true
		e.do(t, p.Steps[0])
		if _, restarted := p.Steps[0].(RestartPod); restarted {
			f.shown[name] = e.o.SiteCertificate
		}
		f.check(t)
	}
	return moved
}

// says is what the sidecar of a server tells to have in its files.
func (f *trio) says(server v1alpha1.ServerName) reconcile.Reading[[]string] {
	if f.mounted[server] != nil {
		return reconcile.Read(credentials.Fingerprints(credentials.TrustOf(f.mounted[server])))
	}
	return reconcile.Read(credentials.Fingerprints(credentials.TrustOf(f.servers[server].o.SiteCertificate)))
}

func (f *trio) check(t *testing.T) {
	t.Helper()
	for name, e := range f.servers {
		for at, trust := range map[string][]byte{"its sidecar": credentials.TrustOf(e.o.SiteCertificate),
			"the manager": credentials.TrustOf(e.o.HubCertificate)} {
			if !credentials.SignedBy(f.shown[name], trust) {
				t.Fatalf("the engine of %s shows what %s does not trust", name, at)
			}
		}
		for other, o := range f.servers {
			if !credentials.SignedBy(o.o.SiteCertificate, credentials.TrustOf(e.o.SiteCertificate)) {
				t.Fatalf("the sidecar of %s shows what the sidecar of %s does not trust", other, name)
			}
		}
	}
}

// Old and new CA are trusted together until every engine shows a certificate of the new one: whoever cannot ask an
// engine can neither renew its lease nor give a server its turn to restart.
func TestAnotherCAIsTrustedBesideTheOldOneUntilEveryEngineShowsIt(t *testing.T) {
	own := func(f *trio, t *testing.T) {
		for name, e := range f.servers {
			names := credentials.CertificateNames("web", name, []string{"content"})
			e.d.Server.Spec.TLS, e.o.UserCertificate = &v1alpha1.ServerTLS{
				SecretName: "mine",
			}, issuedBy(
				t,
				otherCA,
				start,
				names...)
		}
	}
	for name, change := range map[string]func(f *trio, t *testing.T){
		"certificates of the user's": own,
		"the operator's CA is lost":  func(f *trio, t *testing.T) { f.each(func(e *environ) { e.o.Authority = nil }) },
		"the operator's CA is made anew": func(f *trio, t *testing.T) {
			f.each(func(e *environ) { e.o.Authority = otherCA })
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := newTrio(t)
			change(f, t)
			// A CA that is lost is made once, for all.
			made := func() {
				f.each(func(e *environ) {
					if e.o.Authority == otherCA {
						f.each(func(e *environ) { e.o.Authority = otherCA })
					}
				})
			}
			for n := 0; f.round(t); n++ {
				made()
				g.Expect(n).To(BeNumerically("<", 100), "it comes to an end")
			}
			for name, e := range f.servers {
				g.Expect(credentials.SignedBy(f.shown[name], otherCA.PEM())).
					To(BeTrue(), "the engine of %s shows the new certificate", name)
				g.Expect(string(credentials.TrustOf(e.o.SiteCertificate))).
					To(Equal(string(otherCA.PEM())), "%s no longer trusts the former CA", name)
				g.Expect(e.o.HubCertificate).To(Equal(e.o.SiteCertificate))
			}
		})
	}
	t.Run("a partner that the manager does not reach is waited for", func(t *testing.T) {
		g := NewWithT(t)
		f := newTrio(t)
		own(f, t)
		f.deaf = "tuktwo"
		for n := 0; f.round(t); n++ {
			g.Expect(n).To(BeNumerically("<", 100), "it comes to an end")
		}
		p := plan(f.servers["tukpub"].d, f.servers["tukpub"].o)
		g.Expect(waits(p).Why).To(ContainSubstring("once its CA is trusted beside the present one by tuktwo"))
		g.Expect(credentials.SignedBy(f.servers["tukpub"].o.SiteCertificate, ca.PEM())).To(BeTrue())
		f.deaf = ""
		for n := 0; f.round(t); n++ {
			g.Expect(n).To(BeNumerically("<", 100), "it comes to an end")
		}
		g.Expect(credentials.SignedBy(f.shown["tuktwo"], otherCA.PEM())).To(BeTrue())
	})
}

// A partner whose Secret is the user's own keeps the user's ca.crt: what it trusts beside that is told apart, and a
// change of the others' CA does not wait for what nobody may write.
func TestAPartnerWithTheUsersOwnSecretHoldsUpNoChangeOfTheCA(t *testing.T) {
	g := NewWithT(t)
	f := newTrio(t)
	theirs, err := credentials.NewAuthority(start)
	g.Expect(err).NotTo(HaveOccurred())
	settle := func() {
		for n := 0; f.round(t); n++ {
			g.Expect(n).To(BeNumerically("<", 100), "it comes to an end")
		}
	}
	e := f.servers["tukone"]
	e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: credentials.CertificateName("tukone")}
	e.o.UserCertificate = issuedBy(t, theirs, start, credentials.CertificateNames("web", "tukone", []string{"content"})...)
	e.o.HubCertificate = e.hubCertificate(e.o.HubCertificate)
	settle()
	g.Expect(credentials.SignedBy(f.shown["tukone"], theirs.PEM())).To(BeTrue())

	for _, name := range []v1alpha1.ServerName{"tukpub", "tuktwo"} {
		f.servers[name].o.Authority = otherCA
	}
	settle()
	for _, name := range []v1alpha1.ServerName{"tukpub", "tuktwo"} {
		g.Expect(credentials.SignedBy(f.shown[name], otherCA.PEM())).To(BeTrue(), "%s", name)
	}
	g.Expect(e.o.HubCertificate[credentials.KeyCA]).To(Equal(theirs.PEM()), "the user's key is as it was")
	g.Expect(credentials.HasCAs(credentials.TrustOf(e.o.HubCertificate), otherCA.PEM())).To(BeTrue())
	g.Expect(credentials.HasCAs(credentials.TrustOf(e.o.HubCertificate), ca.PEM())).
		To(BeFalse(), "nobody shows it any more")
}

// hubCertificate is what the hub's Secret comes to: one that is the user's own keeps the user's keys.
func (e *environ) hubCertificate(data map[string][]byte) map[string][]byte {
	if !e.d.userSecret(credentials.CertificateName(e.d.name())) {
		return data
	}
	kept := maps.Clone(e.o.UserCertificate)
	kept[credentials.KeyIssuers], kept[credentials.KeyTrust] = data[credentials.KeyIssuers], data[credentials.KeyCA]
	return kept
}

// The kubelet brings a Secret into the pod's files when it comes to it: until a sidecar says that it has the CA there,
// it would turn away whoever shows a certificate of it.
func TestACAIsShownOnceTheSidecarsHaveItInTheirFiles(t *testing.T) {
	g := NewWithT(t)
	f := newTrio(t)
	settle := func() {
		for n := 0; f.round(t); n++ {
			g.Expect(n).To(BeNumerically("<", 100), "it comes to an end")
		}
	}
	f.mounted = map[v1alpha1.ServerName]map[string][]byte{"tuktwo": f.servers["tuktwo"].o.SiteCertificate}
	f.each(func(e *environ) { e.o.Authority = otherCA })
	settle()
	e := f.servers["tukpub"]
	g.Expect(credentials.HasCAs(credentials.TrustOf(f.servers["tuktwo"].o.HubCertificate), otherCA.PEM())).
		To(BeTrue(), "its Secret has it")
	g.Expect(credentials.SignedBy(e.o.SiteCertificate, ca.PEM())).To(BeTrue())
	g.Expect(waits(plan(e.d, e.o)).Why).To(ContainSubstring("tuktwo, whose sidecar does not have the files yet"))

	e.o.Partners[0].Loaded = reconcile.NotRead[[]string](errors.New("no answer"))
	g.Expect(waits(plan(e.d, e.o)).Why).To(And(ContainSubstring("whose sidecar is to say so (no answer)"),
		ContainSubstring("lifecycle to Lost")))
	late := e.o
	shown, err := credentials.ParseCertificate(late.SiteCertificate)
	g.Expect(err).NotTo(HaveOccurred())
	late.Now = shown.Expires.Add(-24 * time.Hour)
	late.Partners = []Partner{late.Partners[0]}
	g.Expect(announce(e.d, late, otherCA.PEM())).To(BeEmpty(),
		"the certificate ends soon, and the partner's Secret has the CA")
	late.Partners[0].Certificate = reconcile.Read[map[string][]byte](nil)
	g.Expect(announce(e.d, late, otherCA.PEM())).NotTo(BeEmpty(), "a partner that cannot have the CA is waited for")
	for i := range e.o.Partners {
		e.o.Partners[i].Loaded = reconcile.Read[[]string](nil)
	}
	g.Expect(waits(plan(e.d, e.o)).Why).NotTo(ContainSubstring("sidecar"), "one of an earlier release does not tell")

	f.mounted = nil
	settle()
	for name, shown := range f.shown {
		g.Expect(credentials.SignedBy(shown, otherCA.PEM())).To(BeTrue(), "%s", name)
	}
}

func (f *trio) each(do func(*environ)) {
	for _, e := range f.servers {
		do(e)
	}
}

// In a Secret of the user's that has the very name of the server's, only what is trusted beside it is written.
func TestTheUsersOwnSecretKeepsItsKeys(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: credentials.CertificateName("tukpub")}
	e.o.UserCertificate = issuedBy(t, otherCA, start, e.d.certificateNames()...)
	e.o.HubCertificate = maps.Clone(e.o.UserCertificate)
	p := plan(e.d, e.o)
	step, ok := p.Steps[0].(CopyCertificate)
	g.Expect(ok).To(BeTrue(), "%T", p.Steps[0])
	g.Expect(step.Hub).To(BeTrue(), "the hub's has no word of what the engine shows")
	e.o.HubCertificate[credentials.KeyIssuers] = step.Data[credentials.KeyIssuers]
	p = plan(e.d, e.o)
	g.Expect(p.Steps[0]).To(HaveField("Hub", true), "nor has it whom the server is to trust")
	e.o.HubCertificate[credentials.KeyTrust] = step.Data[credentials.KeyCA]
	g.Expect(credentials.SignedBy(e.o.SiteCertificate, credentials.TrustOf(e.o.HubCertificate))).To(BeTrue())
	e.o.SiteCertificate = step.Data
	g.Expect(credentials.SignedBy(e.o.SiteCertificate, ca.PEM())).
		To(BeTrue(), "the engine's certificate comes after its CA")
}

// What a partner shows is not known while its Secret cannot be read, or the hub has lost it: nothing is shown that it
// may not trust, and nothing dropped.
func TestAPartnerThatCannotBeReadIsWaitedFor(t *testing.T) {
	for name, certificate := range map[string]reconcile.Reading[map[string][]byte]{
		"no answer":            reconcile.NotRead[map[string][]byte](errors.New("no answer")),
		"no Secret in the hub": reconcile.Read[map[string][]byte](nil),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			e.o.Partners = []Partner{{Server: "other", Certificate: certificate}}
			e.d.Server.Spec.TLS, e.o.UserCertificate = &v1alpha1.ServerTLS{
				SecretName: "mine",
			}, issuedBy(
				t,
				otherCA,
				start,
				e.d.certificateNames()...)
			p, done := e.settle(t, 100)
			g.Expect(waits(p).Why).To(ContainSubstring("other"), fmt.Sprint(done))
			g.Expect(credentials.SignedBy(e.o.SiteCertificate, ca.PEM())).To(BeTrue())
			g.Expect(credentials.HasCAs(e.o.SiteCertificate[credentials.KeyCA], credentials.MergeCAs(ca.PEM(), otherCA.PEM()))).
				To(BeTrue())
		})
	}
}

// A manager whose clock is wrong would renew all certificates at once, with a restart of every engine, for a time that
// is not now. Whatever there is to be issued waits until its clock is the API servers'.
func TestNothingIsIssuedByAClockThatIsWrong(t *testing.T) {
	const year = 365 * 24 * time.Hour
	apart := func(d time.Duration) sites.ClockDifference {
		return sites.ClockDifference{Least: d - time.Second, Most: d + time.Second}
	}
	for name, c := range map[string]struct {
		// now is the manager's time, when the server has a certificate of the start.
		now    time.Time
		clocks []Clock
		says   string
	}{
		"the manager's is ahead": {start.Add(year - time.Hour),
			[]Clock{{theHub, apart(-year + time.Hour)}}, "of the hub is 8758h59m59s behind the manager's"},
		"the manager's is behind": {start.Add(-2 * time.Hour),
			[]Clock{{theHub, apart(2 * time.Hour)}}, "of the hub is 1h59m59s ahead of the manager's"},
		"the site's is behind": {start.Add(year - time.Hour),
			[]Clock{{theHub, apart(0)}, {"site tukwila", apart(-time.Hour)}},
			"of site tukwila is 59m59s behind the manager's"},
		"nobody tells": {start.Add(year - time.Hour), nil, "neither hub nor site has told the time"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			shown := e.o.SiteCertificate
			e.o.Now, e.o.Clocks = c.now, c.clocks
			p, done := e.settle(t, 100)
			g.Expect(done).To(BeEmpty())
			g.Expect(e.o.SiteCertificate).To(Equal(shown))
			_, good := keptCertificate(e.d, e.o) // by the manager's clock
			reason := map[bool]string{true: v1alpha1.ReasonCertificateKept, false: v1alpha1.ReasonClocksDiffer}[good]
			g.Expect(p.Outcome).To(And(HaveField("Ready", metav1.ConditionFalse), HaveField("Reason", reason),
				HaveField("Message", ContainSubstring(c.says))))
			g.Expect(good).To(Equal(name != "the manager's is behind"))
			g.Expect(e.serves(p)).To(Equal(good), "other servers go by it")

			fresh := newEnviron(t, declared(server(), Surroundings{}))
			fresh.o.Now, fresh.o.Clocks = c.now, c.clocks
			p, done = fresh.settle(t, 100)
			g.Expect(done).NotTo(ContainElement(ContainSubstring("issue a certificate")))
			g.Expect(fresh.o.SiteCertificate).To(BeNil())
			g.Expect(p.Outcome).To(HaveField("Reason", v1alpha1.ReasonClocksDiffer))
		})
	}
	t.Run("a difference that is allowed for", func(t *testing.T) {
		g := NewWithT(t)
		e := newEnviron(t, declared(server(), Surroundings{}))
		e.settle(t, 100)
		e.o.Now, e.o.Clocks = start.Add(year-time.Hour), []Clock{{theHub, apart(-29 * time.Minute)}}
		_, done := e.settle(t, 100)
		g.Expect(done).To(ContainElement(ContainSubstring("issue a certificate")))
	})
}

// What nobody verifies holds up no change of the CA: its partners' sidecars could not even be asked.
func TestACertificateThatHasNotBegunIsReplacedAtOnce(t *testing.T) {
	g := NewWithT(t)
	f := newTrio(t)
	ahead, err := credentials.NewAuthority(start.Add(400 * 24 * time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	f.each(func(e *environ) {
		data := issuedBy(t, ahead, start.Add(400*24*time.Hour), e.d.certificateNames()...)
		data[credentials.KeyIssuers] = ahead.PEM()
		e.o.Authority, e.o.SiteCertificate, e.o.HubCertificate = ahead, data, data
	})
	e := f.servers["tukpub"]
	for name := range f.servers {
		if name != "tukpub" {
			e.o.Partners = append(e.o.Partners, Partner{Server: name,
				Certificate: reconcile.Read(f.servers[name].o.HubCertificate),
				Loaded:      reconcile.Asked[[]string](nil, errors.New("its certificate has not begun"))})
		}
	}
	p := plan(e.d, e.o)
	g.Expect(p.Steps).To(HaveExactElements(BeAssignableToTypeOf(MakeAuthority{})))
	e.o.Authority = otherCA
	p = plan(e.d, e.o)
	g.Expect(p.Steps).NotTo(BeEmpty())
	g.Expect(p.Steps[0]).To(BeAssignableToTypeOf(IssueCertificate{}))
}
