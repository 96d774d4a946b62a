// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

func TestPasswordsMeetThePolicy(t *testing.T) {
	g := NewWithT(t)
	seen, used, first := map[string]bool{}, "", ""
	for range 200 {
		p, err := NewPassword()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(p).To(HaveLen(32))
		for _, alphabet := range alphabets {
			g.Expect(strings.ContainsAny(p, alphabet)).To(BeTrue(), "class %s", alphabet)
		}
		g.Expect(p).
			To(MatchRegexp(`^[A-Za-z0-9][A-Za-z0-9._-]*$`), "nothing that a shell, T-SQL or a command line would take otherwise")
		g.Expect(seen).NotTo(HaveKey(p))
		seen[p] = true
		used, first = used+p, first+p[:1]
	}
	for _, c := range strings.Join(alphabets, "") {
		g.Expect(used).To(ContainSubstring(string(c)), "no character is left out")
	}
	symbols := len(used) - len(strings.NewReplacer("-", "", "_", "", ".", "").Replace(used))
	g.Expect(symbols).To(BeNumerically("<", len(used)/5), "all characters are as likely: three of sixty are symbols")
	for _, alphabet := range alphabets[:3] {
		g.Expect(strings.ContainsAny(first, alphabet)).To(BeTrue(), "a password begins with any but a symbol")
	}
}

func TestNames(t *testing.T) {
	g := NewWithT(t)
	g.Expect([]string{PasswordsName("tukpub"), CertificateName("tukpub"), OrdersName("tukpub"), HostName("tukpub")}).
		To(Equal([]string{"tukpub-credentials", "tukpub-tls", "tukpub-agent", "tukpub-0"}))
	for role, login := range map[Role]string{RoleSA: "sa", RolePreviousSA: "sa", RoleSupersededSA: "sa",
		RoleOperator: "geosql_operator",
		RoleAgent:    "geosql_agent", RoleReplication: "geosql_replication"} {
		g.Expect(role.Login()).To(Equal(login))
	}
	g.Expect(AgentAddress("tukpub-0")).To(Equal("tukpub-0:8443"))
}

func TestSIDs(t *testing.T) {
	g := NewWithT(t)
	g.Expect(SID("web", "geosql_agent")).To(HaveLen(16))
	g.Expect(SID("web", "geosql_agent")).To(Equal(SID("web", "geosql_agent")))
	g.Expect(SID("web", "geosql_agent")).NotTo(Equal(SID("web", "geosql_operator")))
	g.Expect(SID("web", "geosql_agent")).NotTo(Equal(SID("shop", "geosql_agent")))
}

func full(mark string) Passwords {
	p := Passwords{}
	for _, key := range passwordKeys() {
		p[key] = []byte(mark + key)
	}
	return p
}

func with(p Passwords, key, mark string) Passwords {
	p = maps.Clone(p)
	p[key] = []byte(mark + KeySA)
	if key != KeyPreviousSA && key != KeySupersededSA {
		p[key] = []byte(mark + key)
	}
	return p
}

// sealed are the passwords of a server on which site and hub agree.
func sealed(mark string) Passwords {
	a, err := Agree(full(mark), full(mark), true)
	if err != nil {
		panic(err)
	}
	return a.Passwords
}

func TestAgree(t *testing.T) {
	partial := full("s")
	delete(partial, KeyMasterKey)
	agreed := sealed("s")
	tests := []struct {
		name      string
		site, hub Passwords
		volumes   bool
		want      Passwords
		agreement Agreement
	}{
		{"the hub adopts", full("s"), nil, true, full("s"), Agreement{WriteSite: true, WriteHub: true, Adopted: true}},
		{"the site is restored", nil, full("h"), true, full("h"), Agreement{WriteSite: true, WriteHub: true, Restored: true}},
		{
			"the site wins",
			full("s"),
			full("h"),
			true,
			with(full("s"), KeyPreviousSA, "h"),
			Agreement{WriteSite: true, WriteHub: true, Rotated: passwordKeys()},
		},
		{"nothing to do", agreed, agreed, true, full("s"), Agreement{}},
		{"the hub adopts what was agreed", agreed, nil, true, full("s"), Agreement{WriteHub: true, Adopted: true}},
		{"the site is restored to what was agreed", nil, agreed, true, full("s"), Agreement{WriteSite: true, Restored: true}},
		{
			"a hub that knows of no agreement",
			agreed,
			full("h"),
			true,
			with(full("s"), KeyPreviousSA, "h"),
			Agreement{WriteSite: true, WriteHub: true, Rotated: passwordKeys()},
		},
		{
			"two agreements of the same number",
			agreed,
			sealed("h"),
			true,
			with(full("s"), KeyPreviousSA, "h"),
			Agreement{WriteSite: true, WriteHub: true, Rotated: passwordKeys()},
		},
		{
			"changed at the site",
			with(sealed("s"), KeySA, "new"),
			sealed("s"),
			true,
			with(with(full("s"), KeySA, "new"), KeyPreviousSA, "s"),
			Agreement{WriteSite: true, WriteHub: true, Rotated: []string{KeySA}},
		},
		{"changed in the hub", sealed("s"), with(sealed("s"), KeyAgent, "new"), true, with(full("s"), KeyAgent, "new"),
			Agreement{WriteSite: true, WriteHub: true, Rotated: []string{KeyAgent}}},
		{
			"sa changed in the hub",
			sealed("s"),
			with(sealed("s"), KeySA, "new"),
			true,
			with(with(full("s"), KeySA, "new"), KeyPreviousSA, "s"),
			Agreement{WriteSite: true, WriteHub: true, Rotated: []string{KeySA}},
		},
		{
			"changed at both",
			with(sealed("s"), KeyAgent, "a"),
			with(sealed("s"), KeyAgent, "b"),
			true,
			with(full("s"), KeyAgent, "a"),
			Agreement{WriteSite: true, WriteHub: true, Rotated: []string{KeyAgent}},
		},
		{
			"changed again before the engine took it",
			with(with(sealed("b"), KeyPreviousSA, "a"), KeySA, "c"),
			with(sealed("b"), KeyPreviousSA, "a"),
			true,
			with(with(with(full("b"), KeySA, "c"), KeyPreviousSA, "a"), KeySupersededSA, "b"),
			Agreement{WriteSite: true, WriteHub: true, Rotated: []string{KeySA}},
		},
		{
			"a missing key is made while volumes exist",
			partial,
			partial,
			true,
			nil,
			Agreement{WriteSite: true, WriteHub: true, Generated: true},
		},
		{"all are made for a new server", nil, nil, false, nil, Agreement{WriteSite: true, WriteHub: true, Generated: true}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := Agree(tc.site, tc.hub, tc.volumes)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Passwords).To(HaveKey(keyAgreed))
			delete(got.Passwords, keyAgreed)
			if tc.want != nil {
				g.Expect(got.Passwords).To(Equal(tc.want))
			}
			delete(got.Passwords, KeyPreviousSA)
			delete(got.Passwords, KeySupersededSA)
			g.Expect(got.Passwords).To(HaveLen(5))
			got.Passwords = nil
			g.Expect(got).To(Equal(tc.agreement))
		})
	}
	_, err := Agree(nil, nil, true)
	NewWithT(t).Expect(err).To(MatchError(ErrLost))
}

// Whatever is lost or half written, one round brings site and hub to the same passwords, no password that the site has
// is ever replaced, and a second round changes nothing.
func TestAgreeConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := func(label, mark string) Passwords {
			p := Passwords{}
			for _, key := range passwordKeys() {
				if rapid.Bool().Draw(t, label+key) {
					p[key] = []byte(mark + key)
				}
			}
			return p
		}
		site, hub, volumes := some("site", "s"), some("hub", "h"), rapid.Bool().Draw(t, "volumes")
		got, err := Agree(site, hub, volumes)
		lost := volumes && len(site[KeySA]) == 0 && len(hub[KeySA]) == 0
		if lost != (err != nil) {
			t.Fatalf("error %v", err)
		}
		if lost {
			return
		}
		for key, value := range site {
			if string(got.Passwords[key]) != string(value) {
				t.Fatalf("%s of the site was replaced", key)
			}
		}
		if got.WriteSite {
			site = maps.Clone(got.Passwords)
		}
		if got.WriteHub {
			hub = maps.Clone(got.Passwords)
		}
		again, err := Agree(site, hub, true)
		if err != nil || again.WriteSite || again.WriteHub || again.Generated {
			t.Fatalf("the second round: %+v, %v", again, err)
		}
	})
}

// The marks are salted, each server's otherwise, and the salt stays: else each look would be a change.
func TestMarksAreSalted(t *testing.T) {
	g := NewWithT(t)
	one, other := sealed("s"), sealed("s")
	g.Expect(string(one[keyAgreed])).To(MatchRegexp(`^[0-9a-f]{32}\n`))
	g.Expect(one[keyAgreed]).NotTo(Equal(other[keyAgreed]))
	again, err := Agree(one, one, true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Passwords[keyAgreed]).To(Equal(one[keyAgreed]))
}

// A cluster that is set back to a backup brings no earlier password with it, whichever side it is and whatever was
// changed meanwhile: the later agreement counts, and nobody is told that a password was changed. Changes that people
// make after it reach both sides.
func TestABackupBringsNoPasswordBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agree := func(site, hub Passwords) Agreement {
			a, err := Agree(site, hub, true)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		first := agree(full("0"), nil).Passwords
		site, hub, backups := first, first, []Passwords{first}
		for i := range rapid.IntRange(1, 6).Draw(t, "rounds") {
			key := rapid.SampledFrom(passwordKeys()).Draw(t, "key")
			site, hub = maps.Clone(site), maps.Clone(hub)
			want := maps.Clone(site)
			what := rapid.SampledFrom([]string{"site changes", "hub changes", "site is set back", "hub is set back"}).
				Draw(t, "what")
			switch what {
			case "site changes":
				site[key] = []byte{'s', byte('1' + i)}
				want[key] = site[key]
			case "hub changes":
				hub[key] = []byte{'h', byte('1' + i)}
				want[key] = hub[key]
			case "site is set back":
				site = maps.Clone(rapid.SampledFrom(backups).Draw(t, "backup"))
			case "hub is set back":
				hub = maps.Clone(rapid.SampledFrom(backups).Draw(t, "backup"))
			}
			back := what == "site is set back" || what == "hub is set back"
			a := agree(site, hub)
			for _, k := range passwordKeys() {
				if string(a.Passwords[k]) != string(want[k]) {
					t.Fatalf("%s: %s is %q, not %q", what, k, a.Passwords[k], want[k])
				}
			}
			if back && (len(a.Rotated) > 0 || len(a.Passwords[KeyPreviousSA]) > 0) {
				t.Fatalf("%s: rotated %v, previous %q", what, a.Rotated, a.Passwords[KeyPreviousSA])
			}
			if again := agree(a.Passwords, a.Passwords); again.WriteSite || again.WriteHub {
				t.Fatalf("%s: the second round: %+v", what, again)
			}
			// The engine takes a new sa password before anything else happens.
			site = Settled(a.Passwords)
			hub = site
			backups = append(backups, site)
		}
	})
}

// A site that has agreed by a release which did not count agreements counts from there on.
func TestAgreementsOfAnEarlierRelease(t *testing.T) {
	g := NewWithT(t)
	earlier := sealed("s")
	earlier[keyAgreed] = []byte(strings.ReplaceAll(string(earlier[keyAgreed]), "\ngeneration=1", ""))
	same, err := Agree(earlier, earlier, true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]bool{same.WriteSite, same.WriteHub}).To(Equal([]bool{false, false}))
	changed, err := Agree(with(earlier, KeyAgent, "new"), earlier, true)
	g.Expect(err).NotTo(HaveOccurred())
	back, err := Agree(changed.Passwords, earlier, true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(back.Passwords).To(HaveKeyWithValue(KeyAgent, []byte("new"+KeyAgent)))
	g.Expect(back).
		To(And(HaveField("SetBack", true), HaveField("Rotated", BeEmpty()), HaveField("WriteSite", false),
			HaveField("WriteHub", true)))
}

func authority(t *testing.T) (*Authority, time.Time) {
	t.Helper()
	now := time.Now().Truncate(time.Second)
	a, err := NewAuthority(now)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return a, now
}

func TestAuthorityRoundTrip(t *testing.T) {
	g := NewWithT(t)
	a, now := authority(t)
	data, err := a.Data()
	g.Expect(err).NotTo(HaveOccurred())
	b, err := ParseAuthority(data)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.PEM()).To(Equal(a.PEM()))
	issued, err := b.Issue([]string{"tukpub-0"}, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Renewal(issued, []string{"tukpub-0"}, now)).To(BeEmpty())

	other, err := NewAuthority(now)
	g.Expect(err).NotTo(HaveOccurred())
	mixed, err := other.Data()
	g.Expect(err).NotTo(HaveOccurred())
	mixed[KeyCertificate] = data[KeyCertificate]
	_, err = ParseAuthority(mixed)
	g.Expect(err).To(MatchError(ContainSubstring("do not belong together")))
	data[KeyPrivateKey] = []byte("secret nonsense")
	_, err = ParseAuthority(data)
	g.Expect(err).To(HaveOccurred())
	g.Expect(err.Error()).NotTo(ContainSubstring("nonsense"))
}

// A client that trusts the CA alone takes the certificate under each of its names, in a real handshake.
func TestIssuedCertificateServes(t *testing.T) {
	g := NewWithT(t)
	a, now := authority(t)
	names := CertificateNames("web", "tukpub", []string{"content"})
	g.Expect(names).
		To(ContainElements("tukpub-0", "tukpub-0.web.svc.cluster.local", "content", "content-ro.web.svc", "localhost",
			"127.0.0.1"))
	data, err := a.Issue(names, now)
	g.Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(data[KeyCertificate], data[KeyPrivateKey])
	g.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(data[KeyCA])).To(BeTrue())
	for _, name := range names {
		g.Expect(handshake(t, pair, roots, name)).To(Succeed(), name)
	}
	g.Expect(handshake(t, pair, roots, "quisec-0")).NotTo(Succeed())
	block, _ := pem.Decode(data[KeyPrivateKey])
	g.Expect(block.Type).To(Equal("RSA PRIVATE KEY"), "SQL Server on Linux reads RSA keys")
}

func handshake(t *testing.T, pair tls.Certificate, roots *x509.CertPool, name string) error {
	t.Helper()
	left, right := net.Pipe()
	defer left.Close()
	defer right.Close()
	go func() { _ = tls.Server(left, &tls.Config{Certificates: []tls.Certificate{pair}}).Handshake() }()
	return tls.Client(right, &tls.Config{RootCAs: roots, ServerName: name}).Handshake()
}

func TestRenewal(t *testing.T) {
	g := NewWithT(t)
	a, now := authority(t)
	names := []string{"tukpub-0", "tukpub-0.web.svc"}
	data, err := a.Issue(names, now)
	g.Expect(err).NotTo(HaveOccurred())
	c, err := ParseCertificate(data)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Expires).To(BeTemporally("~", now.Add(365*24*time.Hour), time.Second))
	g.Expect(c.RenewAt).To(BeTemporally("~", now.Add(365*24*time.Hour*2/3), time.Hour))
	g.Expect(c.Client).To(BeTrue(), "it is shown by the server to other servers, too")
	g.Expect(a.Renewal(data, names, c.RenewAt.Add(-time.Second))).To(BeEmpty())
	g.Expect(a.Renewal(data, names, c.RenewAt)).To(ContainSubstring("two thirds of its life"))
	g.Expect(a.Renewal(nil, names, now)).To(Equal("there is none"))
	g.Expect(a.Renewal(data, append(names, "content"), now)).To(Equal("it lacks content"))
	other, _ := authority(t)
	g.Expect(other.Renewal(data, names, now)).To(Equal("it is of another CA"))

	mixed := maps.Clone(data)
	mixed[KeyCA] = other.PEM()
	_, err = ParseCertificate(mixed)
	g.Expect(err).To(MatchError(ContainSubstring("is not signed by")))
	mixed[KeyCertificate] = []byte("no PEM")
	_, err = ParseCertificate(mixed)
	g.Expect(err).To(MatchError(ContainSubstring("read tls.crt: no PEM certificate")))
	mixed[KeyCertificate] = data[KeyPrivateKey]
	_, err = ParseCertificate(mixed)
	g.Expect(err).To(MatchError(ContainSubstring("read tls.crt: no PEM certificate")))
	delete(mixed, KeyCA)
	_, err = ParseCertificate(mixed)
	g.Expect(err).To(MatchError(ContainSubstring("key ca.crt is missing")))
}

func TestCertificateNeverOutlivesTheCA(t *testing.T) {
	g := NewWithT(t)
	a, now := authority(t)
	last := now.Add(authorityLife - certificateLife)
	data, err := a.Issue([]string{"x"}, last)
	g.Expect(err).NotTo(HaveOccurred())
	c, err := ParseCertificate(data)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Expires).To(Equal(a.Expires()))
	_, err = a.Issue([]string{"x"}, last.Add(time.Second))
	g.Expect(err).To(MatchError(ContainSubstring("the CA is to be replaced first: the present one ends at")))
}

// What a user brings may be good for servers alone: then no client shows it.
func TestACertificateForServersAlone(t *testing.T) {
	g := NewWithT(t)
	a, now := authority(t)
	issued, err := a.Issue([]string{"x"}, now)
	g.Expect(err).NotTo(HaveOccurred())
	block, _ := pem.Decode(issued[KeyCertificate])
	template, err := x509.ParseCertificate(block.Bytes)
	g.Expect(err).NotTo(HaveOccurred())
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, template.PublicKey, a.key)
	g.Expect(err).NotTo(HaveOccurred())
	issued[KeyCertificate] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	c, err := ParseCertificate(issued)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Client).To(BeFalse())
}

// An engine cannot be told a passphrase: of a key that has one it is said what to change, in either form of PEM.
func TestAKeyThatIsEncrypted(t *testing.T) {
	g := NewWithT(t)
	a, now := authority(t)
	issued, err := a.Issue([]string{"x"}, now)
	g.Expect(err).NotTo(HaveOccurred())
	for _, key := range []*pem.Block{
		{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("sealed")},
		{Type: "RSA PRIVATE KEY", Bytes: []byte("sealed"), Headers: map[string]string{"DEK-Info": "AES-256-CBC,0a"}},
	} {
		issued[KeyPrivateKey] = pem.EncodeToMemory(key)
		_, err := ParseCertificate(issued)
		g.Expect(err).To(MatchError(ContainSubstring("put the plain key there")), key.Type)
	}
	issued[KeyPrivateKey] = []byte("no PEM")
	_, err = ParseCertificate(issued)
	g.Expect(err).To(MatchError(ContainSubstring("do not belong together")))
}
