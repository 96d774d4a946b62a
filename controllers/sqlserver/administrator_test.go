// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

func wrongPassword() error {
	return &mssql.Error{Class: mssql.LoginFailed, Err: driver.Error{Number: 18456}}
}

func declareSA(password string) DeclaredSecret {
	return DeclaredSecret{Field: "spec.saPasswordSecretRef", Secret: "admin", Key: "password", Value: []byte(password)}
}

// sa is a server whose engine has a password of sa, looked at by logins alone.
type sa struct {
	*environ
	// engine is the password that the engine has; silent tells that it does not answer.
	engine string
	silent bool
}

func newSA(t *testing.T) func() *sa {
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	return func() *sa {
		one := *e
		return &sa{environ: &one, engine: e.o.HubPasswords.Of(credentials.RoleSA)}
	}
}

// look is what the observation says: whether the engine answers, and which of the hub's passwords it does not take.
func (s *sa) look() reconcile.Plan {
	s.o.Engine.Err, s.o.Engine.Refused = nil, map[credentials.Role]error{}
	if s.silent {
		s.o.Engine.Err = &mssql.Error{Server: "tukpub-0", Doing: "log in", Class: mssql.Unknown, Err: errors.New("deadline")}
		return plan(s.d, s.o)
	}
	for _, role := range append(credentials.FormerAdministrators(), credentials.RoleSA) {
		if password := s.o.HubPasswords.Of(role); password != "" && password != s.engine {
			s.o.Engine.Refused[role] = wrongPassword()
		}
	}
	return plan(s.d, s.o)
}

// act carries out the first step of a plan. Of what writes at the site and then in the hub, half does the first alone.
func (s *sa) act(t fatal, p reconcile.Plan, half bool) {
	hub := s.o.HubPasswords
	switch step := p.All()[0].(type) {
	case AgreePasswords:
		a, err := s.o.administrator(s.o.DeclaredSA.Value).Agree(s.o.SitePasswords, s.o.HubPasswords, step.VolumesExist)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if a.WriteSite {
			s.o.SitePasswords = a.Passwords
		}
		if a.WriteHub {
			s.o.HubPasswords = a.Passwords
		}
	case ForgetPreviousSA:
		s.o.SitePasswords, s.o.HubPasswords = credentials.Settled(s.o.SitePasswords), credentials.Settled(s.o.HubPasswords)
	case mssql.Execute:
		if !strings.HasPrefix(step.Statement.Text, "ALTER LOGIN [sa]") {
			t.Fatalf("%s", step.Describe())
		}
		if s.o.HubPasswords.Of(step.Role) != s.engine {
			t.Fatalf("sa is asked to log in as %s, with a password that the engine was seen not to take", step.Role)
		}
		s.engine = s.o.HubPasswords.Of(credentials.RoleSA)
		return
	default:
		t.Fatalf("%s", step.Describe())
	}
	if half {
		s.o.HubPasswords = hub
	}
}

// known tells that somebody who has both Secrets can still log in to the engine as sa.
func (s *sa) known() bool {
	roles := append(credentials.FormerAdministrators(), credentials.RoleSA)
	return slices.ContainsFunc([]credentials.Passwords{s.o.SitePasswords, s.o.HubPasswords},
		func(p credentials.Passwords) bool {
			return slices.ContainsFunc(roles, func(role credentials.Role) bool { return p.Of(role) == s.engine })
		})
}

// settled carries out what is planned until nothing is.
func (s *sa) settled(t fatal) {
	for range 50 {
		p := s.look()
		if len(p.All()) == 0 {
			return
		}
		s.act(t, p, false)
	}
	t.Fatalf("the plan does not come to an end")
}

// The declared password changes again after the engine was given the one before and before that is noted: the engine's
// own must not be forgotten.
func TestAPasswordOfSAThatChangesBetweenTwoSteps(t *testing.T) {
	g := NewWithT(t)
	s := newSA(t)()
	s.o.DeclaredSA = declareSA("Second-Passw0rd")
	s.act(t, s.look(), false)
	s.act(t, s.look(), false)
	g.Expect(s.engine).To(Equal("Second-Passw0rd"))
	s.o.DeclaredSA = declareSA("Third-Passw0rd")
	s.act(t, s.look(), false)
	g.Expect(s.known()).To(BeTrue())
	s.settled(t)
	g.Expect(s.engine).To(Equal("Third-Passw0rd"))
	g.Expect(s.o.HubPasswords).To(And(Equal(s.o.SitePasswords), Not(HaveKey(credentials.KeyPreviousSA)),
		Not(HaveKey(credentials.KeySupersededSA))))
}

// Whatever changes and whichever step is the last: one of the passwords that are kept is the engine's, and when nobody
// changes anything any more the engine gets the last one that was asked for. Nothing goes by anything but logins.
func TestSAIsNeverShutOut(t *testing.T) {
	fresh := newSA(t)
	rapid.Check(t, func(t *rapid.T) {
		s, wanted := fresh(), ""
		byHand := func(p credentials.Passwords, password string) credentials.Passwords {
			p = maps.Clone(p)
			p[credentials.KeySA] = []byte(password)
			return p
		}
		backups := []credentials.Passwords{s.o.HubPasswords}
		for i := range rapid.IntRange(1, 40).Draw(t, "moves") {
			next := fmt.Sprintf("Passw0rd-%03d", i)
			same := maps.EqualFunc(s.o.SitePasswords, s.o.HubPasswords, slices.Equal)
			what := rapid.SampledFrom([]string{"declare", "site", "hub", "silence", "backup", "step", "step", "step", "half",
				"half"}).Draw(t, "what")
			p := s.look()
			some := len(p.All()) > 0
			switch {
			case what == "declare":
				s.o.DeclaredSA, wanted = declareSA(next), next
			case what == "silence":
				s.silent = !s.silent
			case !same && (what == "site" || what == "hub" || what == "backup"):
				// Whoever overwrites both sides before they have agreed takes the engine's away himself.
			case what == "site" && s.o.DeclaredSA.Value == nil:
				s.o.SitePasswords, wanted = byHand(s.o.SitePasswords, next), next
			case what == "hub" && s.o.DeclaredSA.Value == nil:
				s.o.HubPasswords, wanted = byHand(s.o.HubPasswords, next), next
			case what == "backup":
				s.o.HubPasswords = rapid.SampledFrom(backups).Draw(t, "of")
			case some && (what == "step" || what == "half"):
				s.act(t, p, what == "half")
			}
			if same {
				backups = append(backups, s.o.HubPasswords)
			}
			if !s.known() {
				t.Fatalf("%s: the engine's password is nobody's", what)
			}
		}
		s.silent = false
		s.settled(t)
		if wanted != "" && s.engine != wanted || s.o.HubPasswords.Of(credentials.RoleSA) != s.engine {
			t.Fatalf("the engine has %s, wanted is %s", s.engine, wanted)
		}
		for _, role := range credentials.FormerAdministrators() {
			if s.o.HubPasswords.Of(role) != "" || s.o.SitePasswords.Of(role) != "" {
				t.Fatalf("%s is kept", role)
			}
		}
	})
}

// While the engine is silent there is room for two former passwords; one more waits, and comes once the engine has said
// which it has.
func TestAPasswordOfSAWaitsForRoom(t *testing.T) {
	g := NewWithT(t)
	s := newSA(t)()
	s.silent = true
	first := s.engine
	for _, password := range []string{"Second-Passw0rd", "Third-Passw0rd", "Fourth-Passw0rd"} {
		s.o.DeclaredSA = declareSA(password)
		if p := s.look(); len(p.All()) > 0 {
			s.act(t, p, false)
		}
	}
	g.Expect(s.o.HubPasswords.Of(credentials.RolePreviousSA)).To(Equal(first))
	g.Expect(s.o.HubPasswords.Of(credentials.RoleSupersededSA)).To(Equal("Second-Passw0rd"))
	g.Expect(s.o.HubPasswords.Of(credentials.RoleSA)).To(Equal("Third-Passw0rd"))
	s.silent = false
	s.settled(t)
	g.Expect(s.engine).To(Equal("Fourth-Passw0rd"))
}

// What was not asked is no evidence: of a system administrator with another name no password was tried, and none is
// forgotten.
func TestFormerPasswordsStayWhereNobodyWasAsked(t *testing.T) {
	g := NewWithT(t)
	s := newSA(t)()
	s.changeSA("Second-Passw0rd")
	delete(s.o.Engine.Logins, "sa")
	s.o.Engine.Logins["root39"] = mssql.Login{SID: []byte{1}}
	g.Expect(plan(s.d, s.o).All()).To(BeEmpty())
	g.Expect(s.known()).To(BeTrue())
}
