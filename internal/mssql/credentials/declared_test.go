// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
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
		a, err := credentials.Agree(site, credentials.WithSA(site, hub, []byte(declared)), volumes)
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
			settled := credentials.Settled(again)
			g.Expect(agreed(t, settled, settled, third, true)).To(Equal(settled))
			g.Expect(agreed(t, settled, settled, "", true)).To(Equal(settled), "declared no more, it stays")
		})
	}
	g.Expect(credentials.WithSA(made, made, nil)).To(Equal(made))
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
