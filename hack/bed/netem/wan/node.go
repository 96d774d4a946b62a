// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
)

// Node is one kind node: a running container.
type Node struct {
	// Name is the container's, Site its kind cluster's.
	Name string
	Site string
	// Addresses are its addresses on the sites' network.
	Addresses []netip.Addr
	// process is the number of the container's first process on the machine
	// of the container engine.
	process int
}

// network is the path of the node's network namespace, on the machine of the
// container engine.
func (n Node) network() string { return fmt.Sprintf("/proc/%d/ns/net", n.process) }

// clusterLabel is kind's own on each node container.
const clusterLabel = "io.x-k8s.kind.cluster"

// Runner runs a command of the container engine with the given standard input
// and returns its standard output.
type Runner func(ctx context.Context, stdin io.Reader, arguments ...string) ([]byte, error)

// Docker runs the docker command.
func Docker(ctx context.Context, stdin io.Reader, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "docker", arguments...)
	command.Stdin = stdin
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		err = fmt.Errorf("docker %s: %w: %s", arguments[0], err, strings.TrimSpace(stderr.String()))
	}
	return output, err
}

// inspected is the part of docker inspect that is read.
type inspected struct {
	Name   string
	State  struct{ Pid int }
	Config struct {
		Labels map[string]string
	}
	NetworkSettings struct {
		Networks map[string]struct{ IPAddress string }
	}
}

// RunningNodes returns the running nodes of the sites, by name.
func RunningNodes(ctx context.Context, run Runner, sites []Site) ([]Node, error) {
	listed, err := run(ctx, nil, "ps", "--quiet", "--filter", "label="+clusterLabel, "--filter", "status=running")
	if err != nil {
		return nil, fmt.Errorf("list the sites' nodes: %w", err)
	}
	containers := strings.Fields(string(listed))
	if len(containers) == 0 {
		return nil, nil
	}
	text, err := run(ctx, nil, append([]string{"inspect"}, containers...)...)
	if err != nil {
		return nil, fmt.Errorf("inspect the sites' nodes: %w", err)
	}
	var found []inspected
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, fmt.Errorf("inspect the sites' nodes: %w", err)
	}
	var nodes []Node
	for _, container := range found {
		node := Node{
			Name:    strings.TrimPrefix(container.Name, "/"),
			Site:    container.Config.Labels[clusterLabel],
			process: container.State.Pid,
		}
		if !slices.ContainsFunc(sites, func(s Site) bool { return s.Name == node.Site }) {
			continue
		}
		for _, network := range container.NetworkSettings.Networks {
			if address, err := netip.ParseAddr(network.IPAddress); err == nil && address.Is4() {
				node.Addresses = append(node.Addresses, address)
			}
		}
		if len(node.Addresses) == 0 {
			return nil, fmt.Errorf("node %s has no address on a docker network", node.Name)
		}
		slices.SortFunc(node.Addresses, netip.Addr.Compare)
		nodes = append(nodes, node)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes, nil
}
