// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/token"
)

// CreateEndpoint is CREATE ENDPOINT ... FOR DATABASE_MIRRORING, AlterEndpoint ALTER ENDPOINT
// (docs/t-sql/statements/create-endpoint-transact-sql.md, alter-endpoint-transact-sql.md).
type CreateEndpoint struct {
	own
	Name string
	// Authorization is the owning login, empty for the creator.
	Authorization string
	EndpointOptions
}

// AlterEndpoint is ALTER ENDPOINT; only the given options change.
type AlterEndpoint struct {
	own
	Name string
	EndpointOptions
}

// DropEndpoint is DROP ENDPOINT.
type DropEndpoint struct {
	own
	Name string
}

// EndpointOptions are the options of an endpoint; zero values are not given.
type EndpointOptions struct {
	// State is STARTED, STOPPED or DISABLED.
	State string
	// Port is LISTENER_PORT.
	Port int64
	// IP is LISTENER_IP: ALL or an address.
	IP string
	// Mirroring is the FOR DATABASE_MIRRORING clause.
	Mirroring *MirroringOptions
	// TSQL is true for FOR TSQL.
	TSQL bool
}

// MirroringOptions are the options of FOR DATABASE_MIRRORING; zero values are not given.
type MirroringOptions struct {
	// Windows is NEGOTIATE, NTLM or KERBEROS when Windows authentication is asked for.
	Windows string
	// Certificate is the certificate of AUTHENTICATION = CERTIFICATE name.
	Certificate string
	// WindowsFirst is true when both are given and Windows comes first.
	WindowsFirst bool
	// Encryption is DISABLED, SUPPORTED or REQUIRED; Algorithms are AES and RC4 in the order of preference.
	Encryption string
	Algorithms []string
	// Role is WITNESS, PARTNER or ALL.
	Role string
}

func parseEndpoint(p *parser) ast.Statement {
	switch {
	case p.accept("CREATE", "ENDPOINT"):
		n := &CreateEndpoint{Name: p.name()}
		if p.accept("AUTHORIZATION") {
			n.Authorization = p.name()
		}
		n.EndpointOptions = p.endpointOptions(true)
		return n
	case p.accept("ALTER", "ENDPOINT"):
		n := &AlterEndpoint{Name: p.name()}
		n.EndpointOptions = p.endpointOptions(false)
		return n
	case p.accept("DROP", "ENDPOINT"):
		return &DropEndpoint{Name: p.name()}
	}
	return nil
}

func (p *parser) endpointOptions(create bool) EndpointOptions {
	o := EndpointOptions{}
	if p.accept("STATE", "=") {
		o.State = p.oneOf("STARTED", "STOPPED", "DISABLED")
	}
	if create && !p.is("AS") {
		p.refuse()
	}
	if p.accept("AS") {
		p.expect("TCP")
		seen := map[string]bool{}
		p.list(func() { p.listenerOption(&o, seen) })
		if create && o.Port == 0 {
			p.refuseWith(7801, "LISTENER_PORT")
		}
	}
	if create && !p.is("FOR") {
		p.refuse()
	}
	if !p.accept("FOR") {
		return o
	}
	if create && p.is("TSQL") {
		p.unsupported("ENDPOINT FOR TSQL")
	}
	if p.accept("TSQL") {
		o.TSQL = true
		p.expect("(")
		p.expect(")")
		return o
	}
	for _, payload := range []string{"SERVICE_BROKER", "SOAP"} {
		if p.is(payload) {
			p.unsupported("ENDPOINT FOR " + payload)
		}
	}
	// Scripts of docs/database-engine/availability-groups/windows (configure-distributed-availability-groups.md and
	// automatically-initialize-always-on-availability-group.md) have the other word for it.
	if !p.accept("DATA_MIRRORING") {
		p.expect("DATABASE_MIRRORING")
	}
	o.Mirroring = &MirroringOptions{}
	seen := map[string]bool{}
	p.list(func() { p.mirroringOption(o.Mirroring, seen) })
	if create && o.Mirroring.Role == "" {
		p.refuseWith(7801, "ROLE")
	}
	return o
}

func (p *parser) listenerOption(o *EndpointOptions, seen map[string]bool) {
	p.once(seen, p.peek().Fold)
	switch {
	case p.valued("LISTENER_PORT"):
		o.Port = p.integerIn(1, 1<<31-1)
	case p.valued("LISTENER_IP"):
		if p.accept("ALL") {
			o.IP = "ALL"
			return
		}
		p.expect("(")
		o.IP = p.address()
		p.expect(")")
	default:
		p.unknownOption("ENDPOINT TCP")
	}
}

// address parses 'text', or an IPv4 address written without quotes: the lexer gives it as numbers.
func (p *parser) address() string {
	if p.peek().Kind == token.String {
		return p.stringLiteral()
	}
	s := ""
	for {
		t := p.peek()
		if t.Kind != token.Number && t.Kind != token.Integer && !t.Is(".") {
			break
		}
		s += p.next().Text
	}
	if s == "" {
		p.refuse()
	}
	return s
}

func (p *parser) mirroringOption(m *MirroringOptions, seen map[string]bool) {
	p.once(seen, p.peek().Fold)
	switch {
	case p.valued("AUTHENTICATION"):
		p.authentication(m)
	case p.valued("ENCRYPTION"):
		m.Encryption = p.oneOf("DISABLED", "SUPPORTED", "REQUIRED")
		if m.Encryption != "DISABLED" && p.accept("ALGORITHM") {
			m.Algorithms = append(m.Algorithms, p.oneOf("AES", "RC4"))
			for p.is("AES") || p.is("RC4") {
				m.Algorithms = append(m.Algorithms, p.oneOf("AES", "RC4"))
			}
			if len(m.Algorithms) > 2 || len(m.Algorithms) == 2 && m.Algorithms[0] == m.Algorithms[1] {
				p.at--
				p.refuse()
			}
		}
	case p.valued("ROLE"):
		m.Role = p.oneOf("WITNESS", "PARTNER", "ALL")
	default:
		p.unknownOption("ENDPOINT DATABASE_MIRRORING")
	}
}

func (p *parser) authentication(m *MirroringOptions) {
	windows := func() bool {
		if !p.accept("WINDOWS") {
			return false
		}
		m.Windows = "NEGOTIATE"
		for _, kind := range []string{"NTLM", "KERBEROS", "NEGOTIATE"} {
			if p.accept(kind) {
				m.Windows = kind
				break
			}
		}
		return true
	}
	if windows() {
		if p.accept("CERTIFICATE") {
			m.Certificate = p.name()
			m.WindowsFirst = true
		}
		return
	}
	p.expect("CERTIFICATE")
	m.Certificate = p.name()
	windows()
}
