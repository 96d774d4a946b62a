// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NetworkPolicyMode says whether a server has a NetworkPolicy of the operator's.
// +kubebuilder:validation:Enum=None;Managed
type NetworkPolicyMode string

const (
	// NetworkPolicyNone leaves the network to others.
	NetworkPolicyNone NetworkPolicyMode = "None"
	// NetworkPolicyManaged lets in the server's peers, the manager and its clients.
	NetworkPolicyManaged NetworkPolicyMode = "Managed"
)

// NetworkClient is who may connect to a server: pods at the server's site, or a range of addresses.
// +kubebuilder:validation:XValidation:rule="has(self.cidr) != (has(self.namespaceSelector) || has(self.podSelector))",message="a client is a cidr, or a namespaceSelector, a podSelector or both"
type NetworkClient struct {
	// cidr is a range of addresses in CIDR notation, such as 10.30.0.0/16.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self) == cidr(self).masked()",message="a range is written in CIDR notation with no bits beyond its prefix, such as 10.30.0.0/16"
	CIDR string `json:"cidr,omitempty"`
	// namespaceSelector selects namespaces at the server's site; with podSelector, pods in them. The server's own
	// namespace unless given. An empty one selects all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// podSelector selects pods at the server's site. An empty one selects all of the namespaces.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
}

// NetworkTuning says where the sizes of the buffers of a pod's connections come from.
// +kubebuilder:validation:Enum=FromLinks;None
type NetworkTuning string

const (
	// TuningFromLinks computes them from the links that the Sites declare.
	TuningFromLinks NetworkTuning = "FromLinks"
	// TuningNone leaves the kernel its own.
	TuningNone NetworkTuning = "None"
)

// ServerNetwork says who may connect to the server's pod, and which buffers its connections have.
// +kubebuilder:validation:XValidation:rule="!has(self.receiveWindow) || !has(self.tuning) || self.tuning != 'None'",message="receiveWindow is given to the pod by its tuning: with it, tuning is FromLinks",fieldPath=".receiveWindow"
// +kubebuilder:validation:XValidation:rule="!has(self.receiveWindow) || type(self.receiveWindow) == int || self.receiveWindow.size() > 0 && self.receiveWindow.charAt(self.receiveWindow.size() - 1) in ['0','1','2','3','4','5','6','7','8','9','.','i','n','u','m','k','M','G','T','P','E']",message="a quantity is a number, alone or with Ki, Mi, Gi, Ti, Pi or Ei (powers of 1024), or with k, M, G, T, P or E (powers of 1000): 5Gi, not 5GB",fieldPath=".receiveWindow"
// +kubebuilder:validation:XValidation:rule="!has(self.networkPolicy) || self.networkPolicy != 'None' || (!has(self.clients) || self.clients.size() == 0) && (!has(self.scrapers) || self.scrapers.size() == 0)",message="clients and scrapers are let in by the NetworkPolicy: with either, networkPolicy is Managed"
type ServerNetwork struct {
	// networkPolicy is Managed or None. Managed gives the pod a NetworkPolicy by which its mirroring endpoint and its
	// agent are open to its peers and the manager alone. Unless given it is Managed with clients or scrapers and for a
	// server that has not run before, and None for one that an earlier release began: an upgrade cuts nobody off.
	// +optional
	NetworkPolicy NetworkPolicyMode `json:"networkPolicy,omitempty"`
	// clients are who may connect to the engine's port 1433, beside the server's peers, the manager, and drills of its
	// namespace. Without clients everybody may.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Clients []NetworkClient `json:"clients,omitempty"`
	// scrapers are who may connect to the agent for its metrics, beside the server's peers and the manager.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Scrapers []NetworkClient `json:"scrapers,omitempty"`
	// tuning is FromLinks or None. FromLinks gives the pod buffers that fill the longest and widest link that the server's
	// Site, or another one to it, declares with roundTrip and bandwidth: net.ipv4.tcp_rmem and net.ipv4.tcp_wmem with a
	// maximum of twice its bandwidth-delay product, in whole MiB, 6Mi to 64Mi; a link that the kernel's own 4Mi fill needs
	// none, and tcp_rmem stays the kernel's where that has as much, 6Mi, or 32Mi from Linux 6.18 on. Unless given it is
	// FromLinks. It takes every node of the site to run Kubernetes 1.32 or later and a kernel of 4.15 or later. A change
	// takes effect with the pod's next start, and restarts nothing; status.tuning has the arithmetic.
	// +optional
	Tuning NetworkTuning `json:"tuning,omitempty"`
	// receiveWindow takes the place of what tuning computes for receiving: the window that one connection to the pod has
	// at most, 64Ki to 32Mi. Window over round trip is what one stream carries then: 64Ki at 100 ms are 5.24 Mbit/s, as
	// without window scaling. It is for comparing, and for a receiver that must not be sent more at once. A change takes
	// effect with the pod's next start.
	// +optional
	ReceiveWindow *resource.Quantity `json:"receiveWindow,omitempty"`
}

// TCPBuffers are the sizes of the buffers of a pod's connections, each as least, beginning and most in bytes.
type TCPBuffers struct {
	// receive is net.ipv4.tcp_rmem; empty where the kernel has its own.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Receive string `json:"receive,omitempty"`
	// send is net.ipv4.tcp_wmem; empty where the kernel has its own.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Send string `json:"send,omitempty"`
}

// TCPKernel is what the kernel has for the connections of a pod, as the pod's agent reads it.
type TCPKernel struct {
	// receive is net.ipv4.tcp_rmem.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Receive string `json:"receive,omitempty"`
	// send is net.ipv4.tcp_wmem.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Send string `json:"send,omitempty"`
	// congestionControl is that of connections which choose none, such as cubic, reno or bbr.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	CongestionControl string `json:"congestionControl,omitempty"`
}

// TuningStatus says which buffers the connections of a server's pod have, and why.
type TuningStatus struct {
	// link is the site to which the link leads that takes the most to fill; empty while no link of the site is declared
	// with roundTrip and bandwidth.
	// +optional
	Link SiteName `json:"link,omitempty"`
	// arithmetic is how the size follows from the link, such as "2 x 1Gbit x 150ms / 8 = 37500000 bytes, in whole MiB
	// 36Mi".
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Arithmetic string `json:"arithmetic,omitempty"`
	// next is what a pod gets that starts now.
	// +optional
	Next *TCPBuffers `json:"next,omitempty"`
	// pod is what the pod that runs was started with.
	// +optional
	Pod *TCPBuffers `json:"pod,omitempty"`
	// kernel is what the pod that runs has, as its agent last read it: what its node gives it besides, too.
	// +optional
	Kernel *TCPKernel `json:"kernel,omitempty"`
}
