// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// askAgents asks the agents of the servers on which the group may be about to be dropped what they have heard of that.
func (r *Reconciler) askAgents(ctx context.Context, d Desired, o *Observed) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for server, site := range d.Sites {
		i, told := o.Instances[server], o.Agents[server]
		if i.Err != nil || i.Group == nil || told.Err != nil || told.Told != nil && !told.Told.Ending {
			continue
		}
		wg.Go(func() {
			word := reconcile.Asked(r.word(ctx, d, server, site))
			mu.Lock()
			defer mu.Unlock()
			told.Word = word
			o.Agents[server] = told
		})
	}
	wg.Wait()
}

// word is what a server's agent says of the group. One that does not answer counts as idle where the kubelet says that
// it does not run.
func (r *Reconciler) word(
	ctx context.Context,
	d Desired,
	server v1alpha1.ServerName,
	site v1alpha1.SiteName,
) (Word, error) {
	member, err := r.member(site, d.Group.Namespace)
	if err != nil {
		return Word{}, err
	}
	ctx, cancel := r.sites.Wait(ctx, site, sitePatience)
	defer cancel()
	said, err := r.askAgent(ctx, member, d, server)
	if err == nil {
		return said, nil
	}
	switch stopped, unseen := agentStopped(ctx, member.APIReader, d.Group.Namespace, server); {
	case unseen != nil:
		return Word{}, errors.Join(err, unseen)
	case stopped:
		return Word{Idle: true}, nil
	}
	return Word{}, err
}

func (r *Reconciler) askAgent(
	ctx context.Context,
	member *sites.Member,
	d Desired,
	server v1alpha1.ServerName,
) (Word, error) {
	namespace := d.Group.Namespace
	var certificate, readers corev1.Secret
	key := client.ObjectKey{Namespace: namespace, Name: credentials.CertificateName(server)}
	if err := r.secrets.Get(ctx, key, &certificate); err != nil {
		return Word{}, fmt.Errorf("read Secret %s in the hub: %w", key, err)
	}
	key.Name = credentials.ReaderName
	if err := client.IgnoreNotFound(member.APIReader.Get(ctx, key, &readers)); err != nil {
		return Word{}, fmt.Errorf("read Secret %s at site %s: %w", key, member.Name(), err)
	}
	text, err := agent.StatusOf(ctx, r.sidecar(namespace, server), namespace, server, certificate.Data, readers.Data)
	if err != nil {
		return Word{}, err
	}
	return wordOf(text, server, d.name())
}

// wordOf reads an agent's /status.
func wordOf(text []byte, server v1alpha1.ServerName, group string) (Word, error) {
	var status struct {
		Parts struct {
			Election map[string]struct {
				Orders   orders.State `json:"orders"`
				EndingID string       `json:"endingID"`
			} `json:"election"`
		} `json:"parts"`
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return Word{}, fmt.Errorf("read what the agent of %s says: %w", host(server), err)
	}
	if status.Parts.Election == nil {
		return Word{}, fmt.Errorf("the agent of %s does not say which groups it serves", host(server))
	}
	of, has := status.Parts.Election[group]
	return Word{Idle: !has, State: of.Orders, EndingID: of.EndingID}, nil
}

// agentStopped says that no agent of the server runs: its pod is gone, or the kubelet of a node that is heard says so
// of the container. One that was cut off may have started it since.
func agentStopped(
	ctx context.Context,
	reader client.Reader,
	namespace string,
	server v1alpha1.ServerName,
) (bool, error) {
	var pod corev1.Pod
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: host(server)}, &pod)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("read pod %s/%s: %w", namespace, host(server), err)
	}
	at := slices.IndexFunc(pod.Status.ContainerStatuses,
		func(c corev1.ContainerStatus) bool { return c.Name == agent.Container })
	if at < 0 || pod.Status.ContainerStatuses[at].State.Running != nil {
		return false, nil
	}
	var node corev1.Node
	if err := reader.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &node); err != nil {
		return false, fmt.Errorf("read node %s: %w", pod.Spec.NodeName, err)
	}
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionUnknown
	}), nil
}
