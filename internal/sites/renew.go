// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// Token is what a ServiceAccount's token says of itself (RFC 7519, sections 4.1.2, 4.1.4 and 4.1.6).
type Token struct {
	// Namespace and Account that it is for.
	Namespace, Account string
	Issued, Expires    time.Time
}

// RenewalDue says that a third of its life is left, or less. One that has ended can't be renewed by itself.
func (t Token) RenewalDue(now time.Time) bool {
	return !now.Before(t.Expires.Add(-t.Expires.Sub(t.Issued)/3)) && now.Before(t.Expires)
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
		Subject string `json:"sub"`
		Issued  int64  `json:"iat"`
		Expires int64  `json:"exp"`
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
		}, ok &&
			full
}

// RenewToken mints a new token of the account in a site's kubeconfig, as long-lived as the present one, and writes it
// to the Secret in the hub. The present one stays good until it ends, so nothing is cut off if the write is lost.
func RenewToken(
	ctx context.Context,
	hub client.Client,
	namespace string,
	site *v1alpha1.Site,
	member client.Client,
) error {
	ref := site.Spec.KubeconfigSecretRef
	if ref == nil {
		return nil
	}
	var secret corev1.Secret
	if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &secret); err != nil {
		return fmt.Errorf("read Secret %s/%s of site %s: %w", namespace, ref.Name, site.Name, err)
	}
	key := ref.Key
	if key == "" {
		key = KubeconfigKey
	}
	raw, err := clientcmd.Load(secret.Data[key])
	if err != nil {
		// The parser's message may quote the file.
		return fmt.Errorf("read the kubeconfig in Secret %s/%s of site %s: it is none", namespace, ref.Name, site.Name)
	}
	_, user, err := current(raw)
	if err != nil {
		return fmt.Errorf("read the kubeconfig in Secret %s/%s of site %s: %w", namespace, ref.Name, site.Name, err)
	}
	token, ok := ReadToken(user.Token)
	if !ok {
		return nil
	}
	seconds := int64(token.Expires.Sub(token.Issued) / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: token.Namespace, Name: token.Account}}
	if err := member.SubResource("token").Create(ctx, account, request); err != nil {
		return fmt.Errorf(
			"mint a token for ServiceAccount %s/%s at site %s: %w",
			token.Namespace,
			token.Account,
			site.Name,
			err,
		)
	}
	user.Token = request.Status.Token
	kubeconfig, err := clientcmd.Write(*raw)
	if err != nil {
		return fmt.Errorf("write the kubeconfig of site %s", site.Name)
	}
	before := client.MergeFromWithOptions(secret.DeepCopy(), client.MergeFromWithOptimisticLock{})
	secret.Data[key] = kubeconfig
	if err := hub.Patch(ctx, &secret, before); err != nil {
		return fmt.Errorf("write Secret %s/%s of site %s: %w", namespace, ref.Name, site.Name, err)
	}
	return nil
}
