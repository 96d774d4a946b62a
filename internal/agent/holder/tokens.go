// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// renewEvery is how often tokens are looked at.
	renewEvery = 5 * time.Minute
	// renewTimeout bounds what one voter is asked for it.
	renewTimeout = 5 * time.Second
)

// keepTokens renews tokens, now and then and when there are new orders, until ctx ends.
func (h *Holder) keepTokens(ctx context.Context, given <-chan struct{}) error {
	renew := time.NewTicker(renewEvery)
	defer renew.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-given:
		case <-renew.C:
		}
		if h.renewTokens(ctx) {
			h.remember()
		}
	}
}

// renewTokens looks at all voters at the same time, so that none waits for one that does not answer. It tells whether
// any token is new.
func (h *Holder) renewTokens(ctx context.Context) bool {
	h.mu.Lock()
	voters := map[*voter]*runner{}
	for _, r := range h.runners {
		for _, v := range r.voterList() {
			voters[v] = r
		}
	}
	h.mu.Unlock()
	var all sync.WaitGroup
	var renewed atomic.Bool
	for v, r := range voters {
		all.Go(func() {
			fresh, err := v.renew(ctx, time.Now())
			if err != nil {
				h.options.Log.Warn("a voter's token is old", "error", err)
			}
			if fresh {
				renewed.Store(true)
			}
			if len(v.formerCA) > 0 && v.verified(ctx) == nil {
				r.trustAlone(v)
			}
		})
	}
	all.Wait()
	return renewed.Load()
}

// renewAt is the part of a token's life below which the agent asks for a new one.
const renewAt = 0.5

// renew asks the voter's API server for a new token of the same account when half of the present one's life is over.
func (v *voter) renew(ctx context.Context, now time.Time) (bool, error) {
	told := v.present()
	if told.Token == "" || told.Left(now) >= renewAt {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	seconds := int64(told.Expires.Sub(told.Issued) / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := v.client.CoreV1().
		ServiceAccounts(v.namespace).
		CreateToken(ctx, told.Account, request, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("renew the token for voter %s: %w", told.Site, err)
	}
	told.Token, told.Issued, told.Expires = answer.Status.Token, now, answer.Status.ExpirationTimestamp.Time
	v.take(told)
	return true, nil
}

// verified tells whether the API server shows a certificate of the CA that the orders name, without the one that they
// named before.
func (v *voter) verified(ctx context.Context) error {
	told := v.present()
	at, err := url.Parse(told.Server)
	if err != nil {
		return fmt.Errorf("read the address of voter %s: %w", told.Site, err)
	}
	port := at.Port()
	if port == "" {
		port = "443"
	}
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool(), ServerName: at.Hostname()}
	config.RootCAs.AppendCertsFromPEM(told.CA)
	if told.TLSServerName != "" {
		config.ServerName = told.TLSServerName
	}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", net.JoinHostPort(at.Hostname(), port))
	if err != nil {
		return fmt.Errorf("verify voter %s by its new CA: %w", told.Site, err)
	}
	return conn.Close()
}
