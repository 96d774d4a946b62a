// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
)

// ownerLease names whose a namespace of a member is.
func ownerLease(namespace string, owner sites.Owner) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
	owner.Write(lease)
	return lease
}

// A hub with other namespaces would take the account, the cluster's rights and the Roles of the one that has the site.
func TestAHubWithOtherNamespacesAsks(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	lease := ownerLease("shop", sites.Owner{Hub: "former", Epoch: 1})
	member, hub := inMemory(t, "member", lease), inMemory(t, "rebuilt")
	hub.Config.Host = "https://hub:6443"
	joins := func(takeOver bool) (string, error) {
		out := &bytes.Buffer{}
		_, err := join.Join(ctx, join.Request{Name: "quincy", Member: &member, Hub: hub, Out: out, TakeOver: takeOver,
			Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}}})
		return out.String(), err
	}
	out, err := joins(false)
	g.Expect(err).To(MatchError(And(ContainSubstring("Lease shop/hub.geosql.dev"), ContainSubstring("--take-over"))))
	g.Expect(out).To(BeEmpty(), "nothing was changed")

	_, err = joins(true)
	g.Expect(err).NotTo(HaveOccurred())
	for _, ns := range []string{"shop", "web"} {
		var now coordinationv1.Lease
		g.Expect(member.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: sites.OwnerLease}, &now)).To(Succeed(), ns)
		g.Expect(sites.ReadOwner(&now)).To(Equal(sites.Owner{Hub: "rebuilt", Epoch: 2}), ns)
	}
	_, err = joins(false)
	g.Expect(err).NotTo(HaveOccurred(), "it is its own")
}

// boundToken is one of the manager's account, bound to a Secret; to none without a name.
func boundToken(secret string) string {
	bound := ""
	if secret != "" {
		bound = fmt.Sprintf(`,"kubernetes.io":{"secret":{"name":%q,"uid":"of geosql-system/%s"}}`, secret, secret)
	}
	now := time.Now().Unix()
	claims := fmt.Sprintf(`{"sub":"system:serviceaccount:%s:%s","iat":%d,"exp":%d%s}`,
		sites.OperatorNamespace, sites.Account, now, now+86400, bound)
	return "h." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".s"
}

// hubSecret is what a hub has of site quincy.
func hubSecret(t *testing.T, token string) *corev1.Secret {
	t.Helper()
	file := clientcmdapi.NewConfig()
	file.Clusters["quincy"] = &clientcmdapi.Cluster{Server: "https://member:6443", CertificateAuthorityData: []byte("ca")}
	file.AuthInfos["quincy"] = &clientcmdapi.AuthInfo{Token: token}
	file.Contexts["quincy"] = &clientcmdapi.Context{Cluster: "quincy", AuthInfo: "quincy"}
	file.CurrentContext = "quincy"
	data, err := clientcmd.Write(*file)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: sites.OperatorNamespace, Name: "quincy"},
		Data: map[string][]byte{sites.KubeconfigKey: data}}
}

// Whoever had a token of the site has none any more once the site is taken over, and once a hub joins it that does not
// know its token: with the account all tokens end, however long they live and whatever they are bound to.
func TestNoTokenOutlivesATakeOver(t *testing.T) {
	const mark = "of-the-former"
	a, b := sites.TokenSecrets()[0], sites.TokenSecrets()[1]
	for what, c := range map[string]struct {
		kept             string
		takeOver         bool
		labels           map[string]string
		account, secrets bool
	}{
		"taken over by a hub that was made anew": {takeOver: true},
		"taken back":                             {kept: boundToken(a), takeOver: true},
		"the token is not known":                 {},
		"the token is bound to no Secret":        {kept: boundToken("")},
		"another's token":                        {kept: "none"},
		"joined again":                           {kept: boundToken(a), account: true},
		"the manager's own of that cluster": {takeOver: true, account: true, secrets: true,
			labels: map[string]string{"geosql.dev/joined": "true", "app.kubernetes.io/managed-by": "Helm"}},
	} {
		t.Run(what, func(t *testing.T) {
			g, ctx := NewWithT(t), t.Context()
			meta := func(name string) metav1.ObjectMeta {
				return metav1.ObjectMeta{Namespace: sites.OperatorNamespace, Name: name,
					Annotations: map[string]string{mark: "true"}, Labels: map[string]string{"geosql.dev/joined": "true"}}
			}
			account := &corev1.ServiceAccount{ObjectMeta: meta(sites.Account)}
			if c.labels != nil {
				account.Labels = c.labels
			}
			secrets := []*corev1.Secret{{ObjectMeta: meta(a)}, {ObjectMeta: meta(b)}}
			member, hub := inMemory(t, "member", account, secrets[0], secrets[1]), inMemory(t, "hub")
			if c.kept != "" {
				g.Expect(hub.Client.Create(ctx, hubSecret(t, c.kept))).To(Succeed())
			}
			hub.Config.Host = "https://hub:6443"
			_, err := join.Join(ctx, join.Request{Name: "quincy", Member: &member, Hub: hub, Out: io.Discard,
				TakeOver: c.takeOver, Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(member.Client.Get(ctx, client.ObjectKeyFromObject(account), account)).To(Succeed())
			if c.account {
				g.Expect(account.Annotations).To(HaveKey(mark), "the account stays")
			} else {
				g.Expect(account.Annotations).NotTo(HaveKey(mark), "the account is another one")
			}
			formers := 0
			for _, secret := range secrets {
				var now corev1.Secret
				err := member.Client.Get(ctx, client.ObjectKeyFromObject(secret), &now)
				g.Expect(client.IgnoreNotFound(err)).To(Succeed())
				if now.Annotations[mark] != "" {
					formers++
				}
			}
			if c.secrets {
				g.Expect(formers).To(Equal(1), "the one that is not in turn")
			} else {
				g.Expect(formers).To(BeZero(), "the Secrets that tokens were bound to")
			}
		})
	}
}
