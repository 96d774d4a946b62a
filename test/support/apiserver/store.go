// SPDX-License-Identifier: Apache-2.0

//go:build integration

package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// root of all keys of an API server in its etcd (--etcd-prefix).
const root = "/registry/"

// ownKeys are what an API server keeps by itself and writes again at any time, by prefixes below the root.
var ownKeys = []string{
	"apiregistration.k8s.io/",
	"configmaps/kube-system/extension-apiserver-authentication",
	"configmaps/kube-system/kube-apiserver-legacy-service-account-token-tracking",
	"endpointslices/default/kubernetes",
	"flowschemas/",
	"leases/kube-system/apiserver-",
	"masterleases/",
	"peerserverleases/",
	"prioritylevelconfigurations/",
	"services/endpoints/default/kubernetes",
}

// ruleKeys are of what an API server turns into handlers and rules of its own some time after it was written, or taken
// away.
var ruleKeys = []string{
	"apiextensions.k8s.io/",
	"mutatingadmissionpolic",
	"mutatingwebhookconfigurations/",
	"validatingadmissionpolic",
	"validatingwebhookconfigurations/",
}

func below(name string, prefixes []string) bool {
	name = strings.TrimPrefix(name, root)
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func serversOwn(name string) bool  { return below(name, ownKeys) }
func rulesServer(name string) bool { return below(name, ruleKeys) }

// kindOf is the resource that a key is of: below the root is its name, or its group and its name when it is of a CRD.
func kindOf(name string) string {
	parts := strings.Split(strings.TrimPrefix(name, root), "/")
	switch {
	case parts[0] == "minions":
		return "nodes"
	case len(parts) > 1 && (strings.Contains(parts[0], ".") || parts[0] == "services" && parts[1] == "endpoints"):
		return parts[1]
	default:
		return parts[0]
	}
}

// store is an etcd that is asked past its API server, by etcd's HTTP gateway.
type store struct {
	url    string
	client http.Client
}

// key is the version of what a key has: the revisions of its creation and of its newest change.
type key struct {
	Created string `json:"create_revision"`
	Changed string `json:"mod_revision"`
}

// keys are those of the API server.
func (s *store) keys(ctx context.Context) (map[string]key, error) {
	var answer struct {
		KVs []struct {
			Key []byte `json:"key"`
			key
		} `json:"kvs"`
	}
	// The end of a range of all that begins with the root: its last byte, and one more.
	end := []byte(root)
	end[len(end)-1]++
	question := map[string]any{"key": []byte(root), "range_end": end, "keys_only": true}
	if err := s.ask(ctx, "range", question, &answer); err != nil {
		return nil, err
	}
	keys := make(map[string]key, len(answer.KVs))
	for _, kv := range answer.KVs {
		keys[string(kv.Key)] = kv.key
	}
	return keys, nil
}

// remove takes these keys away, in transactions of so many as etcd takes (--max-txn-ops).
func (s *store) remove(ctx context.Context, names []string) error {
	for some := range slices.Chunk(names, 100) {
		var operations []any
		for _, name := range some {
			operations = append(operations, map[string]any{"request_delete_range": map[string]any{"key": []byte(name)}})
		}
		if err := s.ask(ctx, "txn", map[string]any{"success": operations}, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) ask(ctx context.Context, what string, question map[string]any, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("write a question to etcd: %w", err)
	}
	url := s.url + "/v3/kv/" + what
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request to etcd: %w", err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return fmt.Errorf("ask etcd: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read what etcd answers at %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answers at %s with %s: %s", url, response.Status, data)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("read what etcd answers at %s: %w", url, err)
	}
	return nil
}

// established waits until the API server has written all that it writes into CRDs.
func established(ctx context.Context, config *rest.Config) error {
	c, err := clientset.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client for CRDs: %w", err)
	}
	are := func(ctx context.Context) (bool, error) {
		list, err := c.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, fmt.Errorf("list CRDs: %w", err)
		}
		return !slices.ContainsFunc(list.Items, func(crd apiextensionsv1.CustomResourceDefinition) bool {
			return !slices.ContainsFunc(crd.Status.Conditions, isEstablished)
		}), nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, are); err != nil {
		return fmt.Errorf("wait until all CRDs are established: %w", err)
	}
	return nil
}

func isEstablished(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
	return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
}
