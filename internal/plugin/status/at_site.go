// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/agent"
	"geosql.dev/operator/internal/mssql/credentials"
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
	port, err := forward(ctx, f.Config, namespace, pod)
	if err != nil {
		return nil, err
	}
	return agent.ReadStatus(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))), namespace, pod, ca, token)
}

// forward leads a port of this machine to a pod's agent until ctx ends.
func forward(ctx context.Context, config *rest.Config, namespace, pod string) (uint16, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &corev1.SchemeGroupVersion, "/api"
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	rc, err := rest.RESTClientFor(config)
	if err != nil {
		return 0, fmt.Errorf("make a client for pod %s: %w", pod, err)
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return 0, fmt.Errorf("forward a port to pod %s: %w", pod, err)
	}
	target := rc.Post().Namespace(namespace).Resource("pods").Name(pod).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	ready, ended := make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"},
		[]string{fmt.Sprintf("0:%d", credentials.AgentPort)}, ctx.Done(), ready, io.Discard, io.Discard)
	if err != nil {
		return 0, fmt.Errorf("forward a port to pod %s: %w", pod, err)
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ctx.Done():
		return 0, fmt.Errorf("forward a port to pod %s: %w", pod, ctx.Err())
	case err := <-ended:
		return 0, fmt.Errorf("forward a port to pod %s: %w", pod, err)
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return 0, fmt.Errorf("forward a port to pod %s: %w", pod, err)
	}
	return ports[0].Local, nil
}
