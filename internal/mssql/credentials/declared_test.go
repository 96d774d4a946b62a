// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql/credentials"
)

// agreed is what site and hub have after they have met with a declared password, as often as there is something to
// write.
func agreed(t *testing.T, site, hub credentials.Passwords, declared string, volumes bool) credentials.Passwords {
	t.Helper()
	g := NewWithT(t)
	for range 5 {
		a, err := credentials.Administrator{Declared: []byte(declared)}.Agree(site, hub, volumes)
		g.Expect(err).NotTo(HaveOccurred())
		if !a.WriteSite && !a.WriteHub {
			g.Expect(hub).To(Equal(site))
			return site
		}
		site, hub = a.Passwords, a.Passwords
	}
	t.Fatal("site and hub never agree")
	return nil
}

// A password of sa that is declared becomes the one of site and hub whatever they had, and the one that the engine has
// is kept until it takes the new one.
func TestADeclaredPasswordOfSA(t *testing.T) {
	g := NewWithT(t)
	const first, second, third = "First-Passw0rd", "Second-Passw0rd", "Third-Passw0rd"
	made := agreed(t, nil, nil, first, false)
	g.Expect(string(made[credentials.KeySA])).To(Equal(first))
	g.Expect(made).NotTo(HaveKey(credentials.KeyPreviousSA))
	own := agreed(t, nil, nil, "", false)
	for name, c := range map[string]struct{ site, hub credentials.Passwords }{
		"changed":                {made, made},
		"declared first":         {own, own},
		"a hub that was rebuilt": {own, nil},
		"a site that was":        {nil, own},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			engine := c.site[credentials.KeySA]
			if engine == nil {
				engine = c.hub[credentials.KeySA]
			}
			after := agreed(t, c.site, c.hub, second, true)
			g.Expect(string(after[credentials.KeySA])).To(Equal(second))
			g.Expect(after[credentials.KeyPreviousSA]).To(Equal(engine), "the engine's own")
			for _, key := range []string{credentials.KeyAgent, credentials.KeyOperator, credentials.KeyMasterKey} {
				if c.hub != nil {
					g.Expect(after[key]).To(Equal(c.hub[key]), key)
				}
			}
			again := agreed(t, after, after, third, true)
			g.Expect(again[credentials.KeyPreviousSA]).To(Equal(engine), "before the engine has taken the second")
			g.Expect(string(again[credentials.KeySupersededSA])).To(Equal(second), "or after")
			settled := credentials.Settled(again)
			g.Expect(agreed(t, settled, settled, third, true)).To(Equal(settled))
			g.Expect(agreed(t, settled, settled, "", true)).To(Equal(settled), "declared no more, it stays")
		})
	}
}

// Of former passwords as many are kept as there is room for. Another change waits until the engine is known to refuse
// one of them; a change that was made by hand leaves each side what it has until then.
func TestFormerPasswordsOfSA(t *testing.T) {
	g := NewWithT(t)
	full := agreed(t, nil, nil, "First-Passw0rd", false)
	for _, next := range []string{"Second-Passw0rd", "Third-Passw0rd"} {
		full = agreed(t, full, full, next, true)
	}
	byHand := maps.Clone(full)
	byHand[credentials.KeySA] = []byte("Fourth-Passw0rd")
	refused := func(passwords ...string) credentials.Administrator {
		sa := credentials.Administrator{}
		for _, p := range passwords {
			sa.Refused = append(sa.Refused, []byte(p))
		}
		return sa
	}
	for name, c := range map[string]struct {
		site, hub credentials.Passwords
		declared  string
	}{
		"declared": {full, full, "Fourth-Passw0rd"}, "at the site": {byHand, full, ""}, "in the hub": {full, byHand, ""},
	} {
		for _, sa := range []credentials.Administrator{refused(), refused("Fifth-Passw0rd")} {
			sa.Declared = []byte(c.declared)
			a, err := sa.Agree(c.site, c.hub, true)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect([]bool{a.Waits, a.WriteSite, a.WriteHub}).To(Equal([]bool{true, false, false}), name)
		}
		for _, left := range [][]string{{"Second-Passw0rd", "Third-Passw0rd"}, {"First-Passw0rd", "Third-Passw0rd"},
			{"First-Passw0rd", "Second-Passw0rd"}} {
			gone := slices.DeleteFunc([]string{"First-Passw0rd", "Second-Passw0rd", "Third-Passw0rd"},
				func(p string) bool { return slices.Contains(left, p) })
			sa := refused(gone...)
			sa.Declared = []byte(c.declared)
			a, err := sa.Agree(c.site, c.hub, true)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(a.Waits).To(BeFalse(), name)
			g.Expect([]string{a.Passwords.Of(credentials.RolePreviousSA), a.Passwords.Of(credentials.RoleSupersededSA),
				a.Passwords.Of(credentials.RoleSA)}).To(Equal(append(left, "Fourth-Passw0rd")), name)
		}
	}
}

// A site that was set back while another password was declared does not take the engine's with it.
func TestASiteIsSetBackWhileAPasswordIsDeclared(t *testing.T) {
	g := NewWithT(t)
	first := agreed(t, nil, nil, "First-Passw0rd", false)
	second := credentials.Settled(agreed(t, first, first, "Second-Passw0rd", true))
	a, err := credentials.Administrator{Declared: []byte("Third-Passw0rd")}.Agree(first, second, true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Passwords.Of(credentials.RolePreviousSA)).To(Equal("Second-Passw0rd"))
	g.Expect(a.Passwords.Of(credentials.RoleSA)).To(Equal("Third-Passw0rd"))
}

func TestWhatIsTakenFromSecrets(t *testing.T) {
	g := NewWithT(t)
	for password, taken := range map[string]bool{"": false, "Ab1-567": false, "Ab1-5678": true, "abcdefgh": false,
		"abcdefg1": false, "abcdefG1": true, "Passw0rd": true, "ÄÖabcdéf1": true} {
		g.Expect(credentials.CheckPassword([]byte(password)) == nil).To(Equal(taken), password)
	}
	g.Expect(credentials.CheckPassword([]byte("hunter2"))).To(MatchError(Not(ContainSubstring("hunter2"))))
	for key, taken := range map[string]bool{"": false, "AAAAA-BBBBB-CCCCC-DDDDD-EEEEE": true,
		"AAAAA-BBBBB-CCCCC-DDDDD-EEEE": false, "aaaaa-BBBBB-CCCCC-DDDDD-EEEEE": false, "Enterprise": false,
		"AAAAA-BBBBB-CCCCC-DDDDD-EEEEE\n": false} {
		g.Expect(credentials.CheckProductKey([]byte(key)) == nil).To(Equal(taken), key)
	}
}
