// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/plugin/overview"
)

// askTimeout bounds the question to one agent.
const askTimeout = 5 * time.Second

var errOneNamespace = errors.New(
	"a site knows no Topologies, and is shown a namespace at a time: leave the name out, and say -n NAMESPACE")

// showSite shows what the cluster knows as a site.
func (f *statusFlags) showSite(ctx context.Context, site client.Client, scope overview.Scope) (*bytes.Buffer, error) {
	if scope.Topology != "" || scope.Namespace == "" {
		return nil, fmt.Errorf("this cluster is not the hub: %w", errOneNamespace)
	}
	view, err := overview.ReadSite(ctx, site, scope.Namespace, f.ask)
	if errors.Is(err, overview.ErrNoSite) {
		return nil, fmt.Errorf("this cluster is not the hub, and no site either as far as can be seen: %w; name the hub "+
			"or a site in --context, and in -n the namespace of the servers", err)
	}
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if f.output == "json" {
		return &text, writeJSON(&text, view)
	}
	view.Write(&text, time.Now())
	return &text, nil
}

// askAgent asks an agent through the API server of its site: pods need not be reached from here.
func (f *statusFlags) askAgent(ctx context.Context, namespace, pod, token string, ca []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	way := cli.Tunnel{Config: f.Config, Namespace: namespace, Pod: pod, Port: credentials.AgentPort}
	return agent.ReadStatusOver(ctx, way.Dial, credentials.AgentAddress(pod), namespace, pod, ca, token)
}
