// SPDX-License-Identifier: Apache-2.0

//go:build integration

package apiserver

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes cfg, which must hold its data rather than files, as a kubeconfig.
func Kubeconfig(cfg *rest.Config) []byte {
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{
		Server:                   cfg.Host,
		CertificateAuthorityData: cfg.CAData,
		TLSServerName:            cfg.ServerName,
	}
	file.AuthInfos["u"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: cfg.CertData,
		ClientKeyData:         cfg.KeyData,
		Token:                 cfg.BearerToken,
		Impersonate:           cfg.Impersonate.UserName,
	}
	file.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	file.CurrentContext = "x"
	data, err := clientcmd.Write(*file)
	if err != nil {
		panic(fmt.Sprintf("writing a kubeconfig: %v", err))
	}
	return data
}

// Contexts writes a kubeconfig with a context for each of these by its name, into a file of the test, and returns its
// path.
func Contexts(t testing.TB, current string, clusters map[string]*rest.Config) string {
	t.Helper()
	all := clientcmdapi.NewConfig()
	for name, cfg := range clusters {
		one, err := clientcmd.Load(Kubeconfig(cfg))
		if err != nil {
			t.Fatalf("read the kubeconfig of %s: %v", name, err)
		}
		all.Clusters[name], all.AuthInfos[name] = one.Clusters["c"], one.AuthInfos["u"]
		all.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	all.CurrentContext = current
	data, err := clientcmd.Write(*all)
	if err != nil {
		t.Fatalf("write a kubeconfig: %v", err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatalf("write a kubeconfig: %v", err)
	}
	return file
}
