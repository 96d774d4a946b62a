// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Token is what a ServiceAccount's token says of itself (RFC 7519, sections 4.1.2, 4.1.4 and 4.1.6).
type Token struct {
	// Namespace and Account that it is for.
	Namespace, Account string
	Issued, Expires    time.Time
	// Secret that it is bound to: with that Secret it ends. Empty for none.
	Secret BoundSecret
}

// BoundSecret is a Secret without data, beside the account, whose deletion revokes a token.
type BoundSecret struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// MaxTokenLife is the longest life that is asked for a manager's token.
const MaxTokenLife = 30 * 24 * time.Hour

// TokenSecrets are the names of the Secrets that tokens of Account are bound to, in turns.
func TokenSecrets() []string { return []string{Account + "-token-a", Account + "-token-b"} }

// RenewalDue says that a third of its life is left, or less, or that it lives longer than any that is asked for now.
// One that has ended can't be renewed by itself.
func (t Token) RenewalDue(now time.Time) bool {
	life := t.Expires.Sub(t.Issued)
	// API servers may add some seconds.
	return now.Before(t.Expires) && (life > MaxTokenLife+time.Hour || !now.Before(t.Expires.Add(-life/3)))
}

// ReadToken reads a bearer token; false when it is no ServiceAccount's, or does not end.
func ReadToken(token string) (Token, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Token{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Token{}, false
	}
	var claims struct {
		Subject    string `json:"sub"`
		Issued     int64  `json:"iat"`
		Expires    int64  `json:"exp"`
		Kubernetes struct {
			Secret BoundSecret `json:"secret"`
		} `json:"kubernetes.io"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Issued == 0 || claims.Expires <= claims.Issued {
		return Token{}, false
	}
	account, ok := strings.CutPrefix(claims.Subject, "system:serviceaccount:")
	namespace, name, full := strings.Cut(account, ":")
	return Token{
			Namespace: namespace,
			Account:   name,
			Issued:    time.Unix(claims.Issued, 0),
			Expires:   time.Unix(claims.Expires, 0),
			Secret:    claims.Kubernetes.Secret,
		}, ok &&
			full
}
