// SPDX-License-Identifier: Apache-2.0

// Command firewall enforces NetworkPolicies on its node: kube-router's firewall, without its router and its proxy,
// whose dependencies (BGP, IPVS, a cloud's SDK) are most of what would be compiled. The bed's own CNI plugin enforces
// nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	// commands is the folder of the iptables that kube-router calls; restore takes the place of iptables-restore there.
	commands = "/run/firewall"
	restore  = "/usr/bin/firewall-restore"
	// restoreVariable tells restore which program it stands before, saveVariable which one lists what is there.
	restoreVariable = "FIREWALL_RESTORE"
	saveVariable    = "FIREWALL_SAVE"
)

func main() {
	services := flag.String("services", "", "range of the cluster's Services")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *services); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, services string) error {
	if err := chooseCommands(); err != nil {
		return err
	}
	cluster, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("read the pod's account: %w", err)
	}
	client, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	config := options.NewKubeRouterConfig()
	config.EnableIPv4, config.EnableIPv6 = true, false
	config.ClusterIPCIDRs = []string{services}
	config.HostnameOverride = os.Getenv("NODE_NAME")
	return enforce(ctx, client, config)
}

func enforce(ctx context.Context, client kubernetes.Interface, config *options.KubeRouterConfig) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(without))
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("watch %v: %w", kind, ctx.Err())
		}
	}
	tables, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return err
	}
	var lock sync.Mutex
	controller, err := netpol.NewNetworkPolicyController(
		client, config, pods, policies, namespaces, &lock, tables, sets)
	if err != nil {
		return err
	}
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		pods: controller.PodEventHandler, namespaces: controller.NamespaceEventHandler,
		policies: controller.NetworkPolicyEventHandler,
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
	}
	beats := make(chan *healthcheck.ControllerHeartbeat)
	go func() {
		for range beats {
			// Nobody asks: a firewall that cannot write its rules ends.
		}
	}()
	var running sync.WaitGroup
	running.Add(1)
	controller.Run(beats, ctx.Done(), &running)
	running.Wait()
	return nil
}

// without leaves out of a pod what no policy asks for.
func without(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.ManagedFields, pod.Annotations = nil, nil
		pod.Spec.Volumes, pod.Status.Conditions, pod.Status.ContainerStatuses = nil, nil, nil
	}
	return obj, nil
}

// chooseCommands puts first into PATH the iptables that the node's own rules are of: those of the other kind would be a
// second firewall beside it.
func chooseCommands() error {
	kind := "nft"
	if rules, err := exec.Command("/usr/sbin/iptables-legacy-save").Output(); err == nil &&
		strings.Contains(string(rules), ":KUBE-") {
		kind = "legacy"
	}
	if err := os.MkdirAll(commands, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", commands, err)
	}
	for name, target := range map[string]string{
		"iptables":         "/usr/sbin/iptables-" + kind,
		"iptables-save":    "/usr/sbin/iptables-" + kind + "-save",
		"iptables-restore": restore,
	} {
		link := filepath.Join(commands, name)
		if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("replace %s: %w", link, err)
		}
		if err := os.Symlink(target, link); err != nil {
			return fmt.Errorf("link %s: %w", link, err)
		}
	}
	for name, value := range map[string]string{
		"PATH":          commands + ":" + os.Getenv("PATH"),
		restoreVariable: "/usr/sbin/iptables-" + kind + "-restore",
		saveVariable:    "/usr/sbin/iptables-" + kind + "-save",
	} {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}
