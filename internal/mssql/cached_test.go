// SPDX-License-Identifier: Apache-2.0

package mssql_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// secrets counts how often the credentials of each server are read.
type secrets struct {
	reads map[v1alpha1.ServerName]int
	err   error
	// during is called while they are read.
	during func()
	text   string
}

func (s *secrets) Access(_ context.Context, _ string, server v1alpha1.ServerName) (mssql.Access, error) {
	s.reads[server]++
	access := mssql.Access{Passwords: credentials.Passwords{credentials.KeySA: []byte(s.text)}}
	if s.during != nil {
		s.during()
	}
	return access, s.err
}

func TestCredentialsAreReadOnceAMinute(t *testing.T) {
	use := func(t *testing.T, c *mssql.Connector, server v1alpha1.ServerName) string {
		t.Helper()
		access, err := c.Access(t.Context(), "web", server)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return access.Passwords.Of(credentials.RoleSA)
	}
	begin := func() (*secrets, *mssql.Connector) {
		s := &secrets{reads: map[v1alpha1.ServerName]int{}, text: "first"}
		return s, mssql.NewConnector(mssql.Options{Access: s, AccessFor: mssql.AccessFor})
	}
	for name, test := range map[string]func(*testing.T, *WithT, *secrets, *mssql.Connector){
		"each server's by itself, until they are too old": func(t *testing.T, g *WithT, s *secrets, c *mssql.Connector) {
			for range 3 {
				use(t, c, "tukpub")
				use(t, c, "quisec")
			}
			g.Expect(s.reads).To(HaveKeyWithValue(v1alpha1.ServerName("tukpub"), 1))
			g.Expect(s.reads).To(HaveKeyWithValue(v1alpha1.ServerName("quisec"), 1))
			time.Sleep(mssql.AccessFor)
			s.text = "second"
			g.Expect(use(t, c, "tukpub")).To(Equal("second"))
		},
		"at once where they are known to have changed": func(t *testing.T, g *WithT, s *secrets, c *mssql.Connector) {
			use(t, c, "tukpub")
			s.text = "second"
			c.Reread("web", "tukpub")
			g.Expect(use(t, c, "tukpub")).To(Equal("second"))
		},
		"not at all where somebody else has": func(t *testing.T, g *WithT, s *secrets, c *mssql.Connector) {
			told := credentials.Passwords{credentials.KeySA: []byte("told")}
			c.Keep("web", "tukpub", mssql.Access{Passwords: told}, time.Now())
			g.Expect(use(t, c, "tukpub")).To(Equal("told"))
			g.Expect(s.reads).To(BeEmpty())
		},
		"and a slow reading does not take a change back": func(t *testing.T, g *WithT, s *secrets, c *mssql.Connector) {
			s.during = func() {
				time.Sleep(time.Second)
				s.text = "second"
				c.Reread("web", "tukpub")
				s.during = nil
			}
			use(t, c, "tukpub")
			g.Expect(use(t, c, "tukpub")).To(Equal("second"), "what was read before the change is not kept")
			asked := time.Now().Add(-time.Second)
			c.Keep("web", "tukpub", mssql.Access{Passwords: credentials.Passwords{credentials.KeySA: []byte("old")}}, asked)
			g.Expect(use(t, c, "tukpub")).To(Equal("second"), "what was told is older than what was read")
		},
		"and what cannot be read is asked for again": func(t *testing.T, g *WithT, s *secrets, c *mssql.Connector) {
			s.err = errors.New("the API server is away")
			for range 2 {
				_, err := c.Access(t.Context(), "web", "tukpub")
				g.Expect(err).To(MatchError(s.err))
			}
			g.Expect(s.reads["tukpub"]).To(Equal(2))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, c := begin()
				defer c.Close()
				test(t, NewWithT(t), s, c)
			})
		})
	}
	t.Run("every time where no age is given", func(t *testing.T) {
		s := &secrets{reads: map[v1alpha1.ServerName]int{}}
		c := mssql.NewConnector(mssql.Options{Access: s})
		defer c.Close()
		for range 2 {
			use(t, c, "tukpub")
		}
		NewWithT(t).Expect(s.reads["tukpub"]).To(Equal(2))
	})
}

// Credentials that are kept are refused at once where a server is not to be asked any more, by Open too.
func TestKeptCredentialsAreRefused(t *testing.T) {
	g := NewWithT(t)
	s := &secrets{reads: map[v1alpha1.ServerName]int{}, text: "first"}
	var refused error
	c := mssql.NewConnector(mssql.Options{Access: s, AccessFor: mssql.AccessFor,
		Check: func(_ context.Context, _ string, server v1alpha1.ServerName) error {
			if server == "tukpub" {
				return refused
			}
			return nil
		}})
	for range 2 {
		_, err := c.Access(t.Context(), "web", "tukpub")
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(s.reads).To(HaveKeyWithValue(v1alpha1.ServerName("tukpub"), 1))
	refused = errors.New("another hub's")
	_, err := c.Access(t.Context(), "web", "tukpub")
	g.Expect(err).To(MatchError(refused))
	_, err = c.Open(t.Context(), mssql.Target{Namespace: "web", Server: "tukpub", Role: credentials.RoleSA})
	g.Expect(err).To(MatchError(refused))
	_, err = c.Access(t.Context(), "web", "quisec")
	g.Expect(err).NotTo(HaveOccurred())
}
