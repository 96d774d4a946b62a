// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// KubeconfigKey is the key of a Site's Secret unless spec.kubeconfigSecretRef.key says otherwise.
const KubeconfigKey = "kubeconfig"

// LoadKubeconfig makes a client configuration of a kubeconfig that somebody put into a Secret. It refuses whatever
// would make the manager run a program, read a file of its own or speak to a server without verifying it.
func LoadKubeconfig(data []byte) (*rest.Config, error) {
	raw, err := clientcmd.Load(data)
	if err != nil {
		// The parser's message may quote the file.
		return nil, fmt.Errorf("it is no kubeconfig in YAML or JSON")
	}
	cluster, user, err := current(raw)
	if err != nil {
		return nil, err
	}
	switch {
	case user.Exec != nil || user.AuthProvider != nil:
		return nil, fmt.Errorf(
			"it runs a program (exec or auth-provider) to log in; a token or a client certificate is needed",
		)
	case user.TokenFile != "" || user.ClientCertificate != "" || user.ClientKey != "" ||
		cluster.CertificateAuthority != "":
		return nil, fmt.Errorf("it refers to files; embed them (kubectl config view --flatten)")
	case cluster.InsecureSkipTLSVerify:
		return nil, fmt.Errorf("it has insecure-skip-tls-verify; certificate-authority-data is needed")
	case !strings.HasPrefix(cluster.Server, "https://"):
		return nil, fmt.Errorf("its server is not an https:// address")
	case user.Token == "" && len(user.ClientCertificateData) == 0:
		return nil, fmt.Errorf("it has neither a token nor a client certificate")
	}
	cfg, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("it is incomplete: clusters, users or contexts do not fit together")
	}
	return cfg, nil
}

func current(raw *clientcmdapi.Config) (*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, error) {
	name := raw.CurrentContext
	if name == "" && len(raw.Contexts) == 1 {
		for only := range raw.Contexts {
			name = only
			raw.CurrentContext = only
		}
	}
	kubeContext, ok := raw.Contexts[name]
	if !ok {
		return nil, nil, fmt.Errorf("it has no current context")
	}
	cluster, ok := raw.Clusters[kubeContext.Cluster]
	if !ok {
		return nil, nil, fmt.Errorf("its current context names a cluster that it does not have")
	}
	user, ok := raw.AuthInfos[kubeContext.AuthInfo]
	if !ok {
		return nil, nil, fmt.Errorf("its current context names a user that it does not have")
	}
	return cluster, user, nil
}

// CredentialsExpire returns when the token or client certificate of cfg ends, and false when that cannot be told: a
// token that is no JSON Web Token or has no exp claim (RFC 7519, section 4.1.4).
func CredentialsExpire(cfg *rest.Config) (time.Time, bool) {
	if cfg.BearerToken != "" {
		return tokenExpires(cfg.BearerToken)
	}
	if block, _ := pem.Decode(cfg.CertData); block != nil {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			return cert.NotAfter, true
		}
	}
	return time.Time{}, false
}

func tokenExpires(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Expires int64 `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Expires == 0 {
		return time.Time{}, false
	}
	return time.Unix(claims.Expires, 0), true
}
