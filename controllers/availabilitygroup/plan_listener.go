// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// planListener adds the listener object: replication is redirected to it by name. The engine opens no socket for it.
// MODIFY LISTENER changes the port and adds addresses, and takes none away: another declared address is a listener made
// anew (docs/t-sql/statements/alter-availability-group-transact-sql.md, "MODIFY LISTENER").
func planListener(d Desired, o Observed, p *reconcile.Plan) bool {
	primary := o.primary(d)
	if primary == "" {
		return true
	}
	var have *mssql.GroupListener
	var addresses []string // a row for each
	for _, l := range o.Instances[primary].Group.Listeners {
		if !strings.EqualFold(l.Name, d.listenerName()) {
			destroy(p, reconcile.Seen("the listeners that the primary has", o.Instances[primary].Err), primary,
				tsql.RemoveListener(d.name(), l.Name))
			continue
		}
		have, addresses = &l, append(addresses, l.IP)
	}
	ip := cmp.Or(d.listenerIP(), o.ListenerIP)
	if have != nil && d.listenerIP() != "" && otherAddress(addresses, ip) {
		destroy(
			p,
			reconcile.Seen("the addresses that the primary has", o.Instances[primary].Err),
			primary,
			tsql.RemoveListener(d.name(), have.Name).
				Because("remove listener "+have.Name+", which is to have the declared address "+ip),
		)
		have = nil
	}
	switch {
	case have == nil && ip == "":
		return p.Settle(creating("the listener's Service has no address yet"))
	case have == nil:
		p.Add(AddListener{Server: primary, Group: d.name(), Name: d.listenerName(), IP: ip, Port: d.listenerPort()})
	case have.Port != d.listenerPort():
		execute(p, primary, tsql.SetListenerPort(d.name(), d.listenerName(), d.listenerPort()))
	}
	if len(p.Steps) > 0 {
		return p.Settle(creating("the listener is being brought to what is declared"))
	}
	return true
}

// otherAddress says whether every row shows an address that can be read and is another one than declared. One that is
// not shown, or is unspecified, tells nothing: the listener would be removed and added for ever.
func otherAddress(shown []string, declared string) bool {
	want, err := netip.ParseAddr(declared)
	if err != nil || len(shown) == 0 {
		return false
	}
	return !slices.ContainsFunc(shown, func(address string) bool {
		have, err := netip.ParseAddr(address)
		return err != nil || have.IsUnspecified() || have.Unmap() == want.Unmap()
	})
}

// listenerMask goes with a listener of CLUSTER_TYPE EXTERNAL or NONE whose address is nobody's subnet.
const listenerMask = "255.255.255.255"

// anyAddress is the address and the mask of a listener without a cluster
// (docs/database-engine/availability-groups/windows/read-scale-availability-groups.md).
const anyAddress = "0.0.0.0"

// refusesAddress are the engine's answers to an address, or a mask, that a listener cannot have there: 19450 and 19463
// no network of the cluster, 19452 and 19453 the listener does not start, 19456 no address that the server can host,
// 19457 outside the range, 19461 none for its subnet, 19464 an invalid one, 19471 and 19476 not brought online, 19483
// malformed. 19407, the lease has ended, says nothing about addresses.
var refusesAddress = []int32{19450, 19452, 19453, 19456, 19457, 19461, 19463, 19464, 19471, 19476, 19483}

// forms are the listener's, the one that says most first. Whether an engine without a cluster takes an address that is
// none of its own, with a mask of one host, is documented nowhere.
func (s AddListener) forms() []mssql.Execute {
	var forms []mssql.Execute
	for _, f := range [][2]string{{s.IP, listenerMask}, {s.IP, "255.255.255.0"}, {anyAddress, anyAddress}} {
		forms = append(forms, mssql.Execute{Server: s.Server, Role: credentials.RoleOperator, Database: "master",
			Statement: tsql.AddListener(s.Group, s.Name, f[0], f[1], s.Port)})
	}
	return forms
}

// firstTaken carries out the first of the forms that the engine does not refuse for its address. What a form before
// has left is not added again (19477).
func firstTaken(forms []mssql.Execute, carryOut func(mssql.Execute) error) error {
	var errs error
	for _, form := range forms {
		err := carryOut(form)
		switch {
		case err == nil, errs != nil && mssql.HasNumber(err, listenerThere):
			return nil
		case !mssql.HasNumber(err, refusesAddress...):
			return errors.Join(errs, err)
		}
		errs = errors.Join(errs, err)
	}
	return errs
}

// listenerThere is the error of a group that has its listener.
const listenerThere = 19477

// listenerTaken tells of a listener that the engine has not taken as it was meant; empty when it has.
func listenerTaken(d Desired, group *mssql.Group) string {
	for _, l := range group.Listeners {
		if strings.EqualFold(l.Name, d.listenerName()) && l.Mask != "" && l.Mask != listenerMask {
			return fmt.Sprintf("; the engine takes the listener with address %s and mask %s alone", l.IP, l.Mask)
		}
	}
	return ""
}
