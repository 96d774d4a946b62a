// SPDX-License-Identifier: Apache-2.0

package join

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// Owner is the field manager of what the plugin applies.
const Owner = client.FieldOwner("kubectl-geosql")

// DefaultTokenLife is asked of the member's API server, which may grant less. The manager renews tokens by itself.
const DefaultTokenLife = sites.MaxTokenLife

// Cluster is an API server and the right to administer it.
type Cluster struct {
	Config *rest.Config
	Client client.Client
}

// Request says what to join, and how.
type Request struct {
	// Name of the Site.
	Name string
	// Member is the cluster to join; nil when it is the hub itself.
	Member *Cluster
	// Hub is where the Site is declared.
	Hub Cluster
	// OperatorNamespace in the hub and at the member; sites.OperatorNamespace unless given.
	OperatorNamespace string
	// Server is the URL at which the hub reaches the member's API server; unless given that which the hub has of the site,
	// else that of Member.Config. Of the hub itself it is the URL at which the other sites reach it, and may be left out
	// while no group has it as a voter.
	Server string
	// TokenLife asked for; unless given that of the token that the hub has of the site, else DefaultTokenLife.
	TokenLife time.Duration
	// Spec holds what was said about the site; what is empty is kept from the Site if it exists.
	Spec v1alpha1.SiteSpec
	// AddNamespaces are allowed besides Spec.AllowedNamespaces, or besides those of the existing Site.
	AddNamespaces []string
	// Drills grants the manager what drills need at the site: to start pods, to run commands in them, and to make objects
	// of Chaos Mesh, all in the allowed namespaces. nil keeps what the site has, which is nothing for a new one.
	Drills *bool
	// NewCluster says that the site's cluster was made anew. Without it another cluster than the Site's is refused.
	NewCluster bool
	// TakeOver makes the site this hub's where it is another's, or another copy's of this hub. Without it such a site is
	// refused.
	TakeOver bool
	// DryRun says what would be done and does nothing.
	DryRun bool
	// Declare receives in a dry run what would be applied, in that order; left out, nobody does. An error ends it.
	Declare func(Manifest) error
	// Out receives a line per object.
	Out io.Writer

	// kept is the kubeconfig that the hub has of the site, nil when there is none that can be read.
	kept *rest.Config
	// self is this hub, with the epoch that it has at the site.
	self sites.Owner
}

func (r *Request) withDefaults() error {
	if r.Name == "" {
		return fmt.Errorf("a site needs a name")
	}
	if r.OperatorNamespace == "" {
		r.OperatorNamespace = sites.OperatorNamespace
	}
	if r.Member == nil {
		r.Spec.APIServer = r.Server
	}
	return nil
}

// withAddress takes what was not said about the way to the member's API server from what the hub has, which works, and
// else from the context: its address is good where that is, and need not be so for the hub.
func (r *Request) withAddress() error {
	if r.kept != nil {
		keepString(&r.Server, r.kept.Host)
		if token, ok := sites.ReadToken(r.kept.BearerToken); ok && r.TokenLife == 0 {
			r.TokenLife = token.Expires.Sub(token.Issued)
		}
	}
	if r.TokenLife == 0 || r.TokenLife > sites.MaxTokenLife {
		r.TokenLife = DefaultTokenLife
	}
	if r.Member != nil && r.Server == "" {
		r.Server = r.Member.Config.Host
	}
	if (r.Member != nil || r.Server != "") && !strings.HasPrefix(r.Server, "https://") {
		return fmt.Errorf(
			"the address of the API server, %q, must begin with https://: give it with --kubeconfig-server",
			r.Server,
		)
	}
	return r.checkNames()
}

// verifies is by what the certificate of the member's API server is verified: the CAs, PEM, and the name when it is not
// that of the address. At an address that is kept it is what was so, and the CA of the context beside it.
func (r *Request) verifies(context []byte) (ca []byte, name string) {
	if r.kept == nil || r.kept.Host != r.Server {
		return context, r.Member.Config.ServerName
	}
	if ca = r.kept.CAData; !bytes.Contains(ca, bytes.TrimSpace(context)) {
		ca = slices.Concat(bytes.TrimSpace(ca), []byte("\n"), context)
	}
	return ca, r.kept.ServerName
}

// member is the cluster that is joined.
func (r *Request) member() Cluster {
	if r.Member == nil {
		return r.Hub
	}
	return *r.Member
}

// keep takes over from an existing Site what was not said anew.
func (r *Request) keep(old v1alpha1.SiteSpec) {
	s := &r.Spec
	if len(s.AllowedNamespaces) == 0 {
		s.AllowedNamespaces = old.AllowedNamespaces
	}
	keepString(&s.APIServer, old.APIServer)
	keepString(&s.Region, old.Region)
	keepString(&s.Zone, old.Zone)
	keepString(&s.StorageClasses.Data, old.StorageClasses.Data)
	keepString(&s.StorageClasses.Log, old.StorageClasses.Log)
	keepString(&s.StorageClasses.TempDB, old.StorageClasses.TempDB)
	keepString(&s.StorageClasses.Backup, old.StorageClasses.Backup)
	keepString(&s.StorageClasses.Agent, old.StorageClasses.Agent)
	// How load balancers are shaped no flag says.
	if s.Exposure.Type == "" || s.Exposure.Type == old.Exposure.Type {
		s.Exposure = old.Exposure
	}
	if len(s.SourceRanges) == 0 {
		s.SourceRanges = old.SourceRanges
	}
	for _, link := range old.Links {
		if !hasLink(s.Links, link.To) {
			s.Links = append(s.Links, link)
		}
	}
	s.Lifecycle, s.HubEpoch = old.Lifecycle, old.HubEpoch
}

// addNamespaces comes after keep: what is added is added to what is kept.
func (r *Request) addNamespaces() {
	for _, ns := range r.AddNamespaces {
		if !slices.Contains(r.Spec.AllowedNamespaces, ns) {
			r.Spec.AllowedNamespaces = append(slices.Clone(r.Spec.AllowedNamespaces), ns)
		}
	}
}

func keepString(s *string, old string) {
	if *s == "" {
		*s = old
	}
}

func hasLink(links []v1alpha1.SiteLink, to v1alpha1.SiteName) bool {
	for _, l := range links {
		if l.To == to {
			return true
		}
	}
	return false
}

// ParseStorageClass reads ROLE=CLASS into the classes; the role "all" stands for all roles.
func ParseStorageClass(classes *v1alpha1.VolumeClasses, text string) error {
	role, class, ok := strings.Cut(text, "=")
	if !ok || class == "" {
		return fmt.Errorf("%q is not ROLE=CLASS, with a role of data, log, tempdb, backup, agent or all", text)
	}
	switch role {
	case "data":
		classes.Data = class
	case "log":
		classes.Log = class
	case "tempdb":
		classes.TempDB = class
	case "backup":
		classes.Backup = class
	case "agent":
		classes.Agent = class
	case "all":
		*classes = v1alpha1.VolumeClasses{Data: class, Log: class, TempDB: class, Backup: class, Agent: class}
	default:
		return fmt.Errorf("%q is not a role of a volume: use data, log, tempdb, backup, agent or all", role)
	}
	return nil
}

// ParseLink reads SITE=ROUNDTRIP[/BANDWIDTH], such as dublin=150ms/1Gbit.
func ParseLink(text string) (v1alpha1.SiteLink, error) {
	to, rest, ok := strings.Cut(text, "=")
	roundTrip, bandwidth, _ := strings.Cut(rest, "/")
	d, err := time.ParseDuration(roundTrip)
	if !ok || to == "" || err != nil || d < 0 {
		return v1alpha1.SiteLink{}, fmt.Errorf("%q is not SITE=ROUNDTRIP[/BANDWIDTH], such as dublin=150ms/1Gbit", text)
	}
	return v1alpha1.SiteLink{
		To:        v1alpha1.SiteName(to),
		RoundTrip: &metav1.Duration{Duration: d},
		Bandwidth: bandwidth,
	}, nil
}
