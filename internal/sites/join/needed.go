// SPDX-License-Identifier: Apache-2.0

package join

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"geosql.dev/operator/internal/agent/orders"
)

// needed are the keys that groups name whose names stay at a site, each with why it stays: without its servers, and the
// sites that they are at and that vote, a group's listener leads nowhere. told is what the site was told; stays says
// whether a group's key stays.
func needed(told map[string]string, stays func(key string) (bool, error)) (map[string]string, error) {
	needed := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(told)) {
		group, is := strings.CutPrefix(key, orders.GroupKey(""))
		if !is {
			continue
		}
		if ok, err := stays(key); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		var g orders.NamedGroup
		if err := json.Unmarshal([]byte(told[key]), &g); err != nil {
			return nil, fmt.Errorf("decode key %s of what the site was told: %w", key, err)
		}
		why := "group " + group + " names it"
		places := slices.Clone(g.Voters)
		for _, server := range slices.Concat(g.Servers, g.Readable, g.Readers, []string{g.Primary}) {
			if server == "" {
				continue
			}
			key := orders.ServerKey(server)
			needed[key] = why
			var s orders.NamedServer
			if text, ok := told[key]; !ok {
				continue
			} else if err := json.Unmarshal([]byte(text), &s); err != nil {
				return nil, fmt.Errorf("decode key %s of what the site was told: %w", key, err)
			}
			places = append(places, s.Site)
		}
		for _, site := range places {
			needed[orders.SiteKey(site)] = why
		}
	}
	return needed, nil
}
