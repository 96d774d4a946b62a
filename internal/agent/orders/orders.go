// SPDX-License-Identifier: Apache-2.0

// Package orders is what the manager tells the sidecar of a server: which groups it serves, at which voters, and with
// what credentials. It lies in one Secret per server at the server's site, a key per group, so that several groups'
// controllers write it without knowing of each other.
package orders

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/election/votes"
)

// keyPrefix precedes a group's name in the Secret's keys, timedPrefix that of a group with timings: a sidecar of a
// release that does not know them must not count by the default ones beside others that do, and sees no orders at all.
const (
	keyPrefix   = "group."
	timedPrefix = "timed-group."
)

// endedPrefix precedes the name of a group that the server is no replica of any more. Orders end by that key alone: one
// that is missing may be missing because somebody deleted the Secret and the groups' controllers have not all written
// theirs again.
const endedPrefix = "ended-group."

// EndedKey is the key that ends the orders of a group.
func EndedKey(group string) string { return endedPrefix + group }

// Ended are the groups whose orders have ended. A group that has orders too has not: they were given again.
func Ended(data map[string][]byte) map[string]bool {
	ended := map[string]bool{}
	given := Named(data)
	for key := range data {
		if name, ok := strings.CutPrefix(key, endedPrefix); ok && !given[name] {
			ended[name] = true
		}
	}
	return ended
}

// Group is one availability group as its server's sidecar must know it.
type Group struct {
	// Name of the group, which is the AvailabilityGroup's.
	Name string `json:"name"`
	// Namespace of the Leases at the voters.
	Namespace string `json:"namespace"`
	// Paused forbids claims: roles stay as they are. What safety asks for is done all the same.
	Paused bool `json:"paused,omitempty"`
	// Automatic lets agents begin an election by themselves when the primary is gone (failoverPolicy Automatic). Without
	// it only requests of people promote another replica, and the last holder may come back.
	Automatic bool `json:"automatic,omitempty"`
	// RoleAtFailover is the role in which the other replicas are when an engine is asked for FAILOVER; SECONDARY unless it
	// is RESOLVING.
	RoleAtFailover ballot.Role `json:"roleAtFailover,omitempty"`
	// Ending says that the manager is about to drop the group on this server, the last that has it, or has: a group that
	// is not there is then no reason to end the engine. As long as it is there nothing is different.
	Ending bool `json:"ending,omitempty"`
	// EndingID is which group of the name ends: its group_id at this server's engine. Another one that was made under the
	// same name is not meant. Empty from managers of earlier releases, which mean any.
	EndingID string `json:"endingID,omitempty"`
	// SeenID is which group of the name the agent has last seen at its engine. Agents alone know it, and remember it with
	// the orders.
	SeenID string `json:"seenID,omitempty"`
	// Voters are the sites that vote in Configuration; without one those that the group began with, an odd number.
	Voters []Voter `json:"voters"`
	// Configuration of voters, the newest that the manager has seen in the votes; nil while the group has the one that it
	// began with.
	Configuration *votes.Configuration `json:"configuration,omitempty"`
	// Joining are sites that do not vote yet and are to.
	Joining []Voter `json:"joining,omitempty"`
	// Wanted are the sites that are to vote, nil for those that do. The holder's agent changes them.
	Wanted []string `json:"wanted,omitempty"`
	// Timings of the votes, as the manager wrote them: agents of two releases count by these, whatever their own defaults
	// are. Nil, of managers of earlier releases, for ballot.DefaultTimings. While there is the group Failover and Offline
	// alone change.
	Timings *ballot.Timings `json:"timings,omitempty"`
}

// Voter is an API server that holds the group's Lease, and the right to change it.
type Voter struct {
	// Site is the voter's name.
	Site string `json:"site"`
	// Server is the URL of the API server.
	Server string `json:"server"`
	// CA has signed its certificate; PEM.
	CA []byte `json:"ca"`
	// FormerCA had signed it before the orders named CA, and counts until it shows a certificate of that; PEM. Agents
	// alone know it, and remember it with the orders.
	FormerCA []byte `json:"formerCA,omitempty"`
	// TLSServerName is verified instead of Server's host, when it is not empty.
	TLSServerName string `json:"tlsServerName,omitempty"`
	// Account is the ServiceAccount that the token is for; its UID shows a token of an account that was made anew.
	Account    string `json:"account"`
	AccountUID string `json:"accountUID"`
	// Token of the account, until Expires.
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
	// Issued is when the token was made.
	Issued time.Time `json:"issued"`
}

// State is what an agent says of the orders by which it goes.
type State string

const (
	// StateUnheard: it has just started and goes by nothing yet.
	StateUnheard State = "Unheard"
	// StateGiven: it holds, renews and claims votes.
	StateGiven State = "Given"
	// StateEnding: it knows that the group is about to be dropped.
	StateEnding State = "Ending"
	// StateEnded: the orders have ended, and a step that was under way has not.
	StateEnded State = "Ended"
)

// Ends says whether the group that was last seen is the one that ends. One that was not seen by this agent, nor by the
// one before it, is taken for it.
func (g Group) Ends() bool {
	return g.Ending && (g.EndingID == "" || g.SeenID == "" || strings.EqualFold(g.EndingID, g.SeenID))
}

// Reached are the sites whose votes can be asked, in the order of their names.
func (g Group) Reached() []Voter {
	all := append(slices.Clone(g.Voters), g.Joining...)
	slices.SortFunc(all, func(a, b Voter) int { return strings.Compare(a.Site, b.Site) })
	return all
}

// Voting is the configuration of voters to begin with; a newer one is in the votes, if there is one.
func (g Group) Voting() votes.Configuration {
	if g.Configuration != nil {
		return *g.Configuration
	}
	var c votes.Configuration
	for _, v := range g.Voters {
		c.Voters = append(c.Voters, v.Site)
	}
	return c
}

// Key is the key of a group in the Secret, unless it has timings of its own.
func Key(group string) string { return keyPrefix + group }

// Key is the key of the orders in the Secret.
func (g Group) Key() string {
	if g.Timings != nil {
		return timedPrefix + g.Name
	}
	return keyPrefix + g.Name
}

// Of reads a group's orders in a Secret, under either key. Orders that cannot be read are none.
func (s Secret) Of(group string) (Group, bool) {
	for _, prefix := range []string{timedPrefix, keyPrefix} {
		if data, ok := s[prefix+group]; ok {
			g, err := Decode(data)
			return g, err == nil
		}
	}
	return Group{}, false
}

// Secret is the data of a server's Secret.
type Secret map[string][]byte

// Encode makes the value of a group's key.
func (g Group) Encode() ([]byte, error) {
	data, err := json.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("encode the orders of group %s: %w", g.Name, err)
	}
	return data, nil
}

// Decode reads the value of a group's key.
func Decode(data []byte) (Group, error) {
	var g Group
	if err := json.Unmarshal(data, &g); err != nil {
		// The decoder's message may quote a token.
		return Group{}, fmt.Errorf("the orders are no JSON of the known form")
	}
	if g.Name == "" || g.Namespace == "" {
		return Group{}, fmt.Errorf("the orders name no group or no namespace")
	}
	if g.Timings != nil {
		if err := g.Timings.Check(); err != nil {
			return Group{}, fmt.Errorf("the orders' timings: %w", err)
		}
	}
	return g, nil
}

// DecodeAll reads all groups of a Secret, by name. What cannot be read is left out and said in the errors; Named has
// its names.
func DecodeAll(data map[string][]byte) (map[string]Group, []error) {
	groups := map[string]Group{}
	var errs []error
	for key, value := range data {
		if _, ok := named(key); !ok {
			continue
		}
		g, err := Decode(value)
		if err == nil && g.Key() != key {
			err = fmt.Errorf("the orders are those of key %s", g.Key())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("key %s: %w", key, err))
			continue
		}
		groups[g.Name] = g
	}
	return groups, errs
}

// Named are the groups that a Secret has orders of, whether they can be read or not.
func Named(data map[string][]byte) map[string]bool {
	names := map[string]bool{}
	for key := range data {
		if name, ok := named(key); ok {
			names[name] = true
		}
	}
	return names
}

// named is the group of a key.
func named(key string) (group string, ok bool) {
	if group, ok = strings.CutPrefix(key, timedPrefix); !ok {
		group, ok = strings.CutPrefix(key, keyPrefix)
	}
	return group, ok
}

// Left is which part of the token's life is left, between 0 and 1.
func (v Voter) Left(now time.Time) float64 {
	life := v.Expires.Sub(v.Issued)
	if v.Token == "" || life <= 0 {
		return 0
	}
	return max(0, float64(v.Expires.Sub(now))/float64(life))
}
