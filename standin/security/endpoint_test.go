// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"context"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/security"
)

// leaving is the context of a client that is gone after somebody has asked a number of times whether it is still there.
type leaving struct {
	context.Context
	left   atomic.Int64
	cancel context.CancelFunc
}

func newLeaving(after int) *leaving {
	l := &leaving{}
	l.Context, l.cancel = context.WithCancel(context.Background())
	l.left.Store(int64(after))
	return l
}

func (l *leaving) gone() bool {
	if l.left.Add(-1) < 0 {
		l.cancel()
		return true
	}
	return false
}

func (l *leaving) Err() error {
	l.gone()
	return l.Context.Err()
}

func (l *leaving) Done() <-chan struct{} {
	l.gone()
	return l.Context.Done()
}

// Whenever the client of CREATE, ALTER or DROP ENDPOINT leaves: what is declared is what those were told who listen
// there.
func TestAnEndpointIsServedAsDeclaredWheneverTheClientLeaves(t *testing.T) {
	g := NewWithT(t)
	i := start(t, "SEC")
	endpointOn(i, "c")
	sa := i.sa()
	sa.do("DROP ENDPOINT [Hadr_endpoint]")
	var told security.EndpointConfig
	i.security.OnEndpointChange(func(c security.EndpointConfig) { told = c })
	s, err := i.engine.Session(t.Context(), engine.SystemLogin, "master", "test")
	g.Expect(err).NotTo(HaveOccurred())
	defer s.Close()
	const create = "CREATE ENDPOINT [e] STATE = STARTED AS TCP (LISTENER_PORT = 5022) FOR DATABASE_MIRRORING " +
		"(AUTHENTICATION = CERTIFICATE [c], ROLE = ALL)"
	for _, statement := range []struct{ before, text string }{
		{"", create},
		{create, "ALTER ENDPOINT [e] STATE = STOPPED"},
		{create, "DROP ENDPOINT [e]"},
	} {
		for after := 0; ; after++ {
			if statement.before != "" {
				sa.do(statement.before)
			}
			ctx := newLeaving(after)
			_ = s.Exec(ctx, statement.text)
			declared, err := i.security.MirroringEndpoint(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(told.State).To(Equal(declared.State), "%s: the client left after %d looks", statement.text, after)
			if declared.Name != "" {
				sa.do("DROP ENDPOINT [e]")
			}
			if ctx.left.Load() >= 0 {
				t.Logf("%s: looked %d times", statement.text, after)
				break
			}
		}
	}
}
