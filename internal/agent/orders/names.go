// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// What the manager leaves in each namespace of a site for the site's own process (`geosql site`), and that process for
// the manager. There is one of each per namespace.
const (
	// NamesObject is the ConfigMap with the Names, a key per object (SiteKey, ServerKey, GroupKey). An object's key goes
	// with the object's own finalizer: that a hub does not know the object says nothing, it may have been made anew.
	NamesObject = "geosql-names"
	// NamesKey has all of them for a site's process of an earlier release, and is all that a manager of one writes.
	NamesKey = "names.json"
	// PeersObject is the Secret with the other sites as Voters, a key per site: how their API servers are reached and a
	// token of the ServiceAccount PeerAccount there. The site's process renews the tokens itself.
	PeersObject = "geosql-peers"
	// PeerAccount is the ServiceAccount as which the other sites read pods, Services and Leases of the namespace.
	PeerAccount = "geosql-site-reader"
	// PresenceLease is the Lease that the site's process renews while it keeps the names of the namespace.
	PresenceLease = "geosql-site"
)

// peerPrefix precedes a site's name in the keys of PeersObject; the others precede names in those of NamesObject.
const (
	peerPrefix   = "site."
	sitePrefix   = "site."
	serverPrefix = "server."
	groupPrefix  = "group."
)

// SiteKey is the key of a site in NamesObject.
func SiteKey(site string) string { return sitePrefix + site }

// ServerKey is the key of a server in NamesObject.
func ServerKey(server string) string { return serverPrefix + server }

// GroupKey is the key of a group in NamesObject.
func GroupKey(group string) string { return groupPrefix + group }

// VoteAccount is the ServiceAccount, at a voter's site, as which the agents of a group keep their votes.
func VoteAccount(group string) string { return "geosql-agent-" + group }

// Names are the servers and groups that are declared in a namespace, for a site that must keep their names without the
// hub.
type Names struct {
	// Sites are those in which the namespace may be used.
	Sites []NamedSite `json:"sites"`
	// Servers are the SQLServers.
	Servers []NamedServer `json:"servers"`
	// Groups are the AvailabilityGroups.
	Groups []NamedGroup `json:"groups"`
}

// NamedSite is a site as far as names are concerned.
type NamedSite struct {
	Name string `json:"name"`
	// Exposure is how its pods are reached from other sites, FlatNetwork unless given.
	Exposure string `json:"exposure,omitempty"`
	// LoadBalancer shapes the Services of its servers, when that is by load balancers.
	LoadBalancer *v1alpha1.LoadBalancerExposure `json:"loadBalancer,omitempty"`
	// Lost says that a person declared it lost: nothing is there.
	Lost bool `json:"lost,omitempty"`
	// Links are the declared round-trip times to other sites.
	Links map[string]time.Duration `json:"links,omitempty"`
}

// NamedServer is a server and the site where it runs.
type NamedServer struct {
	Name string `json:"name"`
	Site string `json:"site"`
	// Suspended tells that the server is: it keeps the names that it had.
	Suspended bool `json:"suspended,omitempty"`
}

// NamedGroup is a group's listener and who may stand behind it.
type NamedGroup struct {
	Name     string `json:"name"`
	Listener string `json:"listener"`
	Port     int32  `json:"port"`
	// Voters are the sites whose Leases say who is primary; none for a group that nothing fences.
	Voters []string `json:"voters,omitempty"`
	// Servers are those that hold its databases; none when the hub is of a release that does not say so.
	Servers []string `json:"servers,omitempty"`
	// Readable are the servers that may be read as secondaries, by the spec.
	Readable []string `json:"readable,omitempty"`
	// Primary and Readers are the servers that the hub last knew as primary and as readable secondaries.
	Primary string   `json:"primary,omitempty"`
	Readers []string `json:"readers,omitempty"`
	// Outside are the servers that the hub last saw with databases of the group's ONLINE outside of it: no listener leads
	// there.
	Outside []string `json:"outside,omitempty"`
	// Suspended tells that the group is: it keeps the listener that it declared before.
	Suspended bool `json:"suspended,omitempty"`
}

// Keys makes the keys of the objects with their values.
func (n Names) Keys() (map[string]string, error) {
	keys := map[string]string{}
	put := func(key string, value any) error {
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode %s of the names of a namespace: %w", key, err)
		}
		keys[key] = string(data)
		return nil
	}
	var errs []error
	for _, s := range n.Sites {
		errs = append(errs, put(SiteKey(s.Name), s))
	}
	for _, s := range n.Servers {
		errs = append(errs, put(ServerKey(s.Name), s))
	}
	for _, g := range n.Groups {
		errs = append(errs, put(GroupKey(g.Name), g))
	}
	return keys, errors.Join(errs...)
}

// ReadKeys returns the keys of objects in a NamesObject; those of an earlier release are made of its NamesKey.
func ReadKeys(data map[string]string) (map[string]string, error) {
	keys := map[string]string{}
	for key, value := range data {
		if key != NamesKey {
			keys[key] = value
		}
	}
	if text, former := data[NamesKey]; former && len(keys) == 0 {
		var n Names
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			return nil, fmt.Errorf("ConfigMap %s, key %s: %w", NamesObject, NamesKey, err)
		}
		return n.Keys()
	}
	return keys, nil
}

// NamesData is what a NamesObject has with these keys of objects: them, and NamesKey beside them.
func NamesData(keys map[string]string) (map[string]string, error) {
	// What cannot be read is kept in its key.
	n, _ := DecodeNames(keys)
	text, err := json.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("encode the names of a namespace: %w", err)
	}
	data := maps.Clone(keys)
	if data == nil {
		data = map[string]string{}
	}
	data[NamesKey] = string(text)
	return data, nil
}

// DecodeNames reads a NamesObject, of an earlier release too; all lists are sorted by name. What cannot be read is left
// out and said in the error: the rest counts.
func DecodeNames(data map[string]string) (Names, error) {
	keys, err := ReadKeys(data)
	if err != nil {
		return Names{}, err
	}
	var (
		n    Names
		errs []error
	)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		value := []byte(keys[key])
		var err error
		switch {
		case strings.HasPrefix(key, sitePrefix):
			n.Sites, err = decoded(n.Sites, value)
		case strings.HasPrefix(key, serverPrefix):
			n.Servers, err = decoded(n.Servers, value)
		case strings.HasPrefix(key, groupPrefix):
			n.Groups, err = decoded(n.Groups, value)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("ConfigMap %s, key %s: %w", NamesObject, key, err))
		}
	}
	return n, errors.Join(errs...)
}

func decoded[T any](list []T, value []byte) ([]T, error) {
	var one T
	if err := json.Unmarshal(value, &one); err != nil {
		return list, err
	}
	return append(list, one), nil
}

// PeerKey is the key of a site in PeersObject.
func PeerKey(site string) string { return peerPrefix + site }

// Encode makes the value of a site's key in PeersObject.
func (v Voter) Encode() ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode how site %s is reached: %w", v.Site, err)
	}
	return data, nil
}

// Peers reads all sites of a PeersObject, by name. What cannot be read is left out and said in the errors.
func Peers(data map[string][]byte) (map[string]Voter, []error) {
	peers := map[string]Voter{}
	var errs []error
	for key, value := range data {
		name, ok := strings.CutPrefix(key, peerPrefix)
		if !ok {
			continue
		}
		var v Voter
		if err := json.Unmarshal(value, &v); err != nil || v.Site != name {
			// The decoder's message may quote a token.
			errs = append(errs, fmt.Errorf("key %s of Secret %s is not how site %s is reached", key, PeersObject, name))
			continue
		}
		peers[name] = v
	}
	return peers, errs
}
