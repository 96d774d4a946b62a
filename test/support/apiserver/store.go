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
)

// root of all keys of an API server in its etcd (--etcd-prefix).
const root = "/registry/"

// ownKeys are what an API server keeps by itself and writes again at any time, by prefixes below the root.
var ownKeys = []string{
	"configmaps/kube-system/extension-apiserver-authentication",
	"configmaps/kube-system/kube-apiserver-legacy-service-account-token-tracking",
	"endpointslices/default/kubernetes",
	"leases/kube-system/apiserver-",
	"masterleases/",
	"peerserverleases/",
	"services/endpoints/default/kubernetes",
}

// statusKeys are of what an API server makes at its start and writes the status of at any time. Others may make more.
var statusKeys = []string{
	"apiregistration.k8s.io/",
	"flowschemas/",
	"prioritylevelconfigurations/",
}

// ruleKeys are of what an API server turns into handlers and rules of its own some time after it was written, or taken
// away.
var ruleKeys = []string{
	"apiextensions.k8s.io/",
	"apiregistration.k8s.io/",
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
func hasStatus(name string) bool   { return below(name, statusKeys) }
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

// header of an answer says at what revision of the store it was given.
type header struct {
	Revision int64 `json:"revision,string"`
}

// keys are those of the API server, at a revision of the store.
func (s *store) keys(ctx context.Context) (map[string]key, int64, error) {
	var answer struct {
		Header header `json:"header"`
		KVs    []struct {
			Key []byte `json:"key"`
			key
		} `json:"kvs"`
	}
	// The end of a range of all that begins with the root: its last byte, and one more.
	end := []byte(root)
	end[len(end)-1]++
	question := map[string]any{"key": []byte(root), "range_end": end, "keys_only": true}
	if err := s.ask(ctx, "kv/range", question, &answer); err != nil {
		return nil, 0, err
	}
	keys := make(map[string]key, len(answer.KVs))
	for _, kv := range answer.KVs {
		keys[string(kv.Key)] = kv.key
	}
	return keys, answer.Header.Revision, nil
}

// marker is a key beside the API server's.
const marker = "/geosql-test/marker"

// gone are the keys that were taken away after the revision, until it returns. known is false where etcd does not keep
// what was then any more: an API server has it forget what is older than some minutes.
func (s *store) gone(ctx context.Context, after int64) (names []string, known bool, err error) {
	// Nothing tells that a history has come to its end: what is taken away last, here, does.
	err = s.ask(ctx, "kv/put", map[string]any{"key": []byte(marker), "value": []byte("x")}, &struct{}{})
	if err != nil {
		return nil, false, err
	}
	var last struct {
		Header header `json:"header"`
	}
	if err := s.ask(ctx, "kv/deleterange", map[string]any{"key": []byte(marker)}, &last); err != nil {
		return nil, false, err
	}
	// A range that begins and ends at the byte 0 has all keys.
	all := []byte{0}
	question := map[string]any{"create_request": map[string]any{"key": all, "range_end": all,
		"start_revision": after + 1, "filters": []string{"NOPUT"}}}
	body, err := s.post(ctx, "watch", question)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = body.Close() }()
	for decoder := json.NewDecoder(body); ; {
		var answer struct {
			Result struct {
				Canceled bool `json:"canceled"`
				Events   []struct {
					KV struct {
						Key     []byte `json:"key"`
						Changed int64  `json:"mod_revision,string"`
					} `json:"kv"`
				} `json:"events"`
			} `json:"result"`
		}
		if err := decoder.Decode(&answer); err != nil {
			return nil, false, fmt.Errorf("read etcd's history: %w", err)
		}
		if answer.Result.Canceled {
			return nil, false, nil
		}
		for _, event := range answer.Result.Events {
			if event.KV.Changed >= last.Header.Revision {
				return names, true, nil
			}
			names = append(names, string(event.KV.Key))
		}
	}
}

// remove takes these keys away, in transactions of so many as etcd takes (--max-txn-ops).
func (s *store) remove(ctx context.Context, names []string) error {
	for some := range slices.Chunk(names, 100) {
		var operations []any
		for _, name := range some {
			operations = append(operations, map[string]any{"request_delete_range": map[string]any{"key": []byte(name)}})
		}
		if err := s.ask(ctx, "kv/txn", map[string]any{"success": operations}, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) ask(ctx context.Context, what string, question map[string]any, answer any) error {
	body, err := s.post(ctx, what, question)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if err := json.NewDecoder(body).Decode(answer); err != nil {
		return fmt.Errorf("read what etcd answers to %s: %w", what, err)
	}
	return nil
}

// post asks etcd and returns what it answers, which whoever asks closes.
func (s *store) post(ctx context.Context, what string, question map[string]any) (io.ReadCloser, error) {
	data, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("write a question to etcd: %w", err)
	}
	url := s.url + "/v3/" + what
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("make a request to etcd: %w", err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask etcd: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if err != nil {
		return nil, fmt.Errorf("read what etcd answers at %s: %w", url, err)
	}
	return nil, fmt.Errorf("etcd answers at %s with %s: %s", url, response.Status, said)
}

// established waits until the API server has written all that it writes into CRDs, and beside them.
func (r *running) established(ctx context.Context) error {
	c, err := clientset.NewForConfig(r.config)
	if err != nil {
		return fmt.Errorf("make a client for CRDs: %w", err)
	}
	are := func(ctx context.Context) (bool, error) {
		list, err := c.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, fmt.Errorf("list CRDs: %w", err)
		}
		keys, _, err := r.store.keys(ctx)
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(list.Items, func(crd apiextensionsv1.CustomResourceDefinition) bool {
			return !slices.ContainsFunc(crd.Status.Conditions, isEstablished) || !isServed(&crd, keys)
		}), nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, are); err != nil {
		return fmt.Errorf("wait until all CRDs are established: %w", err)
	}
	return nil
}

// isServed says that each version of the CRD has what leads requests to it.
func isServed(crd *apiextensionsv1.CustomResourceDefinition, keys map[string]key) bool {
	return !slices.ContainsFunc(crd.Spec.Versions, func(version apiextensionsv1.CustomResourceDefinitionVersion) bool {
		_, found := keys[root+"apiregistration.k8s.io/apiservices/"+version.Name+"."+crd.Spec.Group]
		return version.Served && !found
	})
}

func isEstablished(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
	return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
}
