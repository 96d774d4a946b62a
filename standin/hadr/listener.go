// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"context"
	"net"
	"net/netip"
	"regexp"

	"github.com/google/uuid"

	"geosql.dev/standin/config"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/syntax"
)

// A listener is a record only, as it is with an external cluster manager: names and addresses are made outside the
// server.

const defaultListenerPort = 1433

var listenerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}$`)

// alterListener is ADD, MODIFY, RESTART and REMOVE LISTENER.
func alterListener(ctx context.Context, g *replica.Group, action any) error {
	return g.Alter(ctx, func(c *group.Configuration) error {
		switch a := action.(type) {
		case syntax.AGAddListener:
			return addListener(c, a.Listener)
		case syntax.AGModifyListener:
			return modifyListener(c, a)
		case syntax.AGRestartListener:
			_, err := findListener(c, a.Name)
			return err
		case syntax.AGRemoveListener:
			i, err := findListener(c, a.Name)
			if err != nil {
				return err
			}
			c.Listeners = append(c.Listeners[:i], c.Listeners[i+1:]...)
			return nil
		}
		return failure(41190, c.Name, "ALTER", "AVAILABILITY GROUP")
	})
}

// hostable refuses the addresses that the engine does not take by the answers that it was given (docs/answers.md).
func (e *Extension) hostable(spec syntax.ListenerSpec) error {
	for _, a := range spec.IPs {
		if a.Mask == "" {
			continue
		}
		none := a.IP == "0.0.0.0" && a.Mask == "0.0.0.0"
		if e.inst.Answers(config.ListenerTakesNoAddress) && !none ||
			e.inst.Answers(config.ListenerTakesASubnet) && a.Mask == "255.255.255.255" {
			return failure(19456, e.inst.ServerName())
		}
	}
	return nil
}

func findListener(c *group.Configuration, name string) (int, error) {
	for i := range c.Listeners {
		if equal(c.Listeners[i].Name, name) {
			return i, nil
		}
	}
	return 0, failure(19469, name, c.Name)
}

func addListener(c *group.Configuration, spec syntax.ListenerSpec) error {
	if len(c.Listeners) > 0 {
		return failure(19477, c.Name, c.Listeners[0].Name)
	}
	if !listenerName.MatchString(spec.Name) {
		return failure(19485, spec.Name)
	}
	l := group.Listener{ID: uuid.New(), Name: spec.Name, Port: defaultListenerPort, DHCP: spec.DHCP}
	if spec.Port != nil {
		if err := checkPort(*spec.Port); err != nil {
			return err
		}
		l.Port = int(*spec.Port)
	}
	for _, a := range spec.IPs {
		if err := addAddress(&l, a); err != nil {
			return err
		}
	}
	c.Listeners = append(c.Listeners, l)
	return nil
}

func addAddress(l *group.Listener, a syntax.ListenerAddress) error {
	ip, err := netip.ParseAddr(a.IP)
	if err != nil || (ip.Is4() && a.Mask == "") || (ip.Is6() && a.Mask != "") {
		return failure(19483, a.IP)
	}
	if a.Mask != "" {
		if m, err := netip.ParseAddr(a.Mask); err != nil || !m.Is4() {
			return failure(19483, a.Mask)
		}
	}
	for _, other := range l.IPs {
		switch {
		case other.IP == ip.String():
			return failure(19484, a.IP)
		case sameSubnet(other, group.IPAddress{IP: ip.String(), Mask: a.Mask}):
			return failure(19451, other.IP, a.IP)
		}
	}
	l.IPs = append(l.IPs, group.IPAddress{IP: ip.String(), Mask: a.Mask})
	return nil
}

// sameSubnet tells whether two IPv4 addresses have the same mask and network. 0.0.0.0, which leaves the subnet to the
// cluster manager, says nothing of it.
func sameSubnet(a, b group.IPAddress) bool {
	mask := net.ParseIP(a.Mask).To4()
	if a.Mask != b.Mask || mask == nil || mask.Equal(net.IPv4zero) {
		return false
	}
	return net.ParseIP(a.IP).Mask(net.IPMask(mask)).Equal(net.ParseIP(b.IP).Mask(net.IPMask(mask)))
}

func modifyListener(c *group.Configuration, a syntax.AGModifyListener) error {
	i, err := findListener(c, a.Name)
	if err != nil {
		return err
	}
	if a.AddIP != nil {
		if c.Listeners[i].DHCP {
			return failure(19460, c.Listeners[i].Name)
		}
		return addAddress(&c.Listeners[i], *a.AddIP)
	}
	if err := checkPort(*a.Port); err != nil {
		return err
	}
	if c.Listeners[i].Port == int(*a.Port) {
		return failure(19468, a.Name, c.Name, *a.Port)
	}
	c.Listeners[i].Port = int(*a.Port)
	return nil
}

func checkPort(port int64) error {
	if port < 1 || port > 65535 {
		return failure(19482, port)
	}
	return nil
}
