// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// annotationRevoke of the Secret with a site's kubeconfig is the BoundSecret of the token before this one, as JSON: it
// goes once the new one is used.
const annotationRevoke = "geosql.dev/revoke"

// TokenUse is what is done with an account's tokens at its API server. Reader asks that, no cache.
type TokenUse struct {
	Reader client.Reader
	Writer client.Client
}

// Mint makes a token of the account in that namespace, bound to a new Secret of another name than the one before it was
// bound to. What a renewal that did not come to its end has left under that name goes first.
func (u TokenUse) Mint(
	ctx context.Context,
	namespace, account string,
	before BoundSecret,
	life time.Duration,
) (*authenticationv1.TokenRequest, error) {
	name := TokenSecrets()[0]
	if before.Name == name {
		name = TokenSecrets()[1]
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	err := u.Reader.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if err == nil {
		err = reconcile.Remove(ctx, u.Writer, secret)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("take away Secret %s/%s of a renewal that did not end: %w", namespace, name, err)
	}
	secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: OwnLabels()},
		Type:       corev1.SecretTypeOpaque,
	}
	if err := u.Writer.Create(ctx, secret); err != nil {
		return nil, fmt.Errorf("make Secret %s/%s, which a new token is bound to: %w", namespace, name, err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(min(life, MaxTokenLife) / time.Second)),
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			Kind: "Secret", APIVersion: "v1", Name: name, UID: secret.UID,
		},
	}}
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	if err := u.Writer.SubResource("token").Create(ctx, of, request); err != nil {
		return nil, fmt.Errorf("mint a token for ServiceAccount %s/%s: %w", namespace, account, err)
	}
	return request, nil
}

// kept is a site's kubeconfig in its Secret of the hub.
type kept struct {
	secret *corev1.Secret
	key    string
	raw    *clientcmdapi.Config
	user   *clientcmdapi.AuthInfo
}

func readKept(ctx context.Context, hub client.Client, namespace string, site *v1alpha1.Site) (kept, error) {
	ref := site.Spec.KubeconfigSecretRef
	k := kept{secret: &corev1.Secret{}, key: ref.Key}
	if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, k.secret); err != nil {
		return k, fmt.Errorf("read Secret %s/%s of site %s: %w", namespace, ref.Name, site.Name, err)
	}
	if k.key == "" {
		k.key = KubeconfigKey
	}
	var err error
	if k.raw, err = clientcmd.Load(k.secret.Data[k.key]); err != nil {
		// The parser's message may quote the file.
		return k, fmt.Errorf("read the kubeconfig in Secret %s/%s of site %s: it is none", namespace, ref.Name, site.Name)
	}
	if _, k.user, err = current(k.raw); err != nil {
		return k, fmt.Errorf("read the kubeconfig in Secret %s/%s of site %s: %w", namespace, ref.Name, site.Name, err)
	}
	return k, nil
}

// RenewToken mints a new token of the account in a site's kubeconfig, as long-lived as the present one and no longer
// than MaxTokenLife, and writes it to the Secret in the hub, with what revokes the present one. That stays good until
// RevokeToken, so nothing is cut off if the write is lost.
func RenewToken(
	ctx context.Context,
	hub client.Client,
	namespace string,
	site *v1alpha1.Site,
	member TokenUse,
) error {
	if site.Spec.KubeconfigSecretRef == nil {
		return nil
	}
	k, err := readKept(ctx, hub, namespace, site)
	if err != nil {
		return err
	}
	token, ok := ReadToken(k.user.Token)
	if !ok {
		return nil
	}
	request, err := member.Mint(ctx, token.Namespace, token.Account, token.Secret, token.Expires.Sub(token.Issued))
	if err != nil {
		return fmt.Errorf("renew the token at site %s: %w", site.Name, err)
	}
	before := client.MergeFromWithOptions(k.secret.DeepCopy(), client.MergeFromWithOptimisticLock{})
	k.user.Token = request.Status.Token
	kubeconfig, err := clientcmd.Write(*k.raw)
	if err != nil {
		return fmt.Errorf("write the kubeconfig of site %s", site.Name)
	}
	k.secret.Data[k.key] = kubeconfig
	delete(k.secret.Annotations, annotationRevoke)
	if token.Secret.Name != "" {
		former, err := json.Marshal(token.Secret)
		if err != nil {
			return fmt.Errorf("encode what revokes the former token of site %s: %w", site.Name, err)
		}
		metav1.SetMetaDataAnnotation(&k.secret.ObjectMeta, annotationRevoke, string(former))
	}
	if err := hub.Patch(ctx, k.secret, before); err != nil {
		return fmt.Errorf("write Secret %s/%s of site %s: %w", namespace, k.secret.Name, site.Name, err)
	}
	return nil
}

// FormerToken is what revokes the token before the present one of a site; empty when that is done.
func FormerToken(
	ctx context.Context,
	hub client.Client,
	namespace string,
	site *v1alpha1.Site,
) (former BoundSecret, err error) {
	if site.Spec.KubeconfigSecretRef == nil {
		return former, nil
	}
	k, err := readKept(ctx, hub, namespace, site)
	if err != nil {
		return former, err
	}
	if text := k.secret.Annotations[annotationRevoke]; text != "" && json.Unmarshal([]byte(text), &former) != nil {
		// Somebody else wrote it: there is nothing that it names.
		return BoundSecret{}, nil
	}
	return former, nil
}

// RevokeToken ends the former token of a site, by the Secret that it is bound to. The present one must be in use.
func RevokeToken(
	ctx context.Context,
	hub client.Client,
	namespace string,
	site *v1alpha1.Site,
	member TokenUse,
	inUse Token,
	former BoundSecret,
) error {
	if former.UID == "" || former.UID == inUse.Secret.UID {
		return fmt.Errorf("the token of site %s that is to be revoked is in use", site.Name)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: inUse.Namespace, Name: former.Name, UID: former.UID},
	}
	// A conflict is another Secret of that name: the one that is meant is gone.
	if err := reconcile.Remove(ctx, member.Writer, secret); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("revoke the former token of site %s: %w", site.Name, err)
	}
	k, err := readKept(ctx, hub, namespace, site)
	if err != nil {
		return err
	}
	before := client.MergeFromWithOptions(k.secret.DeepCopy(), client.MergeFromWithOptimisticLock{})
	delete(k.secret.Annotations, annotationRevoke)
	if err := hub.Patch(ctx, k.secret, before); err != nil {
		return fmt.Errorf("write Secret %s/%s of site %s: %w", namespace, k.secret.Name, site.Name, err)
	}
	return nil
}
